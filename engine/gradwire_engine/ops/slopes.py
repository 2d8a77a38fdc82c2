"""Differences, slopes and integrals along an axis, of samples."""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import BOOLS, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite
from gradwire_engine.mode import local
from gradwire_engine.ops.arithmetic import mul, scaled, shared_out, sub
from gradwire_engine.ops.cast import clone, to_dtype
from gradwire_engine.ops.creation import zeros
from gradwire_engine.ops.cumulative import cumsum
from gradwire_engine.ops.expand import called, reshape, sum, sum_to_shape
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.logical import logical_xor
from gradwire_engine.ops.views import narrow, select
from gradwire_engine.signature import Ints, axis
from gradwire_engine.spec import int64


def _steps(x: Any, dim: int) -> Any:
    """Each element less the one before it."""
    size = x.shape[dim]
    ahead, behind = narrow(x, dim, 1, size - 1), narrow(x, dim, 0, size - 1)
    return logical_xor(ahead, behind) if x.dtype.kind == "b" else sub(ahead, behind)


@composite()
def diff(
    input: Array,
    n: int = 1,
    dim: int = -1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Differences of neighbours along an axis, taken n times."""
    place = axis("diff", dim, input.ndim)
    if not input.ndim or n < 0:
        raise invalid_argument(
            f"diff: {n} times, of a tensor of shape {list(input.shape)}",
            "n must not be negative, and the tensor needs an axis",
        )
    parts = [x for x in (prepend, input, append) if x is not None]
    found = cat(parts, place) if len(parts) > 1 else input
    if n == 0:
        return called("CopyBackwards", clone(input))
    for _ in range(min(n, found.shape[place])):  # then the axis is empty
        found = _steps(found, place)
    return found


def _gaps(x: Any, y: Any, dim: int) -> Any:
    """The distances between sample points, in a shape that broadcasts with y's differences."""
    if x.ndim == 1:
        return reshape(_steps(x, 0), (-1, *[1] * (y.ndim - dim - 1)))
    return _steps(x, dim - y.ndim + x.ndim)


def _strips(asked: str, y: Any, x: Any, dim: int) -> tuple[Any, int]:
    """Twice the areas between neighbours, of neighbours one apart if no x is given; the axis."""
    place = axis(asked, dim, y.ndim)
    size = y.shape[place]
    if x is not None and (not x.ndim or (x.ndim == 1 and x.shape[0] != size)):
        raise shape_mismatch(
            f"{asked}: y is {list(y.shape)}, x is {list(x.shape)}",
            "x has a point for each sample along dim",
        )
    refuse(asked, (BOOLS,), y, x, raised=RuntimeError)
    if not size:
        return scaled(y, 0), place
    pairs = narrow(y, place, 1, size - 1) + narrow(y, place, 0, size - 1)
    return pairs if x is None else mul(_gaps(x, y, place), pairs), place


def _in_floats(x: Any) -> Any:
    """What a fraction multiplies: whole numbers become floats."""
    return x if x.dtype.kind in "fcV" else to_dtype(x, local.state.default_dtype)


@composite(aliases=("trapz",))
def trapezoid(y: Array, x: Array | None = None, *, dx: float = 1, dim: int = -1) -> Array:
    """The integral along an axis by the trapezoidal rule, over sample points x or steps dx."""
    place = axis("trapezoid", dim, y.ndim)
    if not y.shape[place]:  # nothing to sum, nor to find a gradient of: y is not looked at
        shape = (*y.shape[:place], *y.shape[place + 1 :])
        return zeros(shape, dtype=y.dtype, device=y.device)
    areas, place = _strips("trapezoid", y, x, dim)
    if x is not None:
        return shared_out(_in_floats(sum(areas, (place - y.ndim,))), 2)
    ends = select(y, place, 0) + select(y, place, -1)
    return scaled(sub(sum(y, (place,)), scaled(_in_floats(ends), 0.5)), dx)


@composite()
def cumulative_trapezoid(
    y: Array, x: Array | None = None, *, dx: float = 1, dim: int = -1
) -> Array:
    """The integral up to each sample along an axis, by the trapezoidal rule."""
    areas, place = _strips("cumulative_trapezoid", y, x, dim)
    if x is None:
        return cumsum(scaled(_in_floats(areas), dx / 2), place - y.ndim)
    return shared_out(_in_floats(cumsum(areas, place - y.ndim)), 2)


@composite()
def sum_to_size(input: Array, size: Ints) -> Array:
    """Sum over axes so that the result has a size that broadcasts to the input's."""
    lead = input.ndim - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, input.shape[lead:], strict=True)):
        raise shape_mismatch(
            f"sum_to_size: {list(size)} does not broadcast to {list(input.shape)}",
            "sizes are 1 or the tensor's, counted from the last",
        )
    if not size:
        return sum(input)
    if input.dtype.kind in "biu" and input.shape != tuple(size):
        input = to_dtype(input, int64)  # the dtype of sums
    return input if input.shape == tuple(size) else sum_to_shape(input, tuple(size))
