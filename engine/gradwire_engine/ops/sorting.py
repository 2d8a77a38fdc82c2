"""Sorting along an axis: sort, argsort, msort, topk.

NaN counts as larger than every number. Gradients go back to where each value was taken from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import composite, primitive
from gradwire_engine.laid import LIKE_FIRST
from gradwire_engine.ops.extremes import Found, put_along
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim
from gradwire_engine.spec import BOOL, COMPLEX, Spec, int64
from gradwire_engine.tape import Node


def _need_order(asked: str, input: Spec) -> None:
    if input.dtype.category == COMPLEX:
        raise dtype_mismatch(f"{asked}: complex numbers have no order", "sort abs(x)?")


def _sorted_spec(input: Spec) -> tuple[Spec, Spec]:
    _need_order("sort", input)
    return input, input.with_(dtype=int64)


def order_along(xp: Any, input: Array, dim: int, descending: bool) -> Array:
    """The indices that sort an axis, equal elements in the order they stand, NaN last."""
    if input.dtype.kind == "V":  # bfloat16: CuPy doesn't sort it, NumPy not its NaN
        input = input.astype(np.float32)
    if not descending:
        return xp.argsort(input, axis=dim, kind="stable")
    last = input.shape[dim] - 1
    turned = xp.argsort(xp.flip(input, dim), axis=dim, kind="stable")
    return last - xp.flip(turned, dim)


_RULE = vjp(
    "g put back where each value stood",
    input=lambda g_values, indices, dim, input_spec: put_along(
        g_values, indices, dim, input_spec.shape
    ),
)


@primitive(
    _RULE,
    spec=_sorted_spec,
    outputs=("values", "indices"),
    family="along",
    exact=True,
    lies=LIKE_FIRST,
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
    found = sort(input, dim, descending)
    node = getattr(found[0], "grad_fn", None)
    if type(node) is Node:
        node.annotate().label = "SortBackward1"  # to torch an op of its own
    return found


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


def check_k(asked: str, input: Spec, dim: int, k: int, least: int) -> None:
    """Refuse a rank or a count that an axis does not have."""
    size = input.shape[dim] if input.shape else 1
    if not least <= k <= size:
        raise invalid_argument(
            f"{asked}: k is {k}, the axis has {size} elements",
            f"k must lie between {least} and {size}",
        )
    _need_order(asked, input)


def _topk_spec(input: Spec, k: int, dim: int) -> tuple[Spec, Spec]:
    check_k("topk", input, dim, k, 0)
    if input.dtype.category == BOOL:
        raise dtype_mismatch("topk: not defined for bool tensors", "convert it first")
    shape = (*input.shape[:dim], k, *input.shape[dim + 1 :]) if input.shape else ()
    return input.with_(shape=shape), input.with_(shape=shape, dtype=int64)


@primitive(
    _RULE,
    spec=_topk_spec,
    outputs=("values", "indices"),
    family="along",
    exact=True,
)
def topk(
    xp: Any, input: Array, k: int, dim: Dim = -1, largest: bool = True, sorted: bool = True
) -> Found:
    """The k largest (or smallest) elements along an axis in order, and their indices."""
    if not input.ndim:
        return xp.array(input), xp.zeros((), xp.int64)
    order = order_along(xp, input, dim, largest)[(slice(None),) * dim + (slice(0, k),)]
    return xp.take_along_axis(input, order, dim), order
