"""Sums over windows and their transposed, axis by axis: as many passes as the sizes add up to."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.kept import kept
from gradwire_engine.kernels.row_blocks import each_block
from gradwire_engine.kernels.windows import Sizes, along


class Windows(NamedTuple):
    """How many windows lie along each axis, their size, stride and padding; what divides sums.

    padded: padding counts among a window's elements. divisor: divides all sums alike.
    """

    found: Sizes
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    padded: bool
    divisor: int | None


FEW = 16
"""Elements of a window, of windows side by side, up to which they are gone through one by one."""


def means(xp: Any, x: Array, size: Sizes, how: Windows) -> Array:
    """The mean of each window over the last axes, which have this size."""
    divisor = _divisors(xp, x.dtype, size, how)

    def work(block: Array, out: Array) -> None:
        for axis in range(len(size)):
            block = _sums(xp, block, axis + 1, how)
        if block.dtype.kind in "iu":  # towards zero, as integers are divided elsewhere
            block = -block if isinstance(divisor, int) and divisor < 0 else block
            out[...] = xp.sign(block) * (xp.abs(block) // abs(divisor))
        else:
            xp.divide(block, divisor, out=out)

    return _by_planes(xp, work, x, size, how.found)


def means_back(xp: Any, g: Array, size: Sizes, how: Windows) -> Array:
    """The transposed of `means`: each element spread over its window."""
    divisor = _divisors(xp, g.dtype, size, how)

    def work(block: Array, out: Array) -> None:
        block = block / divisor
        for axis in reversed(range(len(size))):
            block = _spread(xp, block, axis + 1, size[axis], how)
        out[...] = block

    return _by_planes(xp, work, g, how.found, size)


def _by_planes(
    xp: Any, work: Callable[[Array, Array], None], x: Array, size: Sizes, to: Sizes
) -> Array:
    lead = x.shape[: x.ndim - len(size)]
    planes = prod(lead)
    out = xp.empty((*lead, *to), x.dtype)

    def each(rows: Array, results: Array) -> None:
        work(rows.reshape(rows.shape[0], *size), results.reshape(results.shape[0], *to))

    if out.size:
        each_block(each, x.reshape(planes, prod(size)), out.reshape(planes, prod(to)))
    return out


def _sums(xp: Any, x: Array, axis: int, how: Windows) -> Array:
    found, kernel, stride, padding = (sizes[axis - 1] for sizes in how[:4])
    size, before = x.shape[axis], (slice(None),) * axis
    shape = (*x.shape[:axis], found, *x.shape[axis + 1 :])
    if found < kernel:
        out = xp.empty(shape, x.dtype)
        for i in range(found):
            first = i * stride - padding
            inside = slice(max(0, first), min(size, first + kernel))
            out[(*before, i)] = x[(*before, inside)].sum(axis)
        return out
    if stride == kernel and size == found * kernel and not padding and 1 < kernel <= FEW:
        parts = [x[(*before, slice(k, None, kernel))] for k in range(kernel)]
        out = parts[0] + parts[1]
        for part in parts[2:]:
            out += part
        return out
    pairs = [along(k, size, found, stride, padding, 1) for k in range(kernel)]
    whole = next((p for p in pairs if p[0] == slice(0, found)), None)
    out = xp.zeros(shape, x.dtype) if whole is None else x[(*before, whole[1])].copy()
    for pair in pairs:
        if pair is not whole:
            out[(*before, pair[0])] += x[(*before, pair[1])]
    return out


def _spread(xp: Any, g: Array, axis: int, size: int, how: Windows) -> Array:
    found, kernel, stride, padding = (sizes[axis - 1] for sizes in how[:4])
    before = (slice(None),) * axis
    shape = (*g.shape[:axis], size, *g.shape[axis + 1 :])
    if stride == kernel and size == found * kernel and not padding and kernel <= FEW:
        out = xp.empty(shape, g.dtype)
        for k in range(kernel):
            out[(*before, slice(k, None, kernel))] = g
        return out
    out = xp.zeros(shape, g.dtype)
    if found < kernel:
        for i in range(found):
            first = i * stride - padding
            inside = slice(max(0, first), min(size, first + kernel))
            out[(*before, inside)] += g[(*before, slice(i, i + 1))]
        return out
    for k in range(kernel):
        to, at = along(k, size, found, stride, padding, 1)
        out[(*before, at)] += g[(*before, to)]
    return out


def _divisors(xp: Any, dtype: Any, size: Sizes, how: Windows) -> Any:
    """The number of elements in each window; one number where they are all equal."""
    total = _counted(size, how) if how.divisor is None else how.divisor
    return total if isinstance(total, int) else xp.asarray(total.astype(dtype))


@kept(lambda size, how: prod(how.found))
def _counted(size: Sizes, how: Windows) -> int | np.ndarray:
    total: Any = np.ones((), np.int64)
    for n, found, kernel, stride, padding in zip(size, *how[:4], strict=True):
        starts = np.arange(found) * stride - padding
        ends = np.minimum(starts + kernel, n + (padding if how.padded else 0))
        starts = starts if how.padded else np.maximum(starts, 0)
        total = total[..., None] * (ends - starts)
    if total.size and total.min() == total.max():
        return int(total.min())
    found_counts: np.ndarray = total
    return found_counts
