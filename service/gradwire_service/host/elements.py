"""Elements: numbers as JSON has them, in lists of lists, to arrays of any dtype and back to words.

Every check runs over whole lists in C (types by `set(map(type, ...))`, lengths likewise), so that a
million numbers cost what NumPy and three set-ups cost; Python looks at single elements only to say
which one is wrong, or where words ("NaN") stand among them.
"""

from __future__ import annotations

from itertools import chain
from math import inf, nan, prod
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from gradwire_engine.arrays import halfway
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.spec import (
    BOOL,
    INTEGER,
    DType,
    Shape,
    bool_,
    dtype_of,
    float32,
    float64,
    int64,
    real_of,
)

Array = np.ndarray[Any, np.dtype[Any]]

MAX_AXES = 64  # NumPy's own bound, and torch's
_MAX_ELEMENTS = 2**58  # of the axes that aren't 0: beyond, NumPy refuses even an empty array
WORDS = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}
"""The numbers that JSON lacks."""
_REAL: set[type] = {int, float}
_JSON = {None: "null", True: "true", False: "false"}


class Numbers(NamedTuple):
    """The elements of a nested list, row by row, with their shape and the set of their types."""

    flat: list[Any]
    shape: Shape
    kinds: set[type]


def numbers(value: object) -> Numbers:
    """Take a number or a nested list of numbers apart: all of one kind, no list ragged."""
    return _checked(_flatten(value))


def _flatten(value: object) -> Numbers:
    """Take a nested list apart, level by level; anything else is its own only element."""
    if type(value) is not list:
        return Numbers([value], (), {type(value)})
    flat, shape = value, [len(value)]
    kinds = set(map(type, flat))
    while list in kinds:
        lengths = set(map(len, flat)) if len(kinds) == 1 else set()
        if len(lengths) != 1:
            raise _ragged(flat, len(shape))
        if len(shape) == MAX_AXES:
            raise error(
                "shape_mismatch",
                f"tensor literal: lists nest deeper than {MAX_AXES} levels",
                f"a tensor has at most {MAX_AXES} axes",
            )
        shape.append(lengths.pop())
        flat = list(chain.from_iterable(flat))
        kinds = set(map(type, flat))
    return Numbers(flat, tuple(shape), kinds)


def is_shape(value: object) -> TypeGuard[list[int]]:
    """Whether a JSON value is a shape that an array can have: few whole numbers, none absurd."""
    return (
        type(value) is list
        and len(value) <= MAX_AXES
        and all(type(n) is int and n >= 0 for n in value)
        and prod(filter(None, value)) <= _MAX_ELEMENTS
    )


def _ragged(level: list[Any], axis: int) -> GradwireError:
    lengths = sorted({len(item) if type(item) is list else -1 for item in level})
    found = ", ".join("a single value" if n < 0 else f"a list of {n}" for n in lengths[:4])
    return error(
        "shape_mismatch",
        f"tensor literal: the lists disagree at level {axis}: {found}",
        "give all lists of one level the same length, and don't mix lists with numbers",
        raised=ValueError,
    )


def _checked(numbers: Numbers) -> Numbers:
    """Only numbers or only bools, with the words for NaN and infinity turned into floats."""
    flat, shape, kinds = numbers
    if str in kinds:
        flat = [_word(value) if type(value) is str else value for value in flat]
        kinds = (kinds - {str}) | {float}
    if kinds <= _REAL or kinds == {bool}:
        return Numbers(flat, shape, kinds)
    if kinds <= _REAL | {bool}:
        raise error(
            "dtype_mismatch",
            "tensor literal: true and false stand among numbers",
            "write 1 and 0, or give only bools",
            raised=TypeError,
        )
    stranger = next(value for value in flat if type(value) not in _REAL | {bool})
    raise error(
        "invalid_request",
        f"tensor literal: {shown(stranger)} is not a number",
        'elements are numbers, bools, "NaN", "Infinity" or "-Infinity"; '
        "a complex number in data is the pair [re, im]",
    )


def _word(value: str) -> float:
    try:
        return WORDS[value]
    except KeyError:
        raise error(
            "invalid_request",
            f"tensor literal: the string {shown(value)} is not a number",
            'of strings, only "NaN", "Infinity" and "-Infinity" are numbers; a name of a tensor '
            "can't stand inside a literal",
        ) from None


def shown(value: object) -> str:
    """A short picture of a value for an error's sentence, whatever its size and depth."""
    if type(value) is dict:
        return "an object"
    if type(value) is list and (len(value) > 8 or {list, dict} & set(map(type, value))):
        return f"a list of {len(value)}"
    if type(value) is int and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    text = _text(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _text(value: object) -> str:
    if type(value) is list:
        return f"[{', '.join(map(shown, value))}]"
    if type(value) is str:
        return f'"{value[:60]}"'
    return _JSON[value] if value is None or type(value) is bool else str(value)


def inferred(kinds: set[type], default: DType, prefer_default: bool) -> DType:
    if bool in kinds:
        return bool_
    return int64 if kinds == {int} and not prefer_default else default


def array_of(numbers: Numbers, dtype: DType) -> Array:
    """A flat array of `dtype`; the numbers are checked for kind already."""
    flat, kinds = numbers.flat, numbers.kinds
    if dtype.category == BOOL:
        return _bools(flat, kinds)
    if dtype.category == INTEGER:
        return _integers(flat, kinds, dtype)
    return floats(flat, real_of(dtype)).astype(dtype.numpy, copy=False)


def pairs_of(numbers: Numbers, dtype: DType) -> Array:
    """A flat array of complex numbers from their parts in turn: re, im, re, im, …"""
    parts: Array = array_of(numbers, real_of(dtype))
    return parts.view(dtype.numpy)


def as_pairs(array: Array) -> Array:
    """Complex numbers as real ones with a last axis of 2: re, im."""
    if array.ndim == MAX_AXES:
        raise error(
            "invalid_argument",
            f"a complex tensor of {MAX_AXES} axes has no room for the axis of re and im",
            "reshape it to fewer axes first",
        )
    flat = np.ascontiguousarray(array).reshape(-1)
    parts: Array = flat.view(real_of(dtype_of(array.dtype)).numpy)
    return parts.reshape(*array.shape, 2)


def _bools(flat: list[Any], kinds: set[type]) -> Array:
    if kinds != {bool} and not set(flat) <= {0, 1}:
        stranger = next(value for value in flat if value not in (0, 1))
        raise unfit(stranger, bool_, "give true or false")
    return np.array(flat, np.bool_)


def _integers(flat: list[Any], kinds: set[type], dtype: DType) -> Array:
    if float in kinds:
        flat = [_whole(value, dtype) for value in flat]
    try:
        return np.array(flat, dtype.numpy)
    except OverflowError:
        bounds = np.iinfo(dtype.numpy)
        stranger = next(v for v in flat if not bounds.min <= v <= bounds.max)
        raise unfit(stranger, dtype, f"it holds {bounds.min} to {bounds.max}") from None


def _whole(value: float, dtype: DType) -> int:
    """1.0 is 1: many a language writes it so; 1.5 is a mistake, never rounded."""
    if type(value) is float and not value.is_integer():
        raise unfit(value, dtype, "give whole numbers, or a floating dtype")
    return int(value)


def floats(flat: list[Any], dtype: DType) -> Array:
    """Round as torch does: what is too large becomes infinite, halves go through float32."""
    try:
        if dtype is float64:
            return np.array(flat, np.float64)
        with np.errstate(over="ignore"):
            singles = np.array(flat, np.float32)
            return singles if dtype is float32 else singles.astype(dtype.numpy)
    except OverflowError:
        stranger = next(v for v in flat if type(v) is int and v.bit_length() > 1023)
        raise unfit(stranger, dtype, "give a number with an exponent") from None


def unfit(value: object, dtype: DType, hint: str) -> GradwireError:
    return error(
        "dtype_mismatch", f"tensor literal: {shown(value)} does not fit {dtype.name}", hint
    )


def cast(array: Array, dtype: DType) -> Array:
    """The array in another dtype of the same or a higher category, every int in range."""
    if array.dtype == dtype.numpy:
        return array
    own = dtype_of(array.dtype)
    if own.category > dtype.category:
        raise error(
            "dtype_mismatch",
            f"tensor literal: its elements are {own.name}, asked for is {dtype.name}",
            f"leave the dtype out and convert with the op `to`, which may lose what {dtype.name} "
            "can't hold",
        )
    if own.category == dtype.category == INTEGER and array.size:
        bounds, least, most = np.iinfo(dtype.numpy), int(array.min()), int(array.max())
        if least < bounds.min or most > bounds.max:
            stranger = least if least < bounds.min else most
            raise unfit(stranger, dtype, f"it holds {bounds.min} to {bounds.max}")
    with np.errstate(over="ignore", invalid="ignore"):  # a signalling NaN becomes a quiet one
        made: Array = halfway(array, dtype.numpy).astype(dtype.numpy)
        return made
