"""Python's operators with the operands the other way round, for a number on the left."""

from __future__ import annotations

from gradwire_engine.arrays import Array
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import mul, reciprocal
from gradwire_engine.ops.bitwise import bitwise_left_shift, bitwise_right_shift
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.power import pow
from gradwire_engine.ops.rounding import floor_divide, remainder


@composite("__rtruediv__", aliases=("__rdiv__",))
def rtruediv(input: Array, other: Array) -> Array:
    """Divide other by input."""
    return mul(reciprocal(input), other)


@composite("__rmatmul__")
def rmatmul(input: Array, other: Array) -> Array:
    """The matrix product of other and input."""
    return matmul(other, input)


@composite("__rpow__")
def rpow(input: Array, other: Array) -> Array:
    """Raise other to the power of input."""
    return pow(other, input)


@composite("__rmod__")
def rmod(input: Array, other: Array) -> Array:
    """The rest of dividing other by input."""
    return remainder(other, input)


@composite("__rfloordiv__")
def rfloordiv(input: Array, other: Array) -> Array:
    """Other divided by input, rounded down."""
    return floor_divide(other, input)


@composite("__rlshift__")
def rlshift(input: Array, other: Array) -> Array:
    """The bits of other moved up by input places."""
    return bitwise_left_shift(other, input)


@composite("__rrshift__")
def rrshift(input: Array, other: Array) -> Array:
    """The bits of other moved down by input places."""
    return bitwise_right_shift(other, input)
