"""Python's operators with the operands the other way round, for a number on the left."""

from __future__ import annotations

from typing import Any

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


def _declare(name: str, op: Any, doc: str) -> None:
    def reflected(input: Array, other: Array) -> Array:
        return op(other, input)

    reflected.__doc__ = doc
    composite(name)(reflected)


_declare("__rmatmul__", matmul, "The matrix product of other and input.")
_declare("__rpow__", pow, "Raise other to the power of input.")
_declare("__rmod__", remainder, "The rest of dividing other by input.")
_declare("__rfloordiv__", floor_divide, "Other divided by input, rounded down.")
_declare("__rlshift__", bitwise_left_shift, "The bits of other moved up by input places.")
_declare("__rrshift__", bitwise_right_shift, "The bits of other moved down by input places.")
