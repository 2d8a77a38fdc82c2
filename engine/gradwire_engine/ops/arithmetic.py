"""Arithmetic on elements."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import elementwise
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Number


@elementwise(
    vjp(input=lambda g: g, other=lambda g, alpha: g if alpha == 1 else g * alpha),
    aliases=("__add__", "__radd__"),
    formula="input: g; other: alpha g",
)
def add(xp: Any, input: Array, other: Array, *, alpha: Number = 1) -> Array:
    """Add other, times alpha, to input."""
    return xp.add(input, other if alpha == 1 else xp.multiply(other, alpha))


@elementwise(
    vjp(input=lambda g: g, other=lambda g, alpha: -g if alpha == 1 else g * -alpha),
    aliases=("subtract", "__sub__"),
    formula="input: g; other: -alpha g",
)
def sub(xp: Any, input: Array, other: Array, *, alpha: Number = 1) -> Array:
    """Subtract other, times alpha, from input."""
    return xp.subtract(input, other if alpha == 1 else xp.multiply(other, alpha))


@elementwise(
    vjp(input=lambda g, other: g * conj(other), other=lambda g, input: g * conj(input)),
    aliases=("multiply", "__mul__", "__rmul__"),
    formula="input: g conj(other); other: g conj(input)",
)
def mul(xp: Any, input: Array, other: Array) -> Array:
    """Multiply input by other."""
    return xp.multiply(input, other)


@elementwise(
    vjp(input=lambda g: -g), aliases=("negative", "__neg__"), formula="-g"
)
def neg(xp: Any, input: Array) -> Array:
    """Negate each element."""
    return xp.negative(input)


@elementwise(vjp(input=lambda g: conj(g)), grad_name="ConjBackward0", formula="conj(g)", exact=True)
def conj(xp: Any, input: Array) -> Array:
    """The complex conjugate of each element; the same numbers where real."""
    return xp.conjugate(input) if input.dtype.kind == "c" else input
