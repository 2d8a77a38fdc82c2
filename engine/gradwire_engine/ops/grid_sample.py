"""Images sampled at the places that a grid names, and grids made of affine maps."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite, internal
from gradwire_engine.ops.axes import mT
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.expand import called, reshape
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.sampled import sampled
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Spec, float32


def _check(input: Any, grid: Any, mode: str, padding_mode: str) -> None:
    asked = "grid_sample"
    for name, given, known in (
        ("mode", mode, ("bilinear", "nearest", "bicubic")),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):
        if given not in known:
            raise invalid_argument(
                f"{asked}: {name} is {given!r}",
                f"it is one of {', '.join(known)}",
                raised=ValueError,
            )
    axes = input.ndim - 2
    fits = axes in (2, 3) and grid.ndim == input.ndim and grid.shape[-1] == axes
    if not fits or grid.shape[0] != input.shape[0] or 0 in input.shape[1:]:
        raise shape_mismatch(
            f"{asked}: the input is {list(input.shape)}, the grid {list(grid.shape)}",
            "(N, C, H, W) goes with (N, h, w, 2), (N, C, D, H, W) with (N, d, h, w, 3)",
        )
    if mode == "bicubic" and axes != 2:
        raise invalid_argument(
            f"{asked}: bicubic is for images with two axes, these have {axes}",
            "use bilinear or nearest",
        )
    if input.dtype != grid.dtype or kind(input) not in "fV":
        raise dtype_mismatch(
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
    found = sampled(image, places, mode, padding_mode, bool(align_corners))
    found = to_dtype(found, input.dtype) if half else found  # places need more digits than halves
    return called(f"GridSampler{input.ndim - 2}DBackward0", found)


def _base_spec(theta: Spec, size: Ints) -> Spec:
    return theta.with_(shape=(prod(size), len(size) + 1))


@internal(spec=_base_spec, batch=lambda b: b.fronted(b.again(theta=b.front("theta"))))
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
        raise dtype_mismatch(
            f"affine_grid: theta is {theta.dtype}",
            "convert it to a floating dtype",
            raised=ValueError,
        )
    axes = len(size) - 2
    if axes not in (2, 3):
        raise invalid_argument(
            f"affine_grid: size is {list(size)}",
            "it has 4 numbers, (N, C, H, W), or 5, (N, C, D, H, W)",
            raised=NotImplementedError,
        )
    if tuple(theta.shape) != (size[0], axes, axes + 1):
        raise shape_mismatch(
            f"affine_grid: theta is {list(theta.shape)}, size {list(size)}",
            f"theta must be (N, {axes}, {axes + 1})",
            raised=RuntimeError if theta.shape[1:] == (axes, axes + 1) else ValueError,
        )
    if min(size) < 1:
        raise invalid_argument(
            f"affine_grid: size is {list(size)}", "all of it must be at least 1", raised=ValueError
        )
    base = base_grid(theta, tuple(size[2:]), bool(align_corners))
    found = reshape(matmul(base, mT(theta)), (size[0], *size[2:], axes))
    return called("AffineGridGeneratorBackward0", found)
