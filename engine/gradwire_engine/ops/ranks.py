"""Elements by their rank along an axis: kthvalue, medians, modes.

NaN counts as larger than every number. Gradients go back to where each value was taken from.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import in_rows, leading
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import REAL_NUMERIC, internal, primitive, reduction
from gradwire_engine.ops.cumulative import running_places
from gradwire_engine.ops.expand import with_kept_dims
from gradwire_engine.ops.extremes import (
    Found,
    equals_gradient,
    selected_gradient,
    selection,
    shared_gradient,
    taken,
)
from gradwire_engine.ops.sorting import check_k, order_along
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim
from gradwire_engine.spec import Spec, bool_, int64


def _kth_spec(input: Spec, k: int, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
    if input.shape and not input.shape[dim]:
        raise invalid_argument(
            f"kthvalue: axis {dim} of {list(input.shape)} has no elements",
            "take it along an axis that has some",
            raised=IndexError,
        )
    check_k("kthvalue", input, dim, k, 1)
    if input.dtype is bool_:
        raise dtype_mismatch("kthvalue: bools have no ranks", "convert them to integers")
    tail = input.shape[dim + 1 :]
    shape = (*input.shape[:dim], *((1,) if keepdim else ()), *tail) if input.shape else ()
    return input.with_(shape=shape), input.with_(shape=shape, dtype=int64)


@primitive(
    vjp("g put back where the value stood", input=selected_gradient),
    spec=_kth_spec,
    outputs=("values", "indices"),
    family="along",
    exact=True,
)
def kthvalue(xp: Any, input: Array, k: int, dim: Dim = -1, keepdim: bool = False) -> Found:
    """The k-th smallest element along an axis (counted from 1), and its index."""
    if not input.ndim:
        return taken(xp, input, None, dim, keepdim)
    order = order_along(xp, input, dim, False)[(slice(None),) * dim + (slice(k - 1, k),)]
    return taken(xp, input, order, dim, keepdim)


def _middle(xp: Any, input: Array, dim: int, skip_nan: bool) -> Array:
    """The index of the lower median along an axis, which is kept."""
    order = order_along(xp, input, dim, False)
    missing = xp.sum(input != input, axis=dim, keepdims=True)
    size = input.shape[dim]
    if skip_nan:
        place = xp.maximum(size - missing - 1, 0) // 2
    else:
        place = xp.where(missing > 0, size - missing, (size - 1) // 2)
    return xp.take_along_axis(order, place, dim)


def _median(xp: Any, input: Array, dim: int, keepdim: bool, skip_nan: bool) -> Found:
    places = _middle(xp, input, dim, skip_nan) if input.ndim else None
    return taken(xp, input, places, dim, keepdim)


def _median_of_all(xp: Any, input: Array, skip_nan: bool) -> Array:
    if not input.size:
        nothing = float("nan")
        if input.dtype.kind in "biu":  # as a processor converts NaN to whole numbers
            nothing = -(2 ** (31 if input.dtype == "int32" else 63))
        return xp.full((), nothing).astype(input.dtype)
    return _median(xp, input.reshape(-1), 0, False, skip_nan)[0]


@internal(
    vjp(input=lambda g, input, out, input_spec: _equal_in_row(g, input, out, input_spec)),
    spec=lambda input: input.with_(shape=input.shape[:-1]),
    exact=True,
    batch=leading,
)
def row_medians(xp: Any, input: Array, skip_nan: bool) -> Array:
    """The median of each row, with the gradient that the median of all elements has."""
    if not input.shape[-1]:
        return xp.broadcast_to(_median_of_all(xp, input, skip_nan), input.shape[:-1])
    return _median(xp, input, input.ndim - 1, False, skip_nan)[0]


def _equal_in_row(g: Any, input: Any, out: Any, spec: Spec) -> Any:
    last = (len(spec.shape) - 1,)
    found = with_kept_dims(out, last, spec.shape)
    return shared_gradient(g, (input == found) | ((found != found) & (input != input)), last, spec)


_NUMBERS: dict[str, Any] = {"takes": REAL_NUMERIC, "refusal": NotImplementedError}

of_all = partial(
    reduction,
    vjp("g in equal parts to the elements equal to the median", input=equals_gradient),
    of_nothing=True,
    real_gradients=True,
    **_NUMBERS,
)


@of_all(batch=in_rows(lambda rows: row_medians(rows, False)))
def median(xp: Any, input: Array) -> Array:
    """The median of all elements, the lower of two; NaN if there is one."""
    return _median_of_all(xp, input, False)


@selection(name="median", grad_name="MedianBackward1", **_NUMBERS)
def median_along(xp: Any, input: Array, dim: Dim, keepdim: bool = False) -> Found:
    """The medians along an axis, the lower of two, and their indices."""
    return _median(xp, input, dim, keepdim, False)


@of_all(batch=in_rows(lambda rows: row_medians(rows, True)))
def nanmedian(xp: Any, input: Array) -> Array:
    """The median of all elements that are not NaN, the lower of two."""
    return _median_of_all(xp, input, True)


@selection(name="nanmedian", grad_name="NanmedianBackward1", **_NUMBERS)
def nanmedian_along(xp: Any, input: Array, dim: Dim, keepdim: bool = False) -> Found:
    """The medians along an axis of what is not NaN, and their indices."""
    return _median(xp, input, dim, keepdim, True)


def _runs(xp: Any, ordered: Array) -> Array:
    """How many elements up to each one of a sorted last axis equal it."""
    size = ordered.shape[-1]
    place = xp.arange(size)
    fresh = xp.ones(ordered.shape, bool)
    fresh[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    last = ordered.ndim - 1
    return place - running_places(xp, xp.where(fresh, place, -1), last, xp.greater_equal)


@selection()
def mode(xp: Any, input: Array, dim: Dim = -1, keepdim: bool = False) -> Found:
    """The most frequent elements along an axis, the smallest of several, and their last index."""
    if not input.ndim:
        return taken(xp, input, None, dim, keepdim)
    moved = xp.moveaxis(input, dim, -1)
    order = order_along(xp, moved, moved.ndim - 1, False)
    ordered = xp.take_along_axis(moved, order, -1)
    best = xp.argmax(_runs(xp, ordered), axis=-1, keepdims=True)
    places = xp.moveaxis(xp.take_along_axis(order, best, -1), -1, dim)
    return taken(xp, input, places, dim, keepdim)
