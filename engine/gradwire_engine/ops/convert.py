"""Conversions to another dtype; a tensor that has it already is given back as it is."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.spec import DTYPES, DType


def converted(input: Any, dtype: DType, copy: bool = False) -> Any:
    """A tensor in a dtype; a copy of it only where that is another one, or asked for."""
    if DTYPES[input.dtype.name] is not dtype:
        return to_dtype(input, dtype)
    return to_dtype(input, dtype) if copy else input


@composite()
def to(input: Array, dtype: DType, non_blocking: bool = False, copy: bool = False) -> Array:
    """Convert to a dtype."""
    return converted(input, dtype, copy)


@composite("to")
def to_device(
    input: Array,
    device: str,
    dtype: DType | None = None,
    non_blocking: bool = False,
    copy: bool = False,
) -> Array:
    """Bring to a device, which must be the tensor's own, and a dtype."""
    if device != input.device:
        raise error(
            "unsupported_device",
            f"to: a tensor on {input.device} cannot be brought to {device} inside a graph",
            "make it on that device",
        )
    return converted(input, dtype or input.dtype, copy)


@composite("to")
def to_like(input: Array, other: Array, non_blocking: bool = False, copy: bool = False) -> Array:
    """Convert to the dtype of another tensor."""
    return converted(input, other.dtype, copy)


@composite()
def type_as(input: Array, other: Array) -> Array:
    """Convert to the dtype of another tensor."""
    return converted(input, other.dtype)


def _declare(name: str, dtype: DType) -> None:
    """One of torch's short names of conversions."""

    def convert(input: Array) -> Array:
        return converted(input, dtype)

    convert.__doc__ = f"Convert to {dtype.name}."
    composite(name)(convert)


CONVERSIONS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
    "cfloat": "complex64", "cdouble": "complex128", "bool": "bool", "byte": "uint8",
    "char": "int8", "short": "int16", "int": "int32", "long": "int64",
}  # fmt: skip
"""torch's short names of conversions, and the dtypes that they are to."""

for _name, _dtype in CONVERSIONS.items():
    _declare(_name, DTYPES[_dtype])
