"""Quantiles: between the order statistics of an axis."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, error, invalid_argument
from gradwire_engine.families import composite, reduced_shape
from gradwire_engine.ops.arithmetic import lerp, lerp_by_tensor, mul, sub
from gradwire_engine.ops.axes import movedim
from gradwire_engine.ops.cast import clone, to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import isnan
from gradwire_engine.ops.creation import full
from gradwire_engine.ops.expand import contiguous, expand, reshape, sum, unsafe_view
from gradwire_engine.ops.gather import gather
from gradwire_engine.ops.limits import clamp_min
from gradwire_engine.ops.logical import logical_not
from gradwire_engine.ops.rounding import ceil, floor, round
from gradwire_engine.ops.sorting import sort
from gradwire_engine.signature import axis
from gradwire_engine.spec import int64

WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


def _checked(asked: str, input: Any, q: Any, interpolation: str) -> None:
    number = isinstance(q, (int, float))
    if interpolation not in WAYS:
        raise invalid_argument(
            f"{asked}: interpolation {interpolation!r} is none of {', '.join(WAYS)}",
            "'linear' is the default",
        )
    if not number and (q.ndim > 1 or q.dtype != input.dtype):
        raise error(
            "dtype_mismatch" if q.ndim <= 1 else "shape_mismatch",
            f"{asked}: q is {q.dtype.name}{list(q.shape)}, the input is {input.dtype.name}",
            "q is a number or a vector in the input's dtype",
        )
    if number and not 0 <= q <= 1:
        raise invalid_argument(f"{asked}: q must lie between 0 and 1, got {q}", "0.5 is the median")
    if input.dtype.name not in ("float32", "float64"):
        raise dtype_mismatch(
            f"{asked}: takes float32 or float64, the input is {input.dtype.name}", "convert it"
        )


def _ranks(ordered: Any, q: Any, skip_nan: bool) -> Any:
    """Places (fractions between) of the quantiles in a sorted last axis of size n."""
    size = ordered.shape[-1]
    missing = isnan(ordered)
    last = ordered.ndim - 1
    if skip_nan:
        count = to_dtype(sum(logical_not(missing), (last,), True), ordered.dtype)
        return clamp_min(mul(q, sub(count, 1)), 0)
    broken = sum(missing, (last,), True) > 0
    top = mul(q, size - 1)
    if isinstance(top, int | float):  # two numbers to choose from would make a float32
        top = full((), top, dtype=ordered.dtype, device=ordered.device)
    return where(broken, size - 1, top)


def _between(ordered: Any, ranks: Any, interpolation: str) -> Any:
    """What stands at these ranks; both neighbours, weighted, where a rank is no whole number."""
    last = ordered.ndim - 1

    def at(places: Any) -> Any:
        return gather(ordered, last, to_dtype(places, int64))

    if interpolation in ("lower", "higher", "nearest"):
        return at({"lower": floor, "higher": ceil, "nearest": round}[interpolation](ranks))
    low = floor(ranks)
    below, above = at(low), at(ceil(ranks))
    if interpolation == "midpoint":
        return lerp(below, above, 0.5)
    return lerp_by_tensor(below, above, sub(ranks, low))


def _quantile(
    asked: str, input: Any, q: Any, dim: int | None, keepdim: bool, how: str, skip_nan: bool
) -> Any:
    _checked(asked, input, q, how)
    if 0 in input.shape:
        raise invalid_argument(
            f"{asked}: the input {list(input.shape)} is empty",
            "take quantiles of elements that are there",
        )
    several = not isinstance(q, (int, float)) and q.ndim == 1
    place = 0 if dim is None else axis(asked, dim, input.ndim)
    flat = reshape(input, (-1,)) if dim is None or not input.shape else input
    ordered = sort(movedim(flat, (place,), (flat.ndim - 1,)))[0]
    ranks = _ranks(ordered, q, skip_nan)
    count = q.shape[0] if several else 1
    found = _between(ordered, expand(ranks, (*ordered.shape[:-1], count)), how)
    found = movedim(found, (found.ndim - 1,), (0,))
    if keepdim:
        kept = reduced_shape(asked, input.shape, None if dim is None else (place,), True)
        return clone(reshape(found, (count, *kept))) if several else unsafe_view(found, kept)
    return clone(found) if several else unsafe_view(contiguous(found), found.shape[1:])


@composite(grad_name="SqueezeBackward4")
def quantile(
    input: Array,
    q: Array,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Array:
    """The values below which a share q of the elements lies, along an axis or of all."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(grad_name="SqueezeBackward4")
def nanquantile(
    input: Array,
    q: Array,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Array:
    """The values below which a share q of what is not NaN lies, along an axis or of all."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
