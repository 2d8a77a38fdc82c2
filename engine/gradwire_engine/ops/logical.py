"""Logic on truth values: an element counts as true where it isn't zero."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import elementwise, to_bool


@elementwise(result=to_bool, exact=True)
def logical_and(xp: Any, input: Array, other: Array) -> Array:
    """Whether both elements are true."""
    return xp.logical_and(input, other)


@elementwise(result=to_bool, exact=True)
def logical_or(xp: Any, input: Array, other: Array) -> Array:
    """Whether at least one element is true."""
    return xp.logical_or(input, other)


@elementwise(result=to_bool, exact=True)
def logical_xor(xp: Any, input: Array, other: Array) -> Array:
    """Whether exactly one element is true."""
    return xp.logical_xor(input, other)


@elementwise(result=to_bool, exact=True)
def logical_not(xp: Any, input: Array) -> Array:
    """Whether the element is false."""
    return xp.logical_not(input)
