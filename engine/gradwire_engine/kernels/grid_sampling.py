"""Images read at places between their elements: each result a weighted sum of a few of them.

Which elements those are, what they are times, and how that changes with the place is worked out for
all places and taps at once; the sums, and their transposed, are products with a sparse matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from operator import add, mul, or_
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.row_blocks import each_block
from gradwire_engine.kernels.select import chosen

SHARPNESS = -0.75
"""The free parameter of cubic convolution."""
SMALL = 1 << 14
"""Elements read up to which making a sparse matrix would take longer than the sums themselves."""
FAR = 2.0**31
"""What is no number or further away than this lies outside any image."""


class Sampling(NamedTuple):
    """How places are read: grid_sample's modes; corners: -1 and 1 are the outer elements."""

    mode: str
    padding: str
    corners: bool


class Taps(NamedTuple):
    """Of each place the elements around it.

    flat: (places, taps) rows of `_rows`; the last of those stands for what is outside. shares,
    slopes: (axes, taps of an axis, places) what an axis contributes to the weights, and the
    derivative of that by the grid.
    """

    flat: Array
    shares: Array
    slopes: Array

    def weights(self, by: int | None = None) -> Array:
        """(taps, places): the weights, or their derivative by one axis of the grid."""
        parts = list(self.shares)
        if by is not None:
            parts[by] = self.slopes[by]
        return _outer(parts, mul)


def _outer(parts: Sequence[Array], join: Callable[[Array, Array], Array]) -> Array:
    """Of (taps of an axis, places) for each axis what belongs to all combinations of them."""
    found = parts[0]
    for part in parts[1:]:
        both = join(found[:, None], part)
        found = both.reshape(found.shape[0] * part.shape[0], part.shape[1])
    return found


def sampled(xp: Any, input: Array, grid: Array, how: Sampling) -> Array:
    """(N, C, ...) of images (N, C, ...) and places (N, ..., axes)."""
    taps = _taps(xp, grid, input.shape, how)
    rows = _rows(xp, input)
    if taps.flat.size * rows.shape[1] <= SMALL or getattr(xp, "sparse", None) is None:
        near = xp.take(rows, taps.flat, axis=0)
        found = xp.einsum("mk,mkc->mc", xp.ascontiguousarray(taps.weights().T), near)
    else:
        found = _matrix(xp, taps, rows.shape[0], False) @ rows
    shape = (input.shape[0], prod(grid.shape[1:-1]), input.shape[1])
    return found.reshape(shape).swapaxes(1, 2).reshape(*input.shape[:2], *grid.shape[1:-1])


def sampled_back(
    xp: Any, g: Array, input: Array, grid: Array, how: Sampling, needs: tuple[bool, ...]
) -> tuple[Array | None, Array | None]:
    """The gradients of images and grid."""
    taps = _taps(xp, grid, input.shape, how)
    given = g.reshape(*g.shape[:2], prod(g.shape[2:])).swapaxes(1, 2)
    given = xp.ascontiguousarray(given).reshape(taps.flat.shape[0], input.shape[1])
    to_input = to_grid = None
    if needs[0]:
        rows = _added(xp, taps, given, input.shape[0] * prod(input.shape[2:]) + 1)
        planes = rows[:-1].reshape(input.shape[0], prod(input.shape[2:]), input.shape[1])
        to_input = xp.ascontiguousarray(planes.swapaxes(1, 2)).reshape(input.shape)
    if needs[1]:
        to_grid = _to_grid(xp, taps, given, _rows(xp, input), grid, how)
    return to_input, to_grid


def _to_grid(xp: Any, taps: Taps, given: Array, rows: Array, grid: Array, how: Sampling) -> Array:
    if how.mode == "nearest":
        return xp.zeros_like(grid)
    along = xp.empty(taps.flat.shape, grid.dtype)

    def work(g: Array, flat: Array, out: Array) -> None:
        out[...] = xp.einsum("mkc,mc->mk", xp.take(rows, flat, axis=0), g)

    each_block(work, given, taps.flat, along)
    out = xp.empty(grid.shape, grid.dtype)
    columns = out.reshape(along.shape[0], grid.shape[-1]).T[::-1]
    along = xp.ascontiguousarray(along.T)
    for axis in range(grid.shape[-1]):
        columns[axis] = (along * taps.weights(axis)).sum(0)
    return out


def _added(xp: Any, taps: Taps, given: Array, count: int) -> Array:
    """So many rows of zeros with what was given added, times the weights, to those it was read of.

    Few elements go one by one.
    """
    channels = given.shape[1]
    if type(given) is not np.ndarray or taps.flat.size * channels > SMALL:
        found: Array = _matrix(xp, taps, count, True) @ given
        return found
    rows = np.zeros(count * channels, given.dtype)
    places = taps.flat.T[..., None] * channels + np.arange(channels)
    np.add.at(rows, places.reshape(-1), (taps.weights()[..., None] * given).reshape(-1))
    return rows.reshape(count, channels)


def _rows(xp: Any, input: Array) -> Array:
    """All elements with their channels side by side, and zeros for what is outside."""
    samples, channels, size = input.shape[0], input.shape[1], prod(input.shape[2:])
    rows = xp.empty((samples * size + 1, channels), input.dtype)
    rows[-1] = 0
    planes = rows[:-1].reshape(samples, size, channels)
    planes[...] = input.reshape(samples, channels, size).swapaxes(1, 2)
    return rows


def _matrix(xp: Any, taps: Taps, count: int, turned: bool) -> Any:
    """The weights as a sparse matrix (places, rows); dense where there are no sparse ones.

    turned: its transposed.
    """
    places, each = taps.flat.shape
    weights, sparse = xp.ascontiguousarray(taps.weights().T), getattr(xp, "sparse", None)
    if sparse is not None:
        starts = xp.arange(0, places * each + 1, each, dtype=taps.flat.dtype)
        parts = (weights.reshape(-1), taps.flat.reshape(-1), starts)
        if turned:
            return sparse.csc_matrix(parts, shape=(count, places))
        return sparse.csr_matrix(parts, shape=(places, count))
    found = xp.zeros((places, count), weights.dtype)
    xp.add.at(found, (xp.arange(places)[:, None], taps.flat), weights)
    return found.T if turned else found


def _taps(xp: Any, grid: Array, shape: tuple[int, ...], how: Sampling) -> Taps:
    axes = len(shape) - 2
    sizes = xp.asarray(_column(shape[2:], grid.dtype))
    scale = sizes - 1 if how.corners else sizes
    scale = scale * 0.5
    x = xp.empty((axes, prod(grid.shape[:-1])), grid.dtype)
    xp.add(grid.reshape(x.shape[::-1]).T[::-1], 1, out=x)
    x *= scale
    if not how.corners:
        x -= 0.5
    move = scale
    if how.padding != "zeros" and how.mode != "bicubic":
        x, move = _inside(xp, x, sizes, how)
        move *= scale
    cell = xp.rint(x) if how.mode == "nearest" else xp.floor(x)
    near = bool((xp.abs(cell) < FAR - 4).all())
    if not near and how.mode != "bicubic":
        cell[~(xp.abs(cell) < FAR)] = -FAR
    x -= cell
    offsets, shares, slopes = _shares(xp, x, how.mode)
    slopes *= move[:, None]
    at = cell[:, None] + xp.asarray(offsets, cell.dtype)[:, None]
    if not near:
        at = _brought(xp, at, sizes[:, None], how)
    small = near and prod((shape[0], *shape[2:])) < FAR - 1
    at = at.astype(xp.int32 if small else xp.int64)
    return Taps(_flat(xp, at, shape[2:], shape[0], how), shares, slopes)


def _brought(xp: Any, at: Array, sizes: Array, how: Sampling) -> Array:
    """Elements (axes, taps, places) far outside, at places nearer by that are read alike."""
    far = ~(xp.abs(at) < FAR)
    if not far.any():
        return at
    if how.padding == "reflection":
        period = xp.maximum(2 * (sizes - 1 if how.corners else sizes), 1)
        at = xp.where(far, xp.fmod(at, period), at)
    at = xp.where(at > FAR, FAR, at)
    return xp.where(at > -FAR, at, -FAR)


@lru_cache(maxsize=256)
def _column(size: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The sizes of the axes, one below the other."""
    return np.array(size, dtype)[:, None]


def _inside(xp: Any, x: Array, sizes: Array, how: Sampling) -> tuple[Array, Array]:
    """Places beyond the edges brought into the image, and how they move when these do."""
    slope = xp.ones_like(x)
    if how.padding == "reflection":
        low, span = (0.0, sizes - 1) if how.corners else (-0.5, sizes)
        whole = xp.maximum(span, 1)
        away = xp.abs(x - low)
        back = xp.floor(away / whole) % 2 != 0
        slope[(x < low) != back] = -1
        away = xp.fmod(away, whole)
        x = (xp.where(back, whole - away, away) + low) * (span > 0)
    slope *= (x > 0) & (x < sizes - 1)
    x = xp.where(x > 0, x, 0)
    return xp.where(x < sizes - 1, x, sizes - 1).astype(slope.dtype, copy=False), slope


def _shares(xp: Any, t: Array, mode: str) -> tuple[tuple[int, ...], Array, Array]:
    """The taps of an axis by their distance from the cell; their weights and those' slopes.

    t: (axes, places) how far behind the cell a place lies; weights: (axes, taps, places).
    """
    axes, places = t.shape
    if mode == "nearest":
        return (0,), xp.ones((axes, 1, places), t.dtype), xp.zeros((axes, 1, places), t.dtype)
    if mode == "bilinear":
        weights, slopes = (xp.empty((axes, 2, places), t.dtype) for _ in range(2))
        xp.subtract(1, t, out=weights[:, 0])
        weights[:, 1] = t
        slopes[:, 0], slopes[:, 1] = -1, 1
        return (0, 1), weights, slopes
    a = SHARPNESS
    each = (far(a, t + 1), near(a, t), near(a, 1 - t), far(a, 2 - t))
    weights = xp.stack([weight for weight, _ in each], axis=1)
    slopes = xp.stack([slope for _, slope in each], axis=1)
    slopes[:, 2:] *= -1
    return (-1, 0, 1, 2), weights, slopes


def near(a: float, x: Array) -> tuple[Array, Array]:
    """The weight of an element less than one away, and how it changes with the distance."""
    return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x


def far(a: float, x: Array) -> tuple[Array, Array]:
    """The weight of an element one to two away, and how it changes with the distance."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a


def _flat(xp: Any, at: Array, size: tuple[int, ...], samples: int, how: Sampling) -> Array:
    """(places, taps): the rows that places (axes, taps, places) name together."""
    places, each = at.shape[2] // max(samples, 1), prod(size)
    flat: Any = xp.arange(samples, dtype=at.dtype).repeat(places)[None] if samples > 1 else None
    outside: Any = None
    if how.padding == "zeros" or how.mode != "bicubic":
        unsigned = np.dtype(f"u{at.itemsize}")  # where what is negative is large
        outside = at.view(unsigned) >= xp.asarray(_column(size, unsigned))[:, None]
    for axis, length in enumerate(size):
        place = at[axis]
        if outside is None and how.padding == "border":
            place = xp.clip(place, 0, length - 1)
        elif outside is None:
            place = reflected(xp, place, length, how.corners)
        flat = place if flat is None else _outer([flat * length, place], add)
    if outside is not None:
        flat = chosen(xp, _outer(list(outside), or_), samples * each, flat)
    return xp.ascontiguousarray(flat.T, xp.int32 if samples * each < FAR - 1 else xp.int64)


def reflected(xp: Any, place: Array, size: int, corners: bool) -> Array:
    """Places beyond the edges mirrored into the image: at the outer elements, or beside them."""
    if corners:
        period = max(2 * (size - 1), 1)
        place = xp.abs(place) % period
        return xp.minimum(place, period - place) if size > 1 else xp.zeros_like(place)
    place = place % (2 * size)
    return xp.minimum(place, 2 * size - 1 - place)
