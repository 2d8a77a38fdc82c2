"""The space of a region: every value in it lies along some axes of one row-major array.

A value's `axes` say for each of its own axes how far apart neighbours are in that array, counted in
elements; 0 where it is the same all along. Values of any rank and shape fit together by this,
however they were reshaped in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import prod
from operator import methodcaller
from typing import Any

import numpy as np

from gradwire_engine.arrays import address

Axes = tuple[int, ...]


def row_major(shape: Sequence[int]) -> Axes:
    """The axes of the whole array in this shape."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step if size > 1 else 0)
        step *= size
    return tuple(reversed(found))


def spans_rows(shape: Sequence[int], axes: Axes, size: int) -> bool:
    """Whether a value differs along the outermost axis of a space of so many elements."""
    return any(step and step * n == size for n, step in zip(shape, axes, strict=True))


def aligned(shape: Sequence[int], operands: Iterable[tuple[Sequence[int], Axes]]) -> Axes | None:
    """The axes of what operands broadcast to, from those that are known; None if they disagree.

    -1 stands for an axis that none of them tells.
    """
    found = [-1 if n > 1 else 0 for n in shape]
    for sizes, axes in operands:
        lead = len(shape) - len(sizes)
        for i, (size, step) in enumerate(zip(sizes, axes, strict=True)):
            if size == 1 or not step:
                continue
            if found[lead + i] not in (-1, step):
                return None
            found[lead + i] = step
    # two axes may go along the same one of the space, as in an outer product with itself
    pieces = sorted((s, s * n) for n, s in zip(shape, found, strict=True) if s > 0)
    overlap = any(low[1] > high[0] for low, high in pairwise(pieces))
    return None if overlap else tuple(found)


def seen(run: Any, shape: Sequence[int], axes: Axes, size: int) -> Axes | None:
    """The axes of a view of a value; None where it shows a part, or in another order."""
    whole = np.empty(size, np.int8)  # not touched, unless the view is none but a copy
    source = np.lib.stride_tricks.as_strided(whole, tuple(shape), axes)
    try:
        found = run(source)
    except Exception:
        return None
    if not isinstance(found, np.ndarray) or address(found) != address(whole):
        return None
    steps = tuple(s if n > 1 else 0 for n, s in zip(found.shape, found.strides, strict=True))
    kept = min(steps, default=0) >= 0 and extents(found.shape, steps) == extents(shape, axes)
    return steps if kept else None


def extents(
    shape: Sequence[int], axes: Axes, memory: Sequence[int] | None = None
) -> list[tuple[int, int]]:
    """What a value covers, in as few intervals as there can be: (from, to) in the whole array.

    memory: its strides; intervals are then joined only where they lie one after the other there.
    """
    strides = axes if memory is None else memory
    pieces = sorted((s, n, m) for n, s, m in zip(shape, axes, strides, strict=True) if s)
    found: list[tuple[int, int]] = []
    follows = (0, 0)  # where the next axis out would have to start, and its stride
    for step, size, stride in pieces:
        if follows == (step, stride):
            found[-1] = (found[-1][0], step * size)
        else:
            found.append((step, step * size))
        follows = (step * size, stride * size)
    return found


def divided(intervals: Iterable[tuple[int, int]], size: int) -> tuple[int, ...] | None:
    """Sizes of the axes into which intervals cut a space, outermost first; None if they cross."""
    marks = sorted({1, size, *(mark for pair in intervals for mark in pair)})
    found = []
    for low, high in pairwise(marks):
        if high % low:
            return None
        found.append(high // low)
    return tuple(reversed(found)) or (1,)


def along(shape: Sequence[int], axes: Axes, dims: Sequence[int]) -> tuple[bool, ...]:
    """Along which axes of a divided space a value differs."""
    covered = extents(shape, axes)
    found, high = [], prod(dims)
    for size in dims:
        low = high // size
        found.append(any(start <= low and high <= end for start, end in covered) and size > 1)
        high = low
    return tuple(found)


def plain_view(source: Any, result: Any) -> Callable[..., Any] | None:
    """A view that is the array in another shape, or with its axes in another order, as one call.

    source, result: phantoms. None where it is neither: a kernel then, which looks before it sees.
    """
    if source is None or source.dtype != result.dtype or source.size != result.size:
        return None
    if source.flags.c_contiguous and result.flags.c_contiguous:
        return methodcaller("reshape", result.shape)
    lying = list(zip(source.shape, source.strides, strict=True))
    wanted = list(zip(result.shape, result.strides, strict=True))
    if sorted(lying) == sorted(wanted) and len(set(lying)) == len(lying):
        return methodcaller("transpose", [lying.index(axis) for axis in wanted])
    return None
