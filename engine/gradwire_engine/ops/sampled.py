"""Images read at the places of a grid, in one pass each way, and the formula of the gradients."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.batch.samples import as_samples
from gradwire_engine.families import internal
from gradwire_engine.kernels import grid_sampling
from gradwire_engine.kernels.grid_sampling import SHARPNESS, Sampling, far, near
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.expand import sum as summed
from gradwire_engine.ops.join import stack
from gradwire_engine.ops.rounding import fmod
from gradwire_engine.ops.taps import cells, level, tap_places, tapped, untapped
from gradwire_engine.ops.views import select
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Data


class Tap(NamedTuple):
    """One of the elements that make a result: its place, weight, and the weight's derivatives."""

    places: Any
    weight: Any
    slopes: list[Any]


def _on_axis(x: Any, size: int, corners: bool) -> tuple[Any, float]:
    """Coordinates from -1 to 1 as places on an axis: its outer elements', or its outer edges'.

    With them the factor that they were multiplied by.
    """
    scale = (size - 1) / 2 if corners else size / 2
    return (x + 1) * scale - (0 if corners else 0.5), scale


def _inside(x: Any, size: int, padding: str, corners: bool) -> tuple[Any, Any]:
    """Places beyond the edges brought into the image, and how they move when these do."""
    one = level(x)
    if padding == "zeros":
        return x, one
    slope = one
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        if not span:
            return x * 0, one * 0
        slope = where(x < low, -one, one)
        away = where(x < low, low - x, x - low)
        even = cells(away / span, False) % 2 == 0
        extra = fmod(away, span)
        slope = where(even, slope, -slope)
        x = where(even, extra, span - extra) + low
    slope = where(x > 0, slope, one * 0)
    x = where(x > 0, x, one * 0)
    return where(x < size - 1, x, one * (size - 1)), where(x < size - 1, slope, one * 0)


def _cubic(t: Any) -> list[tuple[int, Any, Any]]:
    """Of four elements around a place, t after the second: offset, weight and its slope."""
    each = far(SHARPNESS, t + 1), near(SHARPNESS, t), near(SHARPNESS, 1 - t), far(SHARPNESS, 2 - t)
    signs = 1, 1, -1, -1
    return [
        (i - 1, weight, sign * slope)
        for i, (sign, (weight, slope)) in enumerate(zip(signs, each, strict=True))
    ]


def _on_one_axis(x: Any, mode: str) -> tuple[Any, list[tuple[int, Any, Any]]]:
    """The cells of places on an axis, and the taps around them."""
    cell = cells(x, mode == "nearest")
    if mode == "nearest":
        return cell, [(0, level(x), level(x) * 0)]
    t = x - to_dtype(cell, x.dtype)
    if mode == "bicubic":
        return cell, _cubic(t)
    return cell, [(0, 1 - t, -level(x)), (1, t, level(x))]


def _taps(input: Any, grid: Any, how: Sampling) -> list[Tap]:
    axes, size = input.ndim - 2, tuple(input.shape[2:])
    flat = reshape(grid, (grid.shape[0], prod(grid.shape[1:-1]), axes))
    found, along, moves = [], [], []
    cubic = how.mode == "bicubic"
    for i, n in enumerate(size):
        x, scale = _on_axis(select(flat, 2, axes - 1 - i), n, how.corners)
        x, slope = _inside(x, n, "zeros" if cubic else how.padding, how.corners)
        cell, taps = _on_one_axis(x, how.mode)
        found.append(cell)
        along.append(taps)
        moves.append(slope * scale)
    padding = how.padding if cubic else "zeros"
    made = []
    for each in product(*along):
        offsets = tuple(offset for offset, _, _ in each)
        places = tap_places(tuple(found), offsets, size, padding, how.corners)
        slopes = [_weight(each, a) * move for a, move in enumerate(moves)]
        made.append(Tap(places, _weight(each), slopes))
    return made


def _weight(taps: tuple[tuple[int, Any, Any], ...], by: int | None = None) -> Any:
    total = None
    for axis, (_, weight, slope) in enumerate(taps):
        part = slope if axis == by else weight
        total = part if total is None else total * part
    return total


def _gradients(
    g: Any, input: Any, grid: Any, mode: str, padding: str, corners: bool, needs: tuple[bool, ...]
) -> tuple[Any, Any]:
    """The formula of the gradients of images and grid."""
    taps = _taps(input, grid, Sampling(mode, padding, corners))
    flat = reshape(g, (*g.shape[:2], prod(grid.shape[1:-1])))
    to_input = to_grid = None
    if needs[0]:
        shape = tuple(input.shape)
        # a weight for each place (N, P) is alike for all channels
        parts = [untapped(flat * unsqueeze(t.weight, 1), t.places, shape) for t in taps]
        to_input = _added(parts)
    if needs[1]:
        along = [summed(flat * tapped(input, t.places), (1,)) for t in taps]
        by_axis = [
            _added([a * t.slopes[i] for a, t in zip(along, taps, strict=True)])
            for i in reversed(range(grid.shape[-1]))
        ]
        to_grid = reshape(stack(by_axis, 2), tuple(grid.shape))
    return to_input, to_grid


def _added(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@one_pass(
    _gradients,
    lambda input, grid, needs: (input if needs[0] else None, grid if needs[1] else None),
)
def grid_gradients(
    xp: Any, g: Array, input: Array, grid: Array, mode: str, padding: str, corners: bool,
    needs: Data,
) -> tuple[Any, Any]:  # fmt: skip
    """The same by sparse products."""
    how = Sampling(mode, padding, corners)
    return grid_sampling.sampled_back(xp, g, input, grid, how, needs)


@internal(
    vjp(
        joint=lambda g, input, grid, mode, padding, corners, needs: grid_gradients(
            g, input, grid, mode, padding, corners, needs
        )
    ),
    spec=lambda input, grid: input.with_(shape=(*input.shape[:2], *grid.shape[1:-1])),
    batch=as_samples(),
    formula="input: g times the weights, at the places; grid: g times the input's slope there",
)
def sampled(xp: Any, input: Array, grid: Array, mode: str, padding: str, corners: bool) -> Array:
    """Of images (N, C, ...) the values at places (N, ..., axes)."""
    return grid_sampling.sampled(xp, input, grid, Sampling(mode, padding, corners))
