"""Sorting along an axis and what it finds: sort, topk, kthvalue, medians, modes.

NaN counts as larger than every number. Gradients go back to where each value was taken from.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import REAL, composite, primitive, reduction
from gradwire_engine.ops.cumulative import running_places
from gradwire_engine.ops.extremes import (
    Found,
    put_along,
    same,
    selected_gradient,
    shared_gradient,
    taken,
    to_index,
)
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim
from gradwire_engine.spec import COMPLEX, Spec, int64


def _need_order(asked: str, input: Spec) -> None:
    if input.dtype.category == COMPLEX:
        raise error("dtype_mismatch", f"{asked}: complex numbers have no order", "sort abs(x)?")


def _sorted_spec(input: Spec) -> tuple[Spec, Spec]:
    _need_order("sort", input)
    return input, input.with_(dtype=int64)


def order_along(xp: Any, input: Array, dim: int, descending: bool) -> Array:
    """The indices that sort an axis, equal elements in the order they stand."""
    if not descending:
        return xp.argsort(input, axis=dim, kind="stable")
    last = input.shape[dim] - 1
    turned = xp.argsort(xp.flip(input, dim), axis=dim, kind="stable")
    return last - xp.flip(turned, dim)


@primitive(
    vjp(
        input=lambda g_values, indices, dim, input_spec: put_along(
            g_values, indices, dim, input_spec.shape
        )
    ),
    spec=_sorted_spec,
    name="sort",
    outputs=("values", "indices"),
    family="along",
    exact=True,
    formula="g put back where each value stood",
)
def sort(xp: Any, input: Array, dim: Dim = -1, descending: bool = False) -> Found:
    """Sort along an axis; the values, and the indices they had."""
    if not input.ndim:
        return xp.array(input), xp.zeros((), xp.int64)
    order = order_along(xp, input, dim, descending)
    return xp.take_along_axis(input, order, dim), order


@composite(name="sort")
def _sort_stably(
    input: Array, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> Any:
    """Sort along an axis, equal elements kept in order; the values, and the indices they had."""
    return sort(input, dim, descending)


@composite()
def msort(input: Array) -> Array:
    """Sort along the first axis."""
    return sort(input, 0)[0]


@composite()
def argsort(
    input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Array:
    """The indices that sort an axis."""
    return sort(input, dim, descending)[1]


def _check_k(asked: str, input: Spec, dim: int, k: int, least: int) -> None:
    size = input.shape[dim] if input.shape else 1
    if not least <= k <= size:
        raise error(
            "invalid_argument",
            f"{asked}: k is {k}, the axis has {size} elements",
            f"k must lie between {least} and {size}",
        )
    _need_order(asked, input)


def _topk_spec(input: Spec, k: int, dim: int) -> tuple[Spec, Spec]:
    _check_k("topk", input, dim, k, 0)
    shape = (*input.shape[:dim], k, *input.shape[dim + 1 :]) if input.shape else ()
    return input.with_(shape=shape), input.with_(shape=shape, dtype=int64)


@primitive(
    vjp(
        input=lambda g_values, indices, dim, input_spec: put_along(
            g_values, indices, dim, input_spec.shape
        )
    ),
    spec=_topk_spec,
    outputs=("values", "indices"),
    family="along",
    exact=True,
    formula="g put back where each value stood",
)
def topk(
    xp: Any, input: Array, k: int, dim: Dim = -1, largest: bool = True, sorted: bool = True
) -> Found:
    """The k largest (or smallest) elements along an axis in order, and their indices."""
    if not input.ndim:
        return xp.array(input), xp.zeros((), xp.int64)
    order = order_along(xp, input, dim, largest)[(slice(None),) * dim + (slice(0, k),)]
    return xp.take_along_axis(input, order, dim), order


def _kth_spec(input: Spec, k: int, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
    _check_k("kthvalue", input, dim, k, 1)
    tail = input.shape[dim + 1 :]
    shape = (*input.shape[:dim], *((1,) if keepdim else ()), *tail) if input.shape else ()
    return input.with_(shape=shape), input.with_(shape=shape, dtype=int64)


@primitive(
    vjp(
        input=lambda g_values, indices, dim, input_spec: selected_gradient(
            g_values, indices, dim, input_spec
        )
    ),
    spec=_kth_spec,
    outputs=("values", "indices"),
    family="along",
    exact=True,
    formula="g put back where the value stood",
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
        return xp.full((), float("nan") if input.dtype.kind in "fV" else -(2**63)).astype(
            input.dtype
        )
    return _median(xp, input.reshape(-1), 0, False, skip_nan)[0]


def _equal_to(g: Any, input: Any, out: Any, spec: Spec) -> Any:
    """g in equal parts to the elements equal to the median, NaN equal to NaN."""
    return shared_gradient(g, (input == out) | ((out != out) & (input != input)), None, spec)


@reduction(
    vjp(input=lambda g, input, out, input_spec: _equal_to(g, input, out, input_spec)),
    takes=REAL,
    formula="g in equal parts to the elements equal to the median",
)
def median(xp: Any, input: Array) -> Array:
    """The median of all elements, the lower of two; NaN if there is one."""
    return _median_of_all(xp, input, False)


@reduction(
    vjp(
        input=lambda g_values, indices, dim, input_spec: selected_gradient(
            g_values, indices, dim, input_spec
        )
    ),
    name="median",
    takes=REAL,
    nonempty=True,
    outputs=("values", "indices"),
    results=(same, to_index),
    grad_name="MedianBackward1",
)
def median_along(xp: Any, input: Array, dim: Dim, keepdim: bool = False) -> Found:
    """The medians along an axis, the lower of two, and their indices."""
    return _median(xp, input, dim, keepdim, False)


@reduction(
    vjp(input=lambda g, input, out, input_spec: _equal_to(g, input, out, input_spec)),
    takes=REAL,
    formula="g in equal parts to the elements equal to the median",
)
def nanmedian(xp: Any, input: Array) -> Array:
    """The median of all elements that are not NaN, the lower of two."""
    return _median_of_all(xp, input, True)


@reduction(
    vjp(
        input=lambda g_values, indices, dim, input_spec: selected_gradient(
            g_values, indices, dim, input_spec
        )
    ),
    name="nanmedian",
    takes=REAL,
    nonempty=True,
    outputs=("values", "indices"),
    results=(same, to_index),
    grad_name="NanmedianBackward1",
)
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


@reduction(
    vjp(
        input=lambda g_values, indices, dim, input_spec: selected_gradient(
            g_values, indices, dim, input_spec
        )
    ),
    takes=REAL,
    nonempty=True,
    outputs=("values", "indices"),
    results=(same, to_index),
    formula="g put back where the value stood",
)
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
