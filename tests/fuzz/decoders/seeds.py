"""What each decoder's inputs are bred from: bodies that are in order, and words of the format."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import zstandard
from tests.fuzz.decoders.checks import PLANTED
from tests.service.bad_requests import TABLE
from tests.service.test_source_fuzz import PROGRAMS, TOKENS

from gradwire_service.host import safetensors
from gradwire_service.host.protocol.steps import STEPS

LONGEST = 2**12
"""Bytes of an input: what a decoder does with more of the same, tests of limits try."""
STEP: dict[str, Any] = {"steps": [{"op": "add", "args": ["x", 2.5], "out": "y"}], "return": ["y"]}
LITERALS: tuple[Any, ...] = (
    [[1, 2], [3, -4.5e-3]], True, {"dtype": "float64", "shape": [2, 2], "data": [1, 2, 3, 4]},
    {"dtype": "float32", "shape": [1], "base64": "AACAPw=="}, {"complex": [1, "NaN"]},
    {"dtype": "complex64", "shape": [1], "data": [[1, "-Infinity"]]}, {"binary": "w"},
)  # fmt: skip
_JSON_WORDS = (
    b'"steps"', b'"op"', b'"args"', b'"kwargs"', b'"out"', b'"value"', b'"dtype"', b'"shape"',
    b'"data"', b'"base64"', b'"binary"', b'"complex"', b'"NaN"', b'"source"', b'"return"', b"null",
    b"1e999", b"-0.0", b"9223372036854775808", b"18446744073709551615", b"\\ud800", b"[[[[[[[[",
)  # fmt: skip
WORDS: dict[str, tuple[bytes, ...]] = {
    "json": _JSON_WORDS,
    "request": (*_JSON_WORDS, *(f'"{word}"'.encode() for word in STEPS)),
    "safetensors": (
        b'"__metadata__"', b'"dtype"', b'"shape"', b'"data_offsets"', b'"F32"', b'"BF16"',
        b'"BOOL"', b'"C64"', b"[0,4]", b"-1", b"4294967296", b"9223372036854775807",
    ),
    "npy": (
        b"\x93NUMPY", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"'descr'", b"'fortran_order'",
        b"'shape'", b"'<f4'", b"'>i8'", b"'|b1'", b"'|O'", b"'<U1'", b"'|V2'", b"(1,)", b"True",
        b"[('a','<f4')]", b"(4294967296, 0)", b"-1",
    ),
    "source": tuple(token.encode() for token in TOKENS),
    "encoding": (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"),
    PLANTED: (b"planted",),
    "message": (*_JSON_WORDS, b'"id"', b'"headers"', b'"idempotency-key"', b'"accept"'),
}  # fmt: skip


def seeds(name: str) -> Iterator[bytes]:
    """The first inputs of a decoder."""
    if name in ("json", "request", "message"):
        prefix = b"0" if name == "message" else b""
        yield from (prefix + text for text in _requests(name == "message"))
        if name == "message":
            yield b"1" + _file(json.dumps(STEP | {"id": 1}))
    elif name == "safetensors":
        yield from (_file(json.dumps(STEP)), b"".join(safetensors.write({}, {})))
    elif name == "npy":
        yield from map(_npy, _arrays())
    elif name == PLANTED:
        yield b"planted"
    elif name == "source":
        yield from (program.encode() for program in PROGRAMS)
    else:
        text = json.dumps(STEP).encode()
        packed = (gzip.compress(text), zstandard.compress(text), gzip.compress(bytes(10**5)))
        yield from (bytes([place]) + body for place, body in zip((0, 1, 0), packed, strict=True))


def _requests(named: bool) -> Iterator[bytes]:
    own = {"id": "a", "headers": {"Idempotency-Key": "k"}} if named else {}
    yield json.dumps(own | STEP).encode()
    yield from (json.dumps(own | {"value": value}).encode() for value in LITERALS)
    yield from (json.dumps(own | {"source": program}).encode() for program in PROGRAMS)
    yield from (bad.body for bad in TABLE if bad.body[:1] == b"{" and len(bad.body) < LONGEST)


def _file(request: str) -> bytes:
    arrays = {str(place): array for place, array in enumerate(_arrays())}
    return b"".join(safetensors.write(arrays, {"request": request}))


def _arrays() -> Iterator[Any]:
    for dtype in ("float32", "int64", "bool", "complex64", "uint8", "float16"):
        yield np.arange(2).astype(dtype).reshape(1, 2)
    yield np.empty((0, 3), np.float64)


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asfortranarray(array))
    return file.getvalue()
