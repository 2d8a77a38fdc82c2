"""In which order the axes of a result lie in memory: torch's rules, from how the operands lie.

An order names the axes from the outermost to the innermost one; None is row-major. New results have
no gaps, so the order says all. What can be viewed, and what is a copy, hangs on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gradwire_engine.spec import Shape

Order = tuple[int, ...] | None
Lying = tuple[Shape, tuple[int, ...]]
"""An array's shape and its strides, in elements."""

CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
"""The order of images whose channels lie together, by the number of axes."""


def lying(arrays: Sequence[Any]) -> tuple[Lying, ...]:
    """How those operands lie that are arrays with axes."""
    return tuple([lying_of(a) for a in arrays if getattr(a, "shape", ())])


def lying_of(array: Any) -> Lying:
    """How an array lies."""
    size = array.itemsize
    return array.shape, tuple([step // size for step in array.strides])


def alone(given: Lying) -> Order:
    """The order of a copy."""
    return iterated(given[0], (given,))


@lru_cache(maxsize=65536)
def iterated(shape: Shape, operands: tuple[Lying, ...]) -> Order:
    """The order of what is worked out element by element: the first operand's that has one.

    Between two axes decides the first operand in which both have steps, and not the same.
    """
    if len(shape) < 2 or 0 in shape:
        return None
    if operands and all(given[0] == shape for given in operands):
        if all(map(row_major, operands)):
            return None
        if all(map(channels_last, operands)):
            return CHANNELS_LAST[len(shape)]
    steps = [_steps(shape, given) for given in operands]
    inward = _sorted_inward(shape, steps)
    return normal(tuple(reversed(inward)))


def normal(order: tuple[int, ...]) -> Order:
    """The same order; None where it is row-major."""
    return None if order == tuple(range(len(order))) else order


def places(order: Sequence[int]) -> list[int]:
    """The permutation that undoes an order."""
    return sorted(range(len(order)), key=order.__getitem__)


def _sorted_inward(shape: Shape, steps: list[tuple[int, ...]]) -> list[int]:
    """The axes from the innermost one, by insertion, as pairs may say nothing of each other."""
    found = list(reversed(range(len(shape))))
    for place in range(1, len(shape)):
        at = place
        for before in reversed(range(place)):
            said = _compared(shape, steps, found[before], found[at])
            if said < 0:
                break
            if said > 0:
                found[before], found[at] = found[at], found[before]
                at = before
    return found


def _compared(shape: Shape, steps: list[tuple[int, ...]], inner: int, outer: int) -> int:
    """1 if the inner axis has to lie outside the outer one, -1 if not, 0 if nothing says so."""
    for strides in steps:
        a, b = strides[inner], strides[outer]
        if not a or not b:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def _steps(shape: Shape, given: Lying) -> tuple[int, ...]:
    """An operand's strides along the result's axes, 0 where it is repeated."""
    sizes, strides = given
    whole = shape[len(shape) - len(sizes) :]
    seen = [0 if n == 1 != m else s for n, m, s in zip(sizes, whole, strides, strict=True)]
    return (*(0,) * (len(shape) - len(sizes)), *seen)


@lru_cache(maxsize=65536)
def row_major(given: Lying) -> bool:
    """Whether an array's elements lie row by row, without gaps."""
    return _dense_in(given, range(len(given[0])))


@lru_cache(maxsize=65536)
def dense(given: Lying) -> bool:
    """Whether an array's elements lie without gaps, each at a place of its own."""
    outward = sorted((s, n) for n, s in zip(*given, strict=True) if n > 1)
    wanted = 1
    for step, size in outward:
        if step != wanted:
            return False
        wanted *= size
    return True


def channels_last(given: Lying) -> bool:
    """Whether it is a batch of images whose channels lie together."""
    order = CHANNELS_LAST.get(len(given[0]))
    return order is not None and len(order) == 4 and _dense_in(given, order)


def _dense_in(given: Lying, order: Sequence[int]) -> bool:
    """Whether the axes that have steps follow each other in this order without gaps."""
    shape, strides = given
    if 0 in shape:
        return True
    wanted = 1
    for axis in reversed(order):
        if shape[axis] > 1:
            if strides[axis] != wanted:
                return False
            wanted *= shape[axis]
    return True
