"""Bits of integers, and bools as integers of one bit; no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.families import WHOLE, elementwise
from gradwire_engine.spec import INTEGER


@elementwise(aliases=("__and__", "__rand__"), takes=WHOLE)
def bitwise_and(xp: Any, input: Array, other: Array) -> Array:
    """The bits that both elements have."""
    return xp.bitwise_and(input, other)


@elementwise(aliases=("__or__", "__ror__"), takes=WHOLE)
def bitwise_or(xp: Any, input: Array, other: Array) -> Array:
    """The bits that at least one element has."""
    return xp.bitwise_or(input, other)


@elementwise(aliases=("__xor__", "__rxor__"), takes=WHOLE)
def bitwise_xor(xp: Any, input: Array, other: Array) -> Array:
    """The bits that just one of two elements has."""
    return xp.bitwise_xor(input, other)


@elementwise(aliases=("__invert__",), takes=WHOLE)
def bitwise_not(xp: Any, input: Array) -> Array:
    """All bits turned over; logical not of bools."""
    return xp.invert(input)


@elementwise(aliases=("__lshift__",), takes=(INTEGER,))
def bitwise_left_shift(xp: Any, input: Array, other: Array) -> Array:
    """Bits moved up by other places; nothing is left after a whole width."""
    return xp.where(_inside(xp, input, other), xp.left_shift(input, other), 0)


@elementwise(aliases=("__rshift__",), takes=(INTEGER,))
def bitwise_right_shift(xp: Any, input: Array, other: Array) -> Array:
    """Bits moved down by other places; only the sign is left after a whole width."""
    inside = _inside(xp, input, other)
    return xp.where(inside, xp.right_shift(input, other), xp.where(xp.less(input, 0), -1, 0))


def _inside(xp: Any, input: Array, other: Array) -> Array:
    width = getattr(input, "dtype", other.dtype).itemsize * 8
    return xp.logical_and(xp.greater_equal(other, 0), xp.less(other, width))


@elementwise(takes=(INTEGER,), numbers=())
def gcd(xp: Any, input: Array, other: Array) -> Array:
    """The greatest common divisor of two integers; it may be negative if the least is among them.

    That integer has no absolute value, so that a remainder of it is negative, as in torch.
    """
    found = xp.gcd(input, other)
    if found.dtype.kind == "u":
        return found
    least = np.iinfo(found.dtype).min
    if not bool(xp.any(xp.logical_or(xp.equal(input, least), xp.equal(other, least)))):
        return found
    a, b = xp.broadcast_arrays(xp.abs(input), xp.abs(other))
    while bool(xp.any(a)):
        done = xp.equal(a, 0)
        rest = xp.fmod(b, xp.where(done, 1, a))
        a, b = xp.where(done, a, rest), xp.where(done, b, a)
    return b


@elementwise(takes=(INTEGER,), numbers=())
def lcm(xp: Any, input: Array, other: Array) -> Array:
    """The least common multiple of two integers."""
    return xp.lcm(input, other)
