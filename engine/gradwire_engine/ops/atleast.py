"""At least so many axes: new ones of size 1, as views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import composite
from gradwire_engine.op import Composite
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.expand import reshape
from gradwire_engine.signature import Arrays


def _to_1d(input: Array) -> Array:
    return input if input.ndim else reshape(input, (1,))


def _to_2d(input: Array) -> Array:
    if input.ndim >= 2:
        return input
    return unsqueeze(input, 0) if input.ndim else reshape(input, (1, 1))


def _to_3d(input: Array) -> Array:
    if input.ndim >= 3:
        return input
    if not input.ndim:
        return reshape(input, (1, 1, 1))
    return unsqueeze(unsqueeze(input, 0) if input.ndim == 1 else input, 2)


def _declare(name: str, see: Callable[[Any], Any], one: str, several: str) -> Composite:
    """An op of one tensor that also takes several, one by one."""

    def of_one(input: Array) -> Array:
        return tuple(map(see, input)) if isinstance(input, (list, tuple)) else see(input)

    def of_several(tensors: Arrays) -> tuple[Array, ...]:
        return found(tensors)

    of_one.__doc__, of_several.__doc__ = f"{one}; several tensors one by one.", several
    found = composite(name)(of_one)
    composite(name)(of_several)
    return found


atleast_1d = _declare(
    "atleast_1d",
    _to_1d,
    "See a scalar as a vector of one element",
    "See scalars among the tensors as vectors of one element.",
)
atleast_2d = _declare(
    "atleast_2d",
    _to_2d,
    "See a tensor with at least two axes, new ones in front",
    "See the tensors with at least two axes.",
)
atleast_3d = _declare(
    "atleast_3d",
    _to_3d,
    "See a tensor with at least three axes",
    "See the tensors with at least three axes.",
)
