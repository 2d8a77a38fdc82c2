"""JSON in and out: bounded on the way in, exact to the last digit on the way out.

orjson writes NumPy's arrays with the shortest digits that read back to the same float32 or float64
and keeps -0.0. What it lacks is added here: NaN and infinities as words, complex, bfloat16, 0-d.
"""

from __future__ import annotations

import json as strict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
import orjson

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.signature import LEAST, MOST
from gradwire_engine.spec import COMPLEX, FLOAT, bfloat16, dtype_of
from gradwire_service.host.elements import Array, as_pairs
from gradwire_service.host.safetensors import Buffer

DEPTH = 100  # levels of lists and objects; a tensor has at most 64
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS
_WEIGHTS = {b"[": 88, b"{": 232, b",": 40, b":": 100}
"""Bytes of the objects that a sign of JSON stands for, with their places in lists and tables."""
_WORDS = np.array([b'"NaN"', b'"Infinity"', b'"-Infinity"'], object)


def loads(body: Buffer, depth: int = DEPTH) -> Any:
    """Read JSON: ints and floats stay apart, of equal names in an object the last one counts.

    Raises invalid_json with line and column, limit_exceeded where lists and objects nest deeper
    than `depth` levels, invalid_request for an int that has more than 64 bits.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise _unreadable(bytes(body), problem, depth) from None
    if _bracket_depth(body, depth) > depth and _depth(value) > depth:
        raise _too_deep(depth)
    text = bytes(body) if type(body) is memoryview else body
    if _LONG_INT in text.translate(_OUTLINE):
        strict.loads(text, parse_int=_whole)  # orjson makes floats of long ints without a word
    return value


_OUTLINE = bytes(
    48 if c in b"0123456789" else 44 if c in b"[,: \t\r\n-" else 32 for c in range(256)
)
_LONG_INT = b"," + 19 * b"0"
"""What stands in the outline where an int has 19 digits, the least that 64 bits may not hold."""


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS or not LEAST <= int(digits) <= MOST:
        raise error(
            "invalid_request",
            f"the integer {digits[:_MOST_DIGITS]}{'…' * (len(digits) > _MOST_DIGITS)} does not fit "
            "into 64 bits",
            "write it as a float, 1e30 or 1.0, which has a larger range",
        )
    return 0


_MOST_DIGITS = 20  # of 64 bits, a sign among them


def weight(text: Buffer) -> int:
    """Bytes that reading this JSON takes, at most about: by its signs, without reading it."""
    view = bytes(text) if type(text) is memoryview else text
    return sum(nbytes * view.count(sign) for sign, nbytes in _WEIGHTS.items())


def _unreadable(body: bytes, problem: orjson.JSONDecodeError, depth: int) -> GradwireError:
    if "depth limit" in problem.msg:
        return _too_deep(depth)
    where = f"{problem.msg} at line {problem.lineno}, column {problem.colno}"
    try:
        body.decode()
    except UnicodeDecodeError as broken:
        where = f"byte {broken.start} is not UTF-8"
    if not body.strip():
        where = "there is nothing in it"
    elif "allocate" in problem.msg:  # how orjson puts it where many brackets open and none closes
        where = "it ends before its brackets close"
    return error(
        "invalid_json",
        f"the body is not JSON: {where}",
        'JSON in UTF-8; NaN and infinities are the strings "NaN", "Infinity" and "-Infinity"',
    )


def _too_deep(depth: int) -> GradwireError:
    return error(
        "limit_exceeded",
        f"the body nests deeper than {depth} levels",
        "send large or deep tensors flat, with their shape",
    )


def _bracket_depth(body: Buffer, depth: int) -> int:
    """The depth of the brackets, strings included: fast, and never below the true depth."""
    text = bytes(body) if type(body) is memoryview else body
    brackets = text.translate(None, _NOT_BRACKETS)
    if len(brackets) <= 2 * depth:
        return 0
    steps = (np.frombuffer(brackets, np.uint8) & 2).view(np.int8) - np.int8(1)
    return int(np.cumsum(steps, dtype=np.int32).max())


def _depth(value: object) -> int:
    """The depth of lists and objects, without recursion."""
    depth, level = 0, _containers([value])
    while level:
        depth += 1
        items = (c.values() if type(c) is dict else c for c in level)
        level = _containers(chain.from_iterable(items))
    return depth


def _containers(values: Iterable[object]) -> list[Any]:
    return [value for value in values if type(value) in (dict, list)]


def dumps(value: object, default: Callable[[Any], Any] | None = None) -> bytes:
    """Write JSON; `default` maps what JSON doesn't know to what it does."""
    return orjson.dumps(value, default, _OPTIONS)


def elements(array: Array) -> orjson.Fragment:
    """The elements as JSON, nested by shape; a complex number is the pair [re, im]."""
    return orjson.Fragment(text_of(array))


def text_of(array: Array) -> bytes:
    """The same as bytes."""
    dtype = dtype_of(array.dtype)
    real = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    if dtype.category == COMPLEX:
        real = as_pairs(array)
    elif dtype is bfloat16:
        real = real.astype(np.float32)
    text = orjson.dumps(real if real.ndim else real[()], option=_OPTIONS)
    if dtype.category >= FLOAT and b"null" in text:  # how orjson writes what is not finite
        text = _with_words(text, real)
    return text


def _with_words(text: bytes, array: Array) -> bytes:
    """Put words where orjson wrote null, which here stands for nothing but a non-finite number."""
    odd = array[~np.isfinite(array)]
    words = _WORDS[np.where(np.isnan(odd), 0, np.where(odd > 0, 1, 2))]
    pieces = text.split(b"null")
    woven: list[bytes] = [b""] * (2 * len(pieces) - 1)
    woven[::2], woven[1::2] = pieces, words.tolist()
    return b"".join(woven)
