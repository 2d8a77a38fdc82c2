"""Windows that slide over the last axes of an array: how many, where they lie, and sums by them.

Sizes are per axis, first to last: of the window, its stride, the padding before the first element,
the dilation between a window's elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error, invalid_argument
from gradwire_engine.kernels.kept import kept

Sizes = tuple[int, ...]

LARGE, MOST = 1 << 28, 64
"""Bytes, and times the bytes of what is padded, from which on padding is refused: results may be
small all the same, when strides leave most of it out."""


def reach(kernel: int, dilation: int) -> int:
    """The elements from a window's first to its last."""
    return (kernel - 1) * dilation + 1


def count(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False
) -> int:
    """How many windows fit an axis, padded on both sides; less than 1 if none does.

    ceil_mode: one more if elements are left over, but none that begins in the padding after them.
    """
    left = size + 2 * padding - reach(kernel, dilation)
    found = (left + (stride - 1 if ceil_mode else 0)) // stride + 1
    return found - 1 if ceil_mode and (found - 1) * stride >= size + padding else found


def counts(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    """How many windows fit each axis."""
    return tuple(map(count, size, kernel, stride, padding, dilation))


def padded(xp: Any, x: Array, before: Sizes, after: Sizes, value: float = 0) -> Array:
    """The last axes with so many elements of a value before and after them; itself if none."""
    if not any(before) and not any(after):
        return x
    lead = x.ndim - len(before)
    sizes = x.shape[lead:]
    inner = (b + n + a for n, b, a in zip(sizes, before, after, strict=True))
    shape = (*x.shape[:lead], *inner)
    if prod(shape) * x.itemsize > max(LARGE, MOST * x.nbytes):
        raise error(
            "memory_limit",
            f"padding {list(before)} makes {prod(shape) * x.itemsize} bytes of {x.nbytes}",
            "pad less: windows that lie in the padding alone hold nothing",
        )
    out = xp.full(shape, value, x.dtype) if value else xp.zeros(shape, x.dtype)
    out[(..., *(slice(b, b + n) for n, b in zip(sizes, before, strict=True)))] = x
    return out


def windows(xp: Any, x: Array, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Array:
    """All windows of a padded array as a view: (leading axes, places in a window, windows)."""
    if any(n < 1 for n in (*kernel, *stride, *dilation)):  # it would see beyond the array
        raise invalid_argument(
            f"windows of size {kernel}, stride {stride}, dilation {dilation}",
            "all of them have to be 1 or more",
        )
    axes = len(kernel)
    lead, steps = x.ndim - axes, x.strides[x.ndim - axes :]
    found = counts(x.shape[lead:], kernel, stride, (0,) * axes, dilation)
    within = tuple(s * d for s, d in zip(steps, dilation, strict=True))
    between = tuple(s * d for s, d in zip(steps, stride, strict=True))
    shape, strides = (*x.shape[:lead], *kernel, *found), (*x.strides[:lead], *within, *between)
    if type(x) is np.ndarray and x.flags.c_contiguous and x.size:
        return np.ndarray(shape, x.dtype, x, 0, strides)  # as below, in a tenth of the time
    return xp.lib.stride_tricks.as_strided(x, shape, strides)


@lru_cache(maxsize=4096)
def along(
    place: int, size: int, found: int, stride: int, padding: int, dilation: int
) -> tuple[slice, slice]:
    """Of one place in the window: the windows in which it lies on an element, and on which."""
    start = place * dilation - padding
    first = max(0, -(start // stride))
    last = min(found, (size - 1 - start) // stride + 1)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    begin = start + first * stride
    return slice(first, last), slice(begin, begin + (last - first - 1) * stride + 1, stride)


def add_windows(
    out: Array, columns: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> None:
    """Add windows (leading axes, places in a window, windows) to where they lie in `out`."""
    axes = len(kernel)
    size, found = out.shape[out.ndim - axes :], columns.shape[columns.ndim - axes :]
    if prod(found) < prod(kernel):
        _add_each(out, columns, kernel, stride, padding, dilation)
        return
    for source, to in _overlaps(size, found, kernel, stride, padding, dilation):
        out[to] += columns[source]


@kept(lambda size, found, kernel, *rest: prod(kernel))
def _overlaps(
    size: Sizes, found: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """For each place in the window: which of the columns it is, and on which elements it lies."""
    pairs = []
    for place in product(*map(range, kernel)):
        parts = [*map(along, place, size, found, stride, padding, dilation)]
        source = (..., *place, *(part[0] for part in parts))
        pairs.append((source, (..., *(part[1] for part in parts))))
    return pairs


def _add_each(
    out: Array, columns: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> None:
    """The same window by window, where these are fewer than the places in one."""
    axes = len(kernel)
    size, found = out.shape[out.ndim - axes :], columns.shape[columns.ndim - axes :]
    whole = (slice(None),) * (out.ndim - axes)
    for at in product(*map(range, found)):
        # a window is to its places what a place is to windows, with stride and dilation exchanged
        pairs = [*map(along, at, size, kernel, dilation, padding, stride)]
        source = (*whole, *(pair[0] for pair in pairs), *at)
        out[(..., *(pair[1] for pair in pairs))] += columns[source]


def blocks(samples: int, rows: int, nbytes: int, limit: int) -> Iterator[tuple[slice, slice]]:
    """Parts of work on samples with rows of windows that take at most `limit` bytes each.

    nbytes: what a row of windows takes. Several samples at once, or several rows of one.
    """
    each = max(1, rows * nbytes)
    if each <= limit or rows < 2:
        step = max(1, limit // each)
        for first in range(0, samples, step):
            yield slice(first, min(first + step, samples)), slice(0, rows)
        return
    step = max(1, limit // max(1, nbytes))
    for sample in range(samples):
        for first in range(0, rows, step):
            yield slice(sample, sample + 1), slice(first, min(first + step, rows))
