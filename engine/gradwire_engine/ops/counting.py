"""Finding and counting values: insertion places, distinct values, histograms; no derivatives."""

from __future__ import annotations

from functools import partial
from math import isfinite, prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.ops.creation import full
from gradwire_engine.ops.expand import reshape
from gradwire_engine.promote import Weak
from gradwire_engine.signature import Dim, axis
from gradwire_engine.spec import FLOAT, INTEGER, Spec, float32, float64, int32, int64


def _side(asked: str, right: bool, side: str | None) -> str:
    if side not in (None, "left", "right") or (right and side == "left"):
        raise invalid_argument(
            f"{asked}: side is {side!r} and right is {right}",
            "side is 'left' or 'right'; right=True means side='right'",
        )
    return "right" if right or side == "right" else "left"


def _search_spec(
    sorted_sequence: Spec, input: Spec | Weak, out_int32: bool, right: bool, side: str | None
) -> Spec:
    _side("searchsorted", right, side)
    shape = sorted_sequence.shape
    if not shape or (len(shape) > 1 and shape[:-1] != input.shape[:-1]):
        raise shape_mismatch(
            f"searchsorted: sorted_sequence is {list(shape)}, input is {list(input.shape)}",
            "sorted_sequence is a vector, or has input's axes but for the last",
        )
    if isinstance(input, Spec) and input.dtype is not sorted_sequence.dtype:
        raise dtype_mismatch(
            f"searchsorted: sorted_sequence is {sorted_sequence.dtype.name}, "
            f"input is {input.dtype.name}",
            "convert one of them",
        )
    return Spec(input.shape, int32 if out_int32 else int64, "")


def _search_in_each(b: Any) -> Any:
    """Rows of examples in their own sorted row, or all in the one they share."""
    shared = not b.batched("sorted_sequence") and not b.batched("sorter")
    if shared and b.axes("sorted_sequence") == 1:
        return b.again(input=b.front("input"))
    values = b.operand("input")
    if not hasattr(values, "spec"):  # a number
        values = full((), values, dtype=b.operand("sorted_sequence").dtype)
    rows = b.fronted(values)
    if b.axes("sorted_sequence") == 1:
        rows = reshape(rows, (b.size, -1))
    return b.again(sorted_sequence=b.front("sorted_sequence"), input=rows, sorter=b.front("sorter"))


@primitive(spec=_search_spec, batch=_search_in_each)
def searchsorted(
    xp: Any,
    sorted_sequence: Array,
    input: Array,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """Where in a sorted last axis each value would go in: before (left) or behind equal ones."""
    where = _side("searchsorted", right, side)
    values = xp.asarray(input)
    if sorter is not None:
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, -1)
    if sorted_sequence.ndim == 1:
        return xp.searchsorted(sorted_sequence, values, where)
    width = sorted_sequence.shape[-1]
    rows = sorted_sequence.reshape(prod(sorted_sequence.shape[:-1]), width)
    wanted = values.reshape(rows.shape[0], prod(values.shape[-1:]))
    found = [xp.searchsorted(row, v, where) for row, v in zip(rows, wanted, strict=True)]
    return xp.stack(found).reshape(values.shape) if found else xp.zeros(values.shape, xp.int64)


@composite()
def bucketize(
    input: Array, boundaries: Array, *, out_int32: bool = False, right: bool = False
) -> Array:
    """Which interval between sorted boundaries each value falls into."""
    if boundaries.ndim != 1:
        raise shape_mismatch(
            f"bucketize: boundaries is a vector, not {list(boundaries.shape)}",
            "use searchsorted for several rows of boundaries",
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


distinguishing = partial(
    internal, outputs=("values", "inverse", "counts"), data_dependent=True, exact=True
)
"""An op that finds the values there are, which of them stands at each place, how often they do."""


@distinguishing(
    spec=lambda input: (
        input.with_(shape=(input.size,)),
        input.with_(dtype=int64),
        Spec((input.size,), int64, ""),
    ),
)
def distinct(xp: Any, input: Array) -> tuple[Array, Array, Array]:
    """The distinct elements in order, which of them each element is, how often each occurs."""
    values, inverse, counts = xp.unique(
        input.reshape(-1), return_inverse=True, return_counts=True, equal_nan=False
    )
    return values, inverse.reshape(input.shape), counts


def _along_spec(input: Spec, dim: int) -> tuple[Spec, Spec, Spec]:
    if 0 in (*input.shape[:dim], *input.shape[dim + 1 :]):
        raise shape_mismatch(
            f"unique: the slices of {list(input.shape)} along dim {dim} hold no elements",
            "only the axis along which slices are compared may be empty",
        )
    length = Spec((input.shape[dim],), int64, "")
    return input, length, length


@distinguishing(spec=_along_spec)
def distinct_along(xp: Any, input: Array, dim: Dim) -> tuple[Array, Array, Array]:
    """The distinct slices along an axis in order, which of them each is, how often each occurs."""
    values, inverse, counts = xp.unique(
        input, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    return values, inverse.reshape(-1), counts


@distinguishing(spec=_along_spec)
def runs_along(xp: Any, input: Array, dim: Dim) -> tuple[Array, Array, Array]:
    """The first of each run of equal slices, which run each slice is in, how long each run is."""
    rows = xp.moveaxis(input, dim, 0)
    count = rows.shape[0]
    flat = rows.reshape(count, prod(rows.shape[1:]))
    fresh = xp.ones(count, bool)
    fresh[1:] = xp.any(flat[1:] != flat[:-1], axis=1)
    starts = xp.flatnonzero(fresh)
    lengths = xp.diff(xp.concatenate([starts, xp.asarray([count])]))
    return xp.moveaxis(rows[starts], 0, dim), xp.cumsum(fresh) - 1, lengths


def _chosen(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    """Only what was asked for, as in torch: a tensor alone, or a tuple."""
    wanted = [found[0]]
    wanted += [found[1]] if return_inverse else []
    wanted += [found[2]] if return_counts else []
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


@composite(data_dependent=True)
def unique(
    input: Array,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Array | tuple[Array, ...]:
    """The distinct elements, or slices along an axis, in order."""
    if dim is None:
        return _chosen(distinct(input), return_inverse, return_counts)
    found = distinct_along(input, axis("unique", dim, input.ndim))
    return _chosen(found, return_inverse, return_counts)


@composite(data_dependent=True)
def unique_consecutive(
    input: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Array | tuple[Array, ...]:
    """The first of each run of equal elements, or of equal slices along an axis."""
    if dim is not None:
        found = runs_along(input, axis("unique_consecutive", dim, input.ndim))
        return _chosen(found, return_inverse, return_counts)
    values, inverse, counts = runs_along(reshape(input, (-1,)), 0)
    return _chosen((values, reshape(inverse, input.shape), counts), return_inverse, return_counts)


def _bincount_spec(input: Spec, weights: Spec | None, minlength: int) -> Spec:
    if input.dtype.category != INTEGER:
        raise dtype_mismatch(
            f"bincount: not defined for {input.dtype.name}",
            "convert it to integers",
            raised=NotImplementedError,
        )
    if len(input.shape) != 1 or minlength < 0:
        raise invalid_argument(
            f"bincount: input is {input}, minlength is {minlength}",
            "input is a vector of integers >= 0, minlength is >= 0",
        )
    if weights is not None and weights.shape != input.shape:
        raise shape_mismatch(
            f"bincount: weights is {list(weights.shape)}, input is {list(input.shape)}",
            "give each value a weight",
        )
    dtype = int64 if weights is None else float32 if weights.dtype is float32 else float64
    return Spec((max(minlength, 1),), dtype, "")


@primitive(spec=_bincount_spec, data_dependent=True, fallible=True, exact=True)
def bincount(xp: Any, input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each integer from 0 on occurs, or the sum of its weights."""
    if input.size and int(input.min()) < 0:
        raise invalid_argument(
            f"bincount: {int(input.min())} is negative",
            "count values from 0 on: subtract the smallest first",
        )
    if not input.size:
        return xp.zeros(minlength, xp.int64 if weights is None else xp.float64)
    return xp.bincount(input, weights, minlength)


def _histc_spec(input: Spec, bins: int, min: float, max: float) -> Spec:
    if input.dtype.category != FLOAT:
        raise dtype_mismatch(
            f"histc: not defined for {input.dtype.name}",
            "convert it to floats, or take histc of abs",
            raised=NotImplementedError,
        )
    if bins <= 0 or max < min:
        raise invalid_argument(
            f"histc: {bins} bins from {min} to {max} of {input}",
            "bins must be positive and max not less than min",
        )
    return input.with_(shape=(bins,))


@primitive(spec=_histc_spec, fallible=True)
def histc(xp: Any, input: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """How many elements fall into each of equal intervals from min to max (0, 0: all there are)."""
    low, high = min, max
    if low == high and input.size:
        low, high = float(input.min()), float(input.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (isfinite(low) and isfinite(high)):
        raise invalid_argument(
            f"histc: the range from {low} to {high} is not finite",
            "give min and max, or take infinities and NaN out first",
        )
    inside = input[(input >= low) & (input <= high)]
    places = ((inside - low) * (bins / (high - low))).astype(xp.int64)
    return xp.bincount(xp.minimum(places, bins - 1), minlength=bins)
