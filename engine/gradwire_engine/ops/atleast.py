"""At least so many axes: new ones of size 1, as views."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import composite
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.expand import reshape
from gradwire_engine.signature import Arrays


def _each(function: Any) -> Any:
    """A function of one tensor that also takes several, one by one."""
    return lambda given: tuple(map(function, given)) if _many(given) else function(given)


def _many(given: Any) -> bool:
    return isinstance(given, (list, tuple))


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


@composite()
def atleast_1d(input: Array) -> Array:
    """See a scalar as a vector of one element; several tensors one by one."""
    return _each(_to_1d)(input)


@composite()
def atleast_2d(input: Array) -> Array:
    """See a tensor with at least two axes, new ones in front; several tensors one by one."""
    return _each(_to_2d)(input)


@composite()
def atleast_3d(input: Array) -> Array:
    """See a tensor with at least three axes; several tensors one by one."""
    return _each(_to_3d)(input)


@composite(name="atleast_1d")
def _atleast_1d(tensors: Arrays) -> tuple[Array, ...]:
    """See scalars among the tensors as vectors of one element."""
    return atleast_1d(tensors)


@composite(name="atleast_2d")
def _atleast_2d(tensors: Arrays) -> tuple[Array, ...]:
    """See the tensors with at least two axes."""
    return atleast_2d(tensors)


@composite(name="atleast_3d")
def _atleast_3d(tensors: Arrays) -> tuple[Array, ...]:
    """See the tensors with at least three axes."""
    return atleast_3d(tensors)
