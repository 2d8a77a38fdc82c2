"""Images sampled at the places that a grid names, and grids made of affine maps."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite, primitive
from gradwire_engine.ops.axes import mT
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import called, reshape
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.rounding import fmod
from gradwire_engine.ops.taps import cells, level, tap_places, tapped
from gradwire_engine.ops.views import select
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Shape, Spec, float32

F = "nn.functional."

SHARPNESS = -0.75
"""The free parameter of cubic convolution."""


def _check(input: Any, grid: Any, mode: str, padding_mode: str) -> None:
    asked = "grid_sample"
    for name, given, known in (
        ("mode", mode, ("bilinear", "nearest", "bicubic")),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):
        if given not in known:
            raise error(
                "invalid_argument",
                f"{asked}: {name} is {given!r}",
                f"it is one of {', '.join(known)}",
                raised=ValueError,
            )
    axes = input.ndim - 2
    fits = axes in (2, 3) and grid.ndim == input.ndim and grid.shape[-1] == axes
    if not fits or grid.shape[0] != input.shape[0] or 0 in input.shape[1:]:
        raise error(
            "shape_mismatch",
            f"{asked}: the input is {list(input.shape)}, the grid {list(grid.shape)}",
            "(N, C, H, W) goes with (N, h, w, 2), (N, C, D, H, W) with (N, d, h, w, 3)",
        )
    if mode == "bicubic" and axes != 2:
        raise error("invalid_argument", f"{asked}: bicubic is for images with two axes")
    if input.dtype != grid.dtype or kind(input) not in "fV":
        raise error(
            "dtype_mismatch",
            f"{asked}: the input is {input.dtype}, the grid {grid.dtype}",
            "both must have one floating dtype",
        )


@composite(space=F)
def grid_sample(
    input: Array,
    grid: Array,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Array:
    """Sample images where a grid says, in coordinates from -1 to 1, the last axis' first."""
    _check(input, grid, mode, padding_mode)
    half = kind(input) == "V" or input.dtype.itemsize == 2
    image, places = (to_dtype(x, float32) if half else x for x in (input, grid))
    found = _sampled(image, places, mode, padding_mode, bool(align_corners))
    found = to_dtype(found, input.dtype) if half else found  # places need more digits than halves
    return called(f"GridSampler{input.ndim - 2}DBackward0", found)


def _sampled(input: Any, grid: Any, mode: str, padding_mode: str, corners: bool) -> Any:
    axes, size = input.ndim - 2, tuple(input.shape[2:])
    count = prod(grid.shape[1:-1])
    flat = reshape(grid, (grid.shape[0], count, axes))
    at = [_on_axis(select(flat, 2, axes - 1 - i), n, corners) for i, n in enumerate(size)]
    if mode == "bicubic":
        found = _cubic(input, at, size, padding_mode, corners)
    else:
        at = [_inside(x, n, padding_mode, corners) for x, n in zip(at, size, strict=True)]
        found = (_nearest if mode == "nearest" else _linear)(input, at, size)
    return reshape(found, (*input.shape[:2], *grid.shape[1:-1]))


def _on_axis(x: Any, size: int, corners: bool) -> Any:
    """Coordinates from -1 to 1 as places on an axis: its outer elements', or its outer edges'."""
    return (x + 1) * ((size - 1) / 2) if corners else (x + 1) * (size / 2) - 0.5


def _inside(x: Any, size: int, padding: str, corners: bool) -> Any:
    """Places beyond the edges brought into the image, as border and reflection have it."""
    if padding == "zeros":
        return x
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        if not span:
            return x * 0
        away = where(x < low, low - x, x - low)
        turns = cells(away / span, False)
        extra = fmod(away, span)
        x = where(turns % 2 == 0, extra, span - extra) + low
    x = where(x > 0, x, level(x) * 0)
    return where(x < size - 1, x, level(x) * (size - 1))


def _by_place(weight: Any) -> Any:
    """A weight for each place (N, P), alike for all channels."""
    return reshape(weight, (weight.shape[0], 1, weight.shape[1]))


def _nearest(input: Any, at: list[Any], size: Shape) -> Any:
    found = tuple(cells(x, True) for x in at)
    value = tapped(input, tap_places(found, (0,) * len(at), size, "zeros", False))
    for x in at:
        value = value * _by_place(level(x))
    return value


def _linear(input: Any, at: list[Any], size: Shape) -> Any:
    first = tuple(cells(x, False) for x in at)
    rest = [x - to_dtype(c, x.dtype) for x, c in zip(at, first, strict=True)]
    total = None
    for offsets in product((0, 1), repeat=len(at)):
        weight = None
        for t, offset in zip(rest, offsets, strict=True):
            share = t if offset else 1 - t
            weight = share if weight is None else weight * share
        part = tapped(input, tap_places(first, offsets, size, "zeros", False)) * _by_place(weight)
        total = part if total is None else total + part
    return total


def _cubic_weights(t: Any) -> list[Any]:
    """Of the four elements around a place, t after the second: what each is times."""
    a = SHARPNESS

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(input: Any, at: list[Any], size: Shape, padding: str, corners: bool) -> Any:
    first = tuple(cells(x, False) for x in at)
    down, right = (_cubic_weights(x - to_dtype(c, x.dtype)) for x, c in zip(at, first, strict=True))
    total = None
    for i, j in product(range(4), repeat=2):
        places = tap_places(first, (i - 1, j - 1), size, padding, corners)
        part = tapped(input, places) * _by_place(down[i] * right[j])
        total = part if total is None else total + part
    return total


def _base_spec(theta: Spec, size: Ints) -> Spec:
    return theta.with_(shape=(prod(size), len(size) + 1))


@primitive(
    spec=_base_spec, public=False, batch=lambda b: b.fronted(b.again(theta=b.front("theta")))
)
def base_grid(xp: Any, theta: Array, size: Ints, corners: bool) -> Array:
    """The coordinates of an image's places, the last axis' first, and a 1; in theta's dtype."""
    axes = len(size)
    out = xp.ones((*size, axes + 1), theta.dtype)
    for i, n in enumerate(size):
        steps = xp.linspace(-1, 1, n, dtype=theta.dtype) if n > 1 else xp.zeros(n, theta.dtype)
        if not corners:
            steps = steps * ((n - 1) / max(n, 1))
        out[..., axes - 1 - i] = steps.reshape([n if j == i else 1 for j in range(axes)])
    return out.reshape(prod(size), axes + 1)


@composite(space=F)
def affine_grid(theta: Array, size: Ints, align_corners: bool | None = None) -> Array:
    """The grid for grid_sample that affine maps (N, 2, 3) or (N, 3, 4) make, for a result size."""
    if kind(theta) not in "fV":
        raise error(
            "dtype_mismatch",
            f"affine_grid: theta is {theta.dtype}",
            "convert it to a floating dtype",
            raised=ValueError,
        )
    axes = len(size) - 2
    if axes not in (2, 3):
        raise error(
            "invalid_argument",
            f"affine_grid: size is {list(size)}",
            "it has 4 numbers, (N, C, H, W), or 5, (N, C, D, H, W)",
            raised=NotImplementedError,
        )
    if tuple(theta.shape) != (size[0], axes, axes + 1):
        raise error(
            "shape_mismatch",
            f"affine_grid: theta is {list(theta.shape)}, size {list(size)}",
            f"theta must be (N, {axes}, {axes + 1})",
            raised=RuntimeError if theta.shape[1:] == (axes, axes + 1) else ValueError,
        )
    if min(size) < 1:
        raise error(
            "invalid_argument",
            f"affine_grid: size is {list(size)}",
            "all of it must be at least 1",
            raised=ValueError,
        )
    base = base_grid(theta, tuple(size[2:]), bool(align_corners))
    found = reshape(matmul(base, mT(theta)), (size[0], *size[2:], axes))
    return called("AffineGridGeneratorBackward0", found)
