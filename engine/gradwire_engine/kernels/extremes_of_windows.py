"""The largest element of each window and where it is, axis by axis.

Along one axis a window's maximum is found by comparing as many strided slices as the window has
places; doing so for the last axis first, then for the others, takes the sum of the window's sizes
in passes and not their product. Ties go to the first place in row-major order, NaN to the last one.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.kept import kept
from gradwire_engine.kernels.row_blocks import each_block
from gradwire_engine.kernels.windows import Sizes, padded, reach


class Axis(NamedTuple):
    """The windows along one axis: for each place in a window a slice, or indices, of the axis.

    starts: the first element of each window; in the padding it is negative.
    step: from one place of a window to the next.
    """

    places: tuple[Any, ...]
    starts: tuple[int, ...]
    step: int

    @property
    def found(self) -> int:
        """How many windows there are."""
        return len(self.starts)


@kept(lambda found, *rest: found)
def strided(found: int, kernel: int, stride: int, padding: int, dilation: int) -> Axis:
    """Windows at equal distances; the places index the padded axis."""
    span = stride * (found - 1) + 1
    places = tuple(slice(k * dilation, k * dilation + span, stride) for k in range(kernel))
    return Axis(places, tuple(i * stride - padding for i in range(found)), dilation)


@kept(lambda size, found: size)
def adaptive(size: int, found: int) -> Axis:
    """So many windows that cover an axis; a shorter one names its last element again."""
    if found and size % found == 0:
        return strided(found, size // found, size // found, 0, 1)
    starts = tuple(i * size // found for i in range(found))
    ends = [-(-(i + 1) * size // found) for i in range(found)]
    longest = max((e - s for s, e in zip(starts, ends, strict=True)), default=1)
    places = tuple(
        [min(s + k, e - 1) for s, e in zip(starts, ends, strict=True)] for k in range(longest)
    )
    return Axis(places, starts, 1)


def largest(
    xp: Any, x: Array, axes: tuple[Axis, ...], padding: Sizes, last: Sizes
) -> tuple[Array, Array]:
    """The maxima of all windows over the last axes, and their flat places in these axes.

    padding, last: elements before and after each axis that windows may reach into.
    """
    size, found = x.shape[x.ndim - len(axes) :], tuple(a.found for a in axes)
    lead = x.shape[: x.ndim - len(axes)]
    planes = prod(lead)
    out = xp.empty((planes, prod(found)), x.dtype)
    indices = xp.empty((planes, prod(found)), xp.int64)
    if not out.size:
        return out.reshape(*lead, *found), indices.reshape(*lead, *found)
    lowest = -xp.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
    base, table = _places(xp, axes, size)

    def work(rows: Array, values: Array, where: Array) -> None:
        plane = padded(xp, rows.reshape(rows.shape[0], *size), padding, last, lowest)
        best, code = _by_axis(xp, plane, axes, False)
        if x.dtype.kind in "fV" and bool(xp.isnan(best).any()):
            best, code = _by_axis(xp, plane, axes, True)
        values[...] = best.reshape(values.shape)
        xp.add(xp.take(table, code.reshape(where.shape)), base, out=where)
        if any(padding):
            first = _first_elements(xp, axes, size)
            where[...] = xp.where(values == lowest, first, where)

    each_block(work, x.reshape(planes, prod(size)), out, indices)
    return out.reshape(*lead, *found), indices.reshape(*lead, *found)


def _by_axis(xp: Any, x: Array, axes: tuple[Axis, ...], nans: bool) -> tuple[Array, Array]:
    """The maxima, and which place of its window each is, counted in row-major order."""
    places = prod(len(a.places) for a in axes)
    kind = xp.int8 if places < 128 else xp.int16 if places < 1 << 15 else xp.int64
    code: Any = None
    before = 1
    for number in reversed(range(len(axes))):
        axis, at = axes[number], (slice(None),) * (number + 1)
        lead = [(*at, place) for place in axis.places]
        best, chosen = x[lead[0]], None if code is None else code[lead[0]]
        for k, place in enumerate(lead[1:], 1):
            part = x[place]
            ahead = part > best
            if nans:
                ahead |= part != part
            best = xp.maximum(best, part, out=best if k > 1 else None)
            if chosen is None:
                chosen = ahead.astype(kind)
                continue
            step = code[place] - chosen if code is not None else -chosen
            step += k * before
            step *= ahead
            step += chosen
            chosen = step
        if chosen is None:
            chosen = xp.zeros(best.shape, kind)
        x, code, before = best, chosen, before * len(axis.places)
    return x, code


def _places(xp: Any, axes: tuple[Axis, ...], size: Sizes) -> tuple[Array, Array]:
    """The flat place of each window's first element, and what a place in the window adds to it."""
    starts = tuple(axis.starts for axis in axes)
    steps = tuple((axis.step, len(axis.places)) for axis in axes)
    base, table = _flat_places(starts, steps, size)
    return xp.asarray(base), xp.asarray(table)


@kept(lambda starts, steps, size: prod(map(len, starts)))
def _flat_places(
    starts: tuple[Sizes, ...], steps: tuple[tuple[int, int], ...], size: Sizes
) -> tuple[np.ndarray, np.ndarray]:
    """The same from starts and (step, places) of each axis."""
    base, table, unit = np.zeros(1, np.int64), np.zeros(1, np.int64), 1
    for first, (step, places), length in reversed([*zip(starts, steps, size, strict=True)]):
        base = (np.asarray(first, np.int64)[:, None] * unit + base).reshape(-1)
        table = (np.arange(places)[:, None] * (step * unit) + table).reshape(-1)
        unit *= length
    return base, table


def _first_elements(xp: Any, axes: tuple[Axis, ...], size: Sizes) -> Array:
    """The flat place of each window's first element that is not padding."""
    found, unit = np.zeros(1, np.int64), 1
    for axis, length in zip(reversed(axes), reversed(size), strict=True):
        inside = [s if s >= 0 else s + -(s // axis.step) * axis.step for s in axis.starts]
        found = (np.asarray(inside, np.int64)[:, None] * unit + found).reshape(-1)
        unit *= length
    return xp.asarray(found)


def overhang(size: int, found: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The elements after an axis that its last window reaches into."""
    return max(0, (found - 1) * stride + reach(kernel, dilation) - size - padding)
