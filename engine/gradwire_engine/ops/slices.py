"""Writing whole slices along an axis, which a vector names: index_add, index_copy, index_fill."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along, by_vector, parts
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import primitive
from gradwire_engine.laid import LIKE_FIRST
from gradwire_engine.ops.accumulate import in_range
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where, zero_of
from gradwire_engine.ops.creation import fits, full
from gradwire_engine.ops.expand import reshape, sum
from gradwire_engine.ops.gather import (
    at,
    check_whole,
    front_places,
    index_select,
    raised,
    rows_sum,
    widened,
)
from gradwire_engine.ops.scatter import same_dtype, scatter_add, scatter_at
from gradwire_engine.promote import Weak
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dim
from gradwire_engine.spec import COMPLEX, INTEGER, Number, Spec, bool_, dtype_of, int64


def _copied_rows_fit(input: Spec, dim: int, index: Spec, source: Spec) -> Spec:
    """As for index_add; torch calls more of what is wrong an IndexError here."""
    axes, shape = (len(input.shape), len(source.shape)), source.shape
    early = (
        len(index.shape) > 1
        or (not shape and index.size != 1)
        or (0 not in axes and axes[0] != axes[1])
    )
    same = shape and input.shape and shape[:dim] == input.shape[:dim]
    late = same and shape[dim + 1 :] == input.shape[dim + 1 :] and index.size != shape[dim]
    alike = source.dtype is input.dtype and index.dtype.category == INTEGER
    if early or (alike and (late or (shape and not input.shape and index.size != shape[0]))):
        raise invalid_argument(
            f"index_copy: the tensor is {list(input.shape)}, the index {list(index.shape)}, "
            f"what is written {list(shape)}",
            "the index is a vector with an element for each slice that is written",
            raised=IndexError,
        )
    return _rows_fit("index_copy", input, dim, index, source)


def _rows_fit(asked: str, input: Spec, dim: int, index: Spec, source: Spec) -> Spec:
    same_dtype(asked, input, source)
    check_whole(asked, index, *((int64,) if asked == "index_copy" else ()))
    wanted = input.with_(shape=(*input.shape[:dim], index.size, *input.shape[dim + 1 :]))
    if len(index.shape) > 1 or (raised(source.shape) != raised(wanted.shape) and input.shape):
        raise shape_mismatch(
            f"{asked}: the tensor is {list(input.shape)}, the index {list(index.shape)}, "
            f"what is written {list(source.shape)}",
            f"the index is a vector, what is written has shape {list(wanted.shape)}",
        )
    if not input.shape and index.size != source.size:
        raise shape_mismatch(
            f"{asked}: {index.size} indices for {source.size} elements",
            "give an index for each element",
        )
    return input


def _added_rows_fit(input: Spec, dim: int, index: Spec, source: Spec) -> Spec:
    """As torch has it here: a source without axes goes to a tensor without axes only."""
    same_dtype("index_add", input, source)
    if not source.shape and index.size != 1:
        raise invalid_argument(
            f"index_add: {index.size} indices for a source without axes",
            "give a source with a slice for each index",
            raised=IndexError,
        )
    if (not source.shape or not input.shape) and source.shape != input.shape:
        raise shape_mismatch(
            f"index_add: the tensor is {list(input.shape)}, the source {list(source.shape)}",
            "they must have the same shape but for the axis indexed",
        )
    return _rows_fit("index_add", input, dim, index, source)


def _rows_put(write: Any, input: Any, dim: int, index: Any, source: Any) -> Any:
    """Slices written where each example has an index of its own."""
    source = source if input.shape else reshape(source, ())
    return write(input, dim, widened(index, dim, tuple(source.shape)), source)


def _rows_filled(input: Any, dim: int, index: Any, value: Any) -> Any:
    shape = tuple(input.shape)
    wide = widened(front_places(index, raised(shape)[dim]), dim, shape)
    nowhere = full(shape, False, dtype=bool_, device=input.device)
    filled = scatter_at(nowhere, dim, wide, True)  # once, also where the index says it twice
    value = to_dtype(value, input.dtype) if hasattr(value, "spec") else value
    return where(filled, value, input)


@primitive(
    vjp(
        "input: g; source: alpha g at the indexed slices",
        input=lambda g: g,
        source=lambda g, source, index, dim, alpha: reshape(
            _times(index_select(g, dim, index), alpha), tuple(source.shape)
        ),
    ),
    spec=_added_rows_fit,
    inplace=True,
    fallible=True,
    batch=by_vector(
        along("dim", alone=("index",)),
        parts(
            lambda input, dim, index, source, alpha: _rows_put(
                scatter_add, input, dim, index, _times(source, alpha)
            )
        ),
        "index",
    ),
)
def index_add(
    xp: Any, input: Array, dim: Dim, index: Array, source: Array, *, alpha: Number = 1
) -> Array:
    """Add slices of source, times alpha, to the slices of an axis that a vector names."""
    if input.size or input.ndim < 2:  # as in torch, which looks at no places of empty slices
        outer = input.ndim > 1 and dim in (0, input.ndim - 1)  # where torch uses scatter_add
        by_scatter = outer and alpha == 1 and index.dtype == xp.int64
        size, kind = raised(input.shape)[dim], RuntimeError if by_scatter else IndexError
        in_range("index_add", index, size, dim=dim, negative=False, raised=kind)
    else:
        return xp.array(input, order="C")
    added = rows_sum.kernel(xp, source, index, dim, input.shape)
    if alpha != 1:
        added = added * fits("index_add", alpha, dtype_of(input.dtype))
    return input + added


def _times(g: Any, alpha: Number) -> Any:
    return g if alpha == 1 else g * alpha


@primitive(
    vjp(
        "input: g with zeros at the indexed slices; source: g there",
        input=lambda g, index, dim: index_fill(g, dim, index, 0),
        source=lambda g, source, index, dim: reshape(
            index_select(g, dim, index), tuple(source.shape)
        ),
    ),
    spec=_copied_rows_fit,
    inplace=True,
    fallible=True,
    exact=True,
    batch=by_vector(
        along("dim", alone=("index",)),
        parts(lambda input, dim, index, source: _rows_put(scatter_at, input, dim, index, source)),
        "index",
    ),
    linear=True,
)
def index_copy(xp: Any, input: Array, dim: Dim, index: Array, source: Array) -> Array:
    """Put slices of source in place of the slices of an axis that a vector names."""
    out = xp.array(input, order="C")
    seen = out.reshape(raised(out.shape))
    if seen.shape[dim] and not seen.size:  # as in torch, which looks at no places of empty slices
        return out
    in_range("index_copy", index, seen.shape[dim], dim=dim, negative=False)
    seen[at(dim, index.reshape(-1))] = source.reshape(raised(source.shape))
    return out


def _fill_spec(input: Spec, index: Spec, value: Spec | Weak) -> Spec:
    check_whole("index_fill", index, int64, raised=IndexError)
    if len(index.shape) > 1 or value.shape:
        raise shape_mismatch(
            f"index_fill: the index has shape {list(index.shape)}, the value {list(value.shape)}",
            "the index is a vector, the value a number or a tensor without axes",
        )
    if value.dtype.category == COMPLEX != input.dtype.category:
        raise dtype_mismatch(
            f"index_fill: a {value.dtype.name} value for a {input.dtype.name} tensor",
            "convert the tensor",
        )
    return input


@primitive(
    vjp(
        "input: g with zeros at the indexed slices; value: the sum of g there",
        input=lambda g, index, dim: index_fill(g, dim, index, 0),
        value=lambda g, index, dim: sum(where(index_fill(zero_of(g), dim, index, 1) == 0, 0, g)),
    ),
    spec=_fill_spec,
    inplace=True,
    fallible=True,
    exact=True,
    grad_name=lambda named: f"IndexFillBackward{int(isinstance(named['value'], Spec))}",
    lies=LIKE_FIRST,
    batch=by_vector(along("dim", alone=("index", "value")), parts(_rows_filled), "index", "value"),
)
def index_fill(xp: Any, input: Array, dim: Dim, index: Array, value: Array) -> Array:
    """Fill the slices of an axis that a vector of indices names."""
    out = xp.array(input, order="C")
    seen = out.reshape(raised(out.shape))
    size = seen.shape[dim]
    if size and not out.size:  # each slice is empty, so torch never looks at the places
        return out
    in_range("index_fill", index, size, dim=dim, negative=True)
    if not hasattr(value, "dtype") or value.dtype != out.dtype:
        value = fits("index_fill", value, dtype_of(out.dtype))
    seen[at(dim, index.reshape(-1))] = value
    return out
