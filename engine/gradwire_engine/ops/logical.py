"""Logic on truth values: an element counts as true where it isn't zero."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import elementwise, to_bool


def _truth(xp: Any, value: Any) -> Any:
    """What CuPy's logical functions take: anything but complex numbers."""
    if isinstance(value, int | float | complex):
        return bool(value)
    return xp.not_equal(value, 0) if value.dtype.kind == "c" else value


@elementwise(result=to_bool, exact=True, numbers=())
def logical_and(xp: Any, input: Array, other: Array) -> Array:
    """Whether both elements are true."""
    return xp.logical_and(_truth(xp, input), _truth(xp, other))


@elementwise(result=to_bool, exact=True, numbers=())
def logical_or(xp: Any, input: Array, other: Array) -> Array:
    """Whether at least one element is true."""
    return xp.logical_or(_truth(xp, input), _truth(xp, other))


@elementwise(result=to_bool, exact=True, numbers=())
def logical_xor(xp: Any, input: Array, other: Array) -> Array:
    """Whether exactly one element is true."""
    return xp.logical_xor(_truth(xp, input), _truth(xp, other))


@elementwise(result=to_bool, exact=True)
def logical_not(xp: Any, input: Array) -> Array:
    """Whether the element is false."""
    return xp.logical_not(_truth(xp, input))
