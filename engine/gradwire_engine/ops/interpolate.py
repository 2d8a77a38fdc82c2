"""Resizing images: interpolate and its older names, as maps along one axis after the other."""

from __future__ import annotations

from math import floor, isfinite
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.ops.avg_pool import adaptive_mean
from gradwire_engine.ops.expand import called
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.resample import along_axis
from gradwire_engine.signature import Data
from gradwire_engine.spec import Shape

AXES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}
"""How many axes each mode is for."""


def _refused(what: str, hint: str | None = None, kind: type[Exception] = ValueError) -> Exception:
    return invalid_argument(f"interpolate: {what}", hint, raised=kind)


def _check(input: Any, mode: str, corners: bool | None, antialias: bool) -> int:
    """The number of axes to resize."""
    axes = input.ndim - 2
    if mode not in AXES or axes not in AXES[mode]:
        wanted = " or ".join(f"{n + 2}" for n in AXES.get(mode, ()))
        raise _refused(
            f"mode {mode!r} of an input with {input.ndim} axes",
            f"this mode takes {wanted} axes" if wanted else f"modes are {', '.join(AXES)}",
            NotImplementedError,
        )
    if corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise _refused(f"align_corners with mode {mode!r}", "only linear and cubic modes have it")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise _refused(f"antialias with mode {mode!r}", "only bilinear and bicubic have it")
    if 0 in input.shape[1:]:
        raise shape_mismatch(
            f"interpolate: the input is {list(input.shape)}", "only the batch may be empty"
        )
    of_bytes = mode in ("nearest", "nearest-exact", "bilinear", "bicubic")
    if kind(input) not in ("fVu" if of_bytes else "fV"):
        raise dtype_mismatch(
            f"interpolate: mode {mode!r} is not defined for {input.dtype}",
            "convert the input to a floating dtype",
            raised=NotImplementedError,
        )
    return axes


def _numbers(name: str, given: Any, axes: int) -> tuple[Any, ...] | None:
    """One number for each axis, or None."""
    if given is None:
        return None
    found = given if isinstance(given, tuple) else (given,) * axes
    if len(found) != axes or not all(isinstance(n, int | float) for n in found):
        raise _refused(f"{name} is {given}", f"give one number, or {axes}: one for each axis")
    return found


def _sizes(
    input: Any, size: Any, scale_factor: Any, again: bool | None
) -> tuple[Shape, tuple[float | None, ...]]:
    """The new sizes; the factors that places are found by, None where by the ratio of sizes."""
    axes = input.ndim - 2
    wanted = _numbers("size", size, axes)
    factors = _numbers("scale_factor", scale_factor, axes)
    if (wanted is None) == (factors is None):
        raise _refused("size and scale_factor", "give one of the two")
    if wanted is not None:
        if again:
            raise _refused("recompute_scale_factor with a size", "it goes with scale_factor")
        found, steps = tuple(map(int, wanted)), (None,) * axes
    else:
        assert factors is not None
        if not all(map(isfinite, factors)):
            raise _refused("scale_factor", "give finite numbers")
        found = tuple(floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True))
        steps = (None,) * axes if again else tuple(map(float, factors))
    if min(found) < 1:
        raise shape_mismatch(
            f"interpolate: the result would be of size {list(found)}",
            "all sizes must be at least 1",
        )
    return found, steps


_TERMS = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def _label(mode: str, axes: int, antialias: bool) -> str:
    """The name of torch's node."""
    name = "".join(word.title() for word in mode.split("-"))
    return f"Upsample{name}{axes}D{'Aa' if antialias else ''}Backward0"


@composite(space=F)
def interpolate(
    input: Array,
    size: Data = None,
    scale_factor: Data = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Array:
    """Resize the axes after batch and channels to a size, or by a factor, in one of seven modes."""
    axes = _check(input, mode, align_corners, antialias)
    found, steps = _sizes(input, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return adaptive_mean(axes, input, found)
    terms = _TERMS.get(mode, mode)
    corners = bool(align_corners)
    resized = input
    order = list(enumerate(zip(found, steps, strict=True), 2))
    for axis, (n, step) in reversed(order) if kind(input) == "u" else order:  # bytes are rounded
        scale = None if corners else step
        name = f"smooth {terms}" if antialias else terms
        resized = along_axis(resized, axis, n, name, corners, scale)
    return called(_label(mode, axes, antialias), resized)


@composite(space=F)
def upsample_nearest(input: Array, size: Data = None, scale_factor: Data = None) -> Array:
    """Resize by repeating the nearest element."""
    return interpolate(input, size, scale_factor, "nearest")


@composite(space=F)
def upsample_bilinear(input: Array, size: Data = None, scale_factor: Data = None) -> Array:
    """Resize images linearly along both axes, their corners kept."""
    return interpolate(input, size, scale_factor, "bilinear", True)


@composite(space=F)
def upsample(
    input: Array,
    size: Data = None,
    scale_factor: Data = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Array:
    """Resize the axes after batch and channels: the older name of interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)
