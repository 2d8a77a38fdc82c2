"""A tensor literal becomes an array: every form of `api.md`, exact, and bounded before it is built.

The result is C-contiguous and aligned. What came as base64 or in the body is a read-only view of
those bytes (and keeps them alive); everything else is a fresh array.
"""

from __future__ import annotations

import binascii
from array import array as Packed
from collections.abc import Callable, Iterable, Mapping
from math import prod
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.spec import (
    COMPLEX,
    DTYPES,
    DType,
    Shape,
    complex128,
    complex_of,
    float32,
)
from gradwire_service.host.elements import (
    MAX_AXES,
    Array,
    array_of,
    cast,
    floats,
    inferred,
    is_shape,
    numbers,
    pairs_of,
    shown,
)
from gradwire_service.host.scope import Meter

_FLOATS = {float}
_WHAT = "tensor literal"
"""How errors of literals begin."""
_NONE: Mapping[str, Array] = MappingProxyType({})


class _Asked(NamedTuple):
    """What the request says around the literal."""

    dtype: DType | None
    default: DType
    prefer_default: bool
    binaries: Mapping[str, Array]
    limits: Meter | None

    def room(self, shape: Shape, dtype: DType) -> None:
        """Ask for the bytes of the result, before they are taken."""
        if self.limits is not None:
            self.limits.charge(prod(shape) * (self.dtype or dtype).itemsize)


class _Fields(NamedTuple):
    """What an object literal says: its form's value, its dtype (or the request's), its shape."""

    value: object
    dtype: DType | None
    shape: Shape | None


def placed(problem: GradwireError, place: str) -> GradwireError:
    """The error; one of a literal says where in the request that stands."""
    if problem.detail.startswith(_WHAT):
        problem.at(place)
    return problem


def decode(
    literal: object,
    *,
    dtype: DType | None = None,
    default: DType = float32,
    prefer_default: bool = False,
    binaries: Mapping[str, Array] = _NONE,
    limits: Meter | None = None,
) -> Array:
    """The array that a tensor literal stands for.

    `dtype` is what the request asks for beside the literal. It wins over the literal's own by a
    cast that keeps the kind: a float never becomes an int. Numbers without any dtype: bools are
    bool; ints int64, or `default` with `prefer_default`; floats `default`. `binaries` are the
    arrays of the body by name, `limits` is charged with the result's bytes before they are taken.

    Raises shape_mismatch, dtype_mismatch, invalid_request; memory_limit from `limits`.
    """
    if type(literal) is list and dtype is None and set(map(type, literal)) == _FLOATS:
        return _row(literal, default, limits)
    asked = _Asked(dtype, default, prefer_default, binaries, limits)
    if type(literal) is dict:
        array = _from_object(literal, asked)
        return array if dtype is None else cast(array, dtype)
    found = numbers(literal)
    target = dtype or inferred(found.kinds, default, prefer_default)
    asked.room(found.shape, target)
    return array_of(found, target).reshape(found.shape)


def _row(values: list[float], dtype: DType, limits: Meter | None) -> Array:
    """A flat list of floats, which most literals are."""
    if limits is not None:
        limits.charge(len(values) * dtype.itemsize)
    if dtype is float32:
        return np.array(Packed("f", values))  # C's rounding is NumPy's, and infinite without a word
    return floats(values, dtype)


def _from_object(literal: dict[str, object], asked: _Asked) -> Array:
    forms = _FORMS.keys() & literal.keys()
    if len(forms) != 1:
        raise error(
            "invalid_request",
            f"tensor literal: an object with {_listed(literal) or 'no fields'}",
            f"give exactly one of {', '.join(_FORMS)}, with dtype and shape beside it",
        )
    (form,) = forms
    if strangers := literal.keys() - {form, "dtype", "shape"}:
        raise error(
            "invalid_request",
            f"tensor literal: unknown field {_listed(strangers)}",
            f"beside {form} only dtype and shape may stand",
        )
    dtype, shape = literal.get("dtype"), literal.get("shape")
    fields = _Fields(
        literal[form],
        asked.dtype if dtype is None else _named(dtype),
        None if shape is None else _shape(shape),
    )
    return _FORMS[form](fields, asked)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(shown(name) for name in names)[:8])


def _named(name: object) -> DType:
    found = DTYPES.get(name) if type(name) is str else None
    if found is None:
        raise error(
            "dtype_mismatch",
            f"tensor literal: unknown dtype {shown(name)}",
            f"one of {', '.join(DTYPES)}",
            raised=TypeError,
        )
    return found


def _shape(value: object) -> Shape:
    if not is_shape(value):
        raise error(
            "shape_mismatch",
            f"tensor literal: {shown(value)} is not a shape",
            f"a list of up to {MAX_AXES} whole numbers from 0, like [2, 3]; [] is a single number",
        )
    return tuple(value)


def _from_data(fields: _Fields, asked: _Asked) -> Array:
    found = numbers(fields.value)
    dtype = fields.dtype or inferred(found.kinds, asked.default, asked.prefer_default)
    paired = dtype.category == COMPLEX and len(found.flat) > 0
    given = _without_pairs(found.shape, dtype) if paired else found.shape
    shape = given if fields.shape is None else fields.shape
    if not _agree(given, shape):
        raise error(
            "shape_mismatch",
            f"tensor literal: data is {list(given)}, shape says {list(shape)}",
            f"give data nested as {list(shape)}, or flat with {prod(shape)} elements",
        )
    asked.room(shape, dtype)
    array = pairs_of(found, dtype) if paired else array_of(found, dtype)
    return array.reshape(shape)


def _without_pairs(found: Shape, dtype: DType) -> Shape:
    if found[-1:] != (2,):
        raise error(
            "shape_mismatch",
            f"tensor literal: data of {dtype.name} is {list(found)}, its last axis is not 2",
            "in data a complex number is the pair [re, im]",
        )
    return found[:-1]


def _agree(found: Shape, shape: Shape) -> bool:
    """Nested as `shape` says, or flat; lists can't show the axes behind one of length 0."""
    if found in (shape, (prod(shape),)):
        return True
    return 0 in shape and found == shape[: shape.index(0) + 1]


def _from_base64(fields: _Fields, asked: _Asked) -> Array:
    text, dtype, shape = fields
    if dtype is None or shape is None or type(text) is not str:
        raise error(
            "invalid_request",
            "tensor literal: base64 without a dtype or without a shape, or not a string",
            '{"dtype": "float32", "shape": [2], "base64": "AACAPwAAAEA="}',
        )
    nbytes = prod(shape) * dtype.itemsize
    if len(text) != (nbytes + 2) // 3 * 4:
        raise error(
            "shape_mismatch",
            f"tensor literal: {len(text)} characters of base64; {dtype.name} of shape "
            f"{list(shape)} is {nbytes} bytes, which takes {(nbytes + 2) // 3 * 4}",
            "encode all elements, little-endian, row by row, with padding",
        )
    asked.room(shape, dtype)
    array = np.frombuffer(_bytes(text, nbytes), dtype.numpy).reshape(shape)
    check_bools(array, "invalid_request", "tensor literal")
    return array


def _bytes(text: str, nbytes: int) -> bytes:
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as problem:  # binascii.Error is one; so is what non-ASCII text raises
        raise _not_base64(str(problem)) from None
    if len(data) != nbytes:
        raise _not_base64(f"it has {len(data)} bytes in place of {nbytes}")
    return data


def _not_base64(problem: str) -> GradwireError:
    return error(
        "invalid_request",
        f"tensor literal: base64 can't be read: {problem}",
        "use the alphabet A-Z a-z 0-9 + / with = at the end, without line breaks",
    )


def check_bools(array: Array, code: str, what: str) -> None:
    """A byte that is neither 0 nor 1 would make a bool that is neither true nor false."""
    if array.dtype == np.bool_ and array.size and (most := array.view(np.uint8).max()) > 1:
        raise error(code, f"{what}: a bool of {most}", "each bool is one byte, 0 or 1")


def _from_binary(fields: _Fields, asked: _Asked) -> Array:
    name, dtype, shape = fields
    array = asked.binaries.get(name) if type(name) is str else None
    if array is None:
        raise error(
            "invalid_request",
            f"tensor literal: the body has no array called {shown(name)}",
            f"it has {_listed(asked.binaries)}"
            if asked.binaries
            else "only a body of application/x-safetensors has arrays",
        )
    if dtype is complex128 and array.dtype == np.float64 and array.shape[-1:] == (2,):
        array = array.view(np.complex128).reshape(array.shape[:-1])
    if shape not in (None, array.shape):
        raise error(
            "shape_mismatch",
            f"tensor literal: {shown(name)} has shape {list(array.shape)}, the literal says "
            f"{list(shape or ())}",
            "leave the shape out: the array brings its own",
        )
    if asked.limits is not None:
        asked.limits.charge(array.nbytes)
    return array if dtype is None else cast(array, dtype)


def _from_complex(fields: _Fields, asked: _Asked) -> Array:
    found = numbers(fields.value)
    if found.shape != (2,) or bool in found.kinds or fields.shape not in (None, ()):
        raise error(
            "invalid_request",
            f"tensor literal: complex has {shown(fields.value)}, shape {fields.shape}",
            '{"complex": [re, im]} is one number; for more use dtype, shape and data',
        )
    dtype = fields.dtype or complex_of(asked.default)
    if dtype.category != COMPLEX:
        raise error(
            "dtype_mismatch",
            f"tensor literal: a complex number, and dtype {dtype.name}",
            "use complex64 or complex128",
        )
    asked.room((), dtype)
    return pairs_of(found, dtype).reshape(())


_FORMS: dict[str, Callable[[_Fields, _Asked], Array]] = {
    "data": _from_data,
    "base64": _from_base64,
    "binary": _from_binary,
    "complex": _from_complex,
}
