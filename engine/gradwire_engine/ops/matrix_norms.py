"""Norms of matrices, condition numbers, and torch's norm of anything."""

from __future__ import annotations

from math import inf
from typing import Any

from gradwire_engine.accepted import BOOLS, HALVES, norm_dtype, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite, reduced_shape
from gradwire_engine.ops.arithmetic import div, mul
from gradwire_engine.ops.axes import movedim, squeeze, unsqueeze
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import isnan
from gradwire_engine.ops.cumulative import cumprod
from gradwire_engine.ops.expand import expand, reshape, sum
from gradwire_engine.ops.extremes import amax, amin
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.norms import vector_norm
from gradwire_engine.ops.sign import abs
from gradwire_engine.ops.spectrum import svdvals
from gradwire_engine.ops.square import inv_ex
from gradwire_engine.ops.views import zeros_of
from gradwire_engine.signature import Data, Dims, Ints, axis
from gradwire_engine.spec import DTYPES, DType


def _bad_order(asked: str, ord: Any) -> Exception:
    return invalid_argument(
        f"{asked}: {ord!r} is no order of a matrix norm",
        "it is 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2",
    )


def _extreme(sizes: Any, ord: Any, dims: Ints, keepdim: bool = False) -> Any:
    """The largest or smallest of sizes, by the order's sign; the largest of none is a mere 0."""
    if ord > 0 and any(not sizes.shape[dim] for dim in dims):
        return zeros_of(sizes, reduced_shape("linalg.matrix_norm", sizes.shape, dims, keepdim))
    return (amax if ord > 0 else amin)(sizes, dims, keepdim)


def _singular_norm(A: Any, ord: Any, pair: Ints, keepdim: bool) -> Any:
    """Norms of the singular values: their sum, the largest, the smallest."""
    values = svdvals(movedim(A, pair, (A.ndim - 2, A.ndim - 1)))
    last = (values.ndim - 1,)
    found = sum(values, last) if ord == "nuc" else _extreme(values, ord, last)
    if not keepdim:
        return found
    return reshape(found, tuple(1 if i in pair else n for i, n in enumerate(A.shape)))


def _sum_norm(A: Any, ord: float, pair: Ints, keepdim: bool) -> Any:
    """The largest (smallest) of the sums of sizes down columns (1) or along rows (inf)."""
    folded, left = pair if ord in (1, -1) else (pair[1], pair[0])
    sums = sum(abs(A), (folded,), keepdim)
    return _extreme(sums, ord, (left - (folded < left and not keepdim),), keepdim)


def _matrix_norm(asked: str, A: Any, ord: Any, dim: Ints, keepdim: bool, dtype: Any) -> Any:
    pair = tuple(axis(asked, d, A.ndim) for d in dim) if A.ndim > 1 else ()
    if len(set(pair)) != 2:
        raise shape_mismatch(
            f"{asked}: dims {list(dim)} of {list(A.shape)} are no matrix", "name two different axes"
        )
    norm_dtype(asked, DTYPES[A.dtype.name], dtype)
    if ord in ("nuc", 2, -2):
        refuse(asked, (HALVES,), A, raised=RuntimeError)
    if dtype is not None:
        A = to_dtype(A, dtype)
    if ord == "fro":
        return vector_norm(A, 2, pair, keepdim)
    if ord == "nuc" or ord in (2, -2):
        return _singular_norm(A, ord, pair, keepdim)
    if ord in (1, -1, inf, -inf):
        return _sum_norm(A, ord, pair, keepdim)
    raise _bad_order(asked, ord)


def _number(asked: str, order: Any) -> Any:
    """The order, if it is a number."""
    if not isinstance(order, int | float):
        raise _bad_order(asked, order)
    return order


@composite(name="linalg.matrix_norm")
def matrix_norm(
    A: Array,
    ord: Data = "fro",
    dim: Ints = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    """A norm of each matrix in two axes: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    return _matrix_norm("linalg.matrix_norm", A, ord, dim, keepdim, dtype)


@composite(name="linalg.norm")
def linalg_norm(
    A: Array,
    ord: Data = None,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    """A norm of vectors or matrices; of all elements as one vector where nothing else is said."""
    if dim is not None and len(dim) not in (1, 2):
        raise invalid_argument(
            f"linalg.norm: dim names {len(dim)} axes",
            "name one or two; leave dim out for all elements, or use linalg.vector_norm",
        )
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is not None:
        count = len(dim)
    else:
        count, dim = A.ndim, tuple(range(A.ndim))
    if count not in (1, 2) or (isinstance(ord, str) and count == 1):
        raise invalid_argument(
            f"linalg.norm: order {ord!r} over {count} axes of {list(A.shape)}",
            "an order goes with one axis (a number) or two; leave it out for all elements",
        )
    if count == 1:
        return vector_norm(A, _number("linalg.norm", ord), dim, keepdim, dtype=dtype)
    return _matrix_norm("linalg.norm", A, ord, dim, keepdim, dtype)


@composite()
def norm(
    input: Array,
    p: Data = "fro",
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    """A p-norm over some axes, or over all; 'fro' is 2, 'nuc' the sum of singular values."""
    if hasattr(p, "shape"):
        raise _bad_order("norm", p)
    if p == "nuc":
        pair = tuple(range(input.ndim)) if dim is None else dim
        return _matrix_norm("norm", input, "nuc", pair, keepdim, dtype)
    if isinstance(p, str) and p != "fro":
        raise _bad_order("norm", p)
    if p == "fro" and dim is not None and len(dim) > 2:
        raise invalid_argument(
            f"norm: 'fro' is of vectors and matrices, dim names {len(dim)} axes",
            "p=2 goes over any number of axes",
        )
    order = 2 if p in ("fro", None) else _number("norm", p)
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


@composite(name="linalg.cond")
def cond(A: Array, p: Data = None) -> Array:
    """The condition number of each matrix: its norm times that of its inverse."""
    if A.ndim < 2:
        raise shape_mismatch(
            f"linalg.cond: {list(A.shape)} are no matrices",
            "it takes matrices in the last two axes",
        )
    if 0 in A.shape and not isinstance(p, str):
        return sum(abs(A), (A.ndim - 2, A.ndim - 1))
    if p is None or p in (2, -2):
        values = svdvals(A)
        last = (values.ndim - 1,)
        largest, smallest = amax(values, last, True), amin(values, last, True)
        return squeeze(div(smallest, largest) if p == -2 else div(largest, smallest), last[0])
    dims = (A.ndim - 2, A.ndim - 1)
    own = _matrix_norm("linalg.cond", A, p, dims, False, None)
    inverse, info = inv_ex(A)
    if p == "nuc":
        return mul(own, sum(div(1, svdvals(A)), (A.ndim - 2,)))
    inverse = where(unsqueeze(unsqueeze(info, -1), -1) > 0, float("inf"), inverse)
    found = mul(own, _matrix_norm("linalg.cond", inverse, p, dims, False, None))
    return where(isnan(found), float("inf"), found)


@composite(name="linalg.vander")
def vander(x: Array, *, N: int | None = None) -> Array:
    """The powers 0 to N - 1 of each element, in a new last axis."""
    refuse("linalg.vander", (BOOLS, HALVES), x, raised=RuntimeError)
    x = x if x.ndim else reshape(x, (1,))
    count = x.shape[-1] if N is None else N
    if count < 2:
        raise invalid_argument(
            f"linalg.vander: N is {N}, x is {list(x.shape)}", "N must be greater than 1"
        )
    ones = reshape(x * 0 + 1, (*x.shape, 1))
    steps = expand(reshape(x, (*x.shape, 1)), (*x.shape, count - 1))
    return cumprod(cat([ones, steps], x.ndim), x.ndim)
