"""The safetensors format on bytes in memory, without a second copy of any array.

The library of that name copies every array of a body that it reads or writes, hides the metadata of
a body and has no bfloat16 for NumPy; the tests hold this module against it. A header is never
believed: each of its claims is checked against the bytes that are there.

    8 bytes: length of the header, little-endian
    header:  {"__metadata__": {str: str}, name: {"dtype", "shape", "data_offsets": [start, end]}, …}
    arrays:  row by row, little-endian, one behind the other without a gap
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine import spec
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.spec import DType, Shape, dtype_of
from gradwire_service.host.elements import Array, is_shape, shown
from gradwire_service.host.literals import check_bools

Buffer = bytes | bytearray | memoryview

_DTYPES: dict[str, DType] = {
    "BOOL": spec.bool_,
    "U8": spec.uint8,
    "I8": spec.int8,
    "I16": spec.int16,
    "I32": spec.int32,
    "I64": spec.int64,
    "F16": spec.float16,
    "BF16": spec.bfloat16,
    "F32": spec.float32,
    "F64": spec.float64,
    "C64": spec.complex64,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_MAX_HEADER = 100_000_000  # bytes; the library's own bound
METADATA = "__metadata__"
_WORTH_KEEPING = 2**14
"""Bytes of a header up to which what it says is kept for the next body with the same one."""


class Place(NamedTuple):
    """An array of a file: its first byte after the header, and the byte after its last."""

    name: str
    dtype: DType
    shape: Shape
    begin: int
    end: int


def read(body: Buffer) -> tuple[dict[str, str], dict[str, Array]]:
    """Metadata and arrays of a file. The arrays are read-only views that keep `body` alive.

    An array that the file puts at an odd address is copied, since not all of NumPy's and BLAS's
    routines are fast there. Raises invalid_body.
    """
    start = 8 + _header_length(body)
    text = bytes(memoryview(body)[8:start])
    layout = _layout_before if len(text) <= _WORTH_KEEPING else _layout
    metadata, places = layout(text, len(body) - start)
    return dict(metadata), {p.name: _view(body, p, start + p.begin) for p in places}


def _layout(header: bytes, size: int) -> tuple[dict[str, str], tuple[Place, ...]]:
    """What a header says of the `size` bytes that follow it, checked: not yet their elements."""
    found = _header(header)
    metadata = found.pop(METADATA, {})
    if type(metadata) is not dict or not all(type(text) is str for text in metadata.values()):
        raise _invalid(f"{METADATA} is not an object of strings")
    position = 0
    entries = (Place(name, *_entry(name, fields)) for name, fields in found.items())
    places = sorted(entries, key=lambda place: place[3:])
    for name, _, _, begin, end in places:
        if begin != position:
            problem = "overlaps the array before it" if begin < position else "leaves a gap"
            raise _invalid(f"array {shown(name)} {problem}")
        position = end
        if position > size:
            raise _invalid(f"array {shown(name)} ends {position - size} bytes after the body")
    if position != size:
        raise _invalid(f"{size - position} bytes follow the last array")
    return metadata, tuple(places)


_layout_before = lru_cache(maxsize=256)(_layout)
"""The same for a header that may come again and again: a training loop's, with other elements."""


def _invalid(problem: str) -> GradwireError:
    return error(
        "invalid_body",
        f"safetensors: {problem}",
        "write the body with a safetensors library, and send all of it",
    )


def _header_length(body: Buffer) -> int:
    if len(body) < 8:
        raise _invalid(f"the body has {len(body)} bytes; the length of the header alone takes 8")
    length = int.from_bytes(body[:8], "little")
    if length > min(len(body) - 8, _MAX_HEADER):
        raise _invalid(
            f"the header is said to have {length} bytes; {len(body) - 8} follow, and "
            f"{_MAX_HEADER} is the most"
        )
    return length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name stands twice")
    return fields


def no_json(constant: str) -> None:
    """Refuse NaN and infinities, which Python's reader takes."""
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=no_json)


def _header(text: bytes) -> dict[str, Any]:
    """The header as an object, no name of which stands twice or is no Unicode."""
    if text[:1] != b"{":
        raise _invalid(f"the header begins with {text[:8]!r}, not with an object")
    try:
        header: dict[str, Any] = _DECODER.decode(text.decode())
        "".join(header).encode()  # escapes can spell half a surrogate pair
    except RecursionError:
        raise _invalid("the header nests too deeply") from None
    except ValueError as problem:
        raise _invalid(f"the header is not JSON in UTF-8: {problem}") from None
    return header


def _entry(name: str, fields: object) -> tuple[DType, Shape, int, int]:
    """Dtype, shape, first byte and byte after the last, of one array; sizes agree."""
    if type(fields) is not dict or fields.keys() != {"dtype", "shape", "data_offsets"}:
        raise _invalid(f"array {shown(name)} needs dtype, shape and data_offsets and no more")
    dtype = _DTYPES.get(fields["dtype"]) if type(fields["dtype"]) is str else None
    if dtype is None:
        known = ", ".join(_DTYPES)
        raise _invalid(f"array {shown(name)} has dtype {shown(fields['dtype'])}; known are {known}")
    shape, offsets = fields["shape"], fields["data_offsets"]
    if not is_shape(shape):
        raise _invalid(f"array {shown(name)} has shape {shown(shape)}")
    if not is_shape(offsets) or len(offsets) != 2:
        raise _invalid(f"array {shown(name)} has data_offsets {shown(offsets)}")
    begin, end = offsets
    if end - begin != prod(shape) * dtype.itemsize:
        raise _invalid(
            f"array {shown(name)} is {dtype.name}{shape}, {prod(shape) * dtype.itemsize} bytes; "
            f"data_offsets say {end - begin}"
        )
    return dtype, tuple(shape), begin, end


def _view(body: Buffer, place: Place, offset: int) -> Array:
    shape, dtype = place.shape, place.dtype.numpy
    if 0 in shape:
        return np.empty(shape, dtype)
    array = np.frombuffer(body, dtype, prod(shape), offset).reshape(shape)
    if not array.flags.aligned:
        array = array.copy()
    array.flags.writeable = False
    if place.dtype is spec.bool_:
        check_bools(array, "invalid_body", f"safetensors: array {shown(place.name)}")
    return array


def write(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> list[Buffer]:
    """A file as buffers to be sent in turn: the header, then the arrays' own memory.

    Arrays that aren't contiguous are copied. complex128 has no name in the format: view it as
    float64 with a last axis of 2 and keep the true dtype elsewhere. Wide elements come first, so
    that each array lies aligned in the file.
    """
    header: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    buffers: list[Buffer] = [b""]
    end = 0
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].itemsize):
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[dtype_of(array.dtype)],
            "shape": array.shape,
            "data_offsets": (begin, end),
        }
        if array.nbytes:
            buffers.append(raw(array))
    buffers[0] = head(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode())
    return buffers


def head(text: bytes) -> bytes:
    """A header's text as it stands in a file: what follows it lies aligned."""
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def raw(array: Array) -> memoryview:
    """The bytes of an array, row by row; its own memory where that is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
