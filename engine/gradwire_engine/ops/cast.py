"""Copies: to another dtype, or as they are."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array, copied
from gradwire_engine.families import internal, primitive
from gradwire_engine.rule import vjp
from gradwire_engine.spec import DType


@internal(
    vjp("g in the input's dtype", input=lambda g: g),
    spec=lambda input, dtype: input.with_(dtype=dtype),
    family="elementwise",
    grad_name="ToCopyBackward0",
    exact=True,
    linear=True,
    sheds=True,
)
def to_dtype(xp: Any, input: Array, dtype: DType) -> Array:
    """Convert to a dtype, always as a copy; a complex number loses its imaginary part."""
    if input.dtype.kind == "c" and dtype.numpy.kind not in "cb":
        input = input.real
    return copied(input, dtype.numpy)


@primitive(vjp("g", input=lambda g: g), exact=True, family="elementwise", linear=True)
def clone(xp: Any, input: Array) -> Array:
    """Copy a tensor; gradients flow back to it unchanged."""
    return copied(input, input.dtype) if hasattr(input, "dtype") else input
