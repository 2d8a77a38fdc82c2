"""Rows of a table looked up by index: embedding, one_hot."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading, leading_of, parts
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, elementwise, internal
from gradwire_engine.inplace import write
from gradwire_engine.mode import no_grad
from gradwire_engine.ops.accumulate import in_range
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.creation import full
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.gather import check_whole, index_select, rows_sum
from gradwire_engine.ops.known import elements
from gradwire_engine.ops.norms import vector_norm
from gradwire_engine.ops.scatter import scatter_at
from gradwire_engine.rule import vjp
from gradwire_engine.spec import DType, Spec, bool_, int64


def _looked_up(input: Spec, weight: Spec) -> Spec:
    check_whole("embedding", input)
    if len(weight.shape) != 2:
        raise shape_mismatch(
            f"embedding: the weight must be a matrix, its shape is {list(weight.shape)}",
            "give it one row for each index",
        )
    return Spec((*input.shape, weight.shape[1]), weight.dtype, "")


@internal(spec=lambda index, size, dtype: Spec((index.size, 1), dtype, ""))
def row_shares(
    xp: Any, index: Array, size: int, padding: int | None, by_frequency: bool, dtype: DType
) -> Array:
    """What each looked-up row gives back of its gradient: nothing if padding, less if frequent."""
    places = index.reshape(-1)
    shares = xp.ones(places.shape, xp.float64)
    if by_frequency:
        shares = 1.0 / xp.bincount(places, minlength=size)[places]
    if padding is not None:
        shares = xp.where(places == padding, 0.0, shares)
    return shares.reshape(-1, 1)


@elementwise(vjp("rows: g", rows=lambda g: g), public=False, inplace=False)
def by_frequency_once(xp: Any, rows: Array, shares: Array) -> Array:
    """Rows times their shares; as in torch the next derivative doesn't know of the shares."""
    return rows * shares


def _table_gradient(
    g: Any, input: Any, padding_idx: int | None, scale_grad_by_freq: bool, weight_spec: Spec
) -> Any:
    (size, width), dtype = weight_spec.shape, weight_spec.dtype
    padding = padding_idx if padding_idx is None or padding_idx >= 0 else padding_idx + size
    rows = reshape(g, (prod(input.shape), width))
    if padding is not None:
        rows = rows * row_shares(input, size, padding, False, dtype)
    if scale_grad_by_freq:
        rows = by_frequency_once(rows, row_shares(input, size, None, True, dtype))
    return rows_sum(rows, reshape(input, (prod(input.shape),)), 0, weight_spec.shape)


def _rows_of_each(
    input: Any, weight: Any, padding_idx: int | None, scale_grad_by_freq: bool
) -> Any:
    """The same where each example has a table, or frequencies, of its own."""
    index, size = reshape(input, (-1,)), weight.shape[0]
    rows = index_select(weight, 0, index)
    if padding_idx is not None or scale_grad_by_freq:
        padding = None if padding_idx is None else padding_idx % size
        shares = row_shares(index, size, padding, scale_grad_by_freq, weight.dtype)
        rows = mul(rows, shares) + mul(rows, 1 - shares).detach()
    return reshape(rows, (*input.shape, weight.shape[1]))


def _looked_up_in_each(b: Any) -> Any:
    if b.batched("weight") or b["scale_grad_by_freq"]:
        return parts(_rows_of_each)(b)
    return leading_of("input")(b)


@internal(
    vjp(weight=_table_gradient),
    spec=_looked_up,
    fallible=True,
    exact=True,
    grad_name="EmbeddingBackward0",
    formula="weight: g added at the rows looked up",
    batch=_looked_up_in_each,
)
def embedding_rows(
    xp: Any, input: Array, weight: Array, padding_idx: int | None, scale_grad_by_freq: bool
) -> Array:
    """The rows of weight that input names."""
    in_range("embedding", input, weight.shape[0], dim=0, negative=False)
    return xp.take(weight, input, axis=0)


def padding_row(asked: str, weight: Any, padding_idx: int | None) -> int | None:
    """The row that padding_idx names, counted from the front; it has to be one of the weight's."""
    rows = weight.shape[0] if weight.ndim else 0
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise invalid_argument(
            f"{asked}: padding_idx is {padding_idx}, the weight has {rows} rows",
            "it must name one of them",
            raised=AssertionError if asked == "embedding" else RuntimeError,
        )
    return padding_idx if padding_idx is None or padding_idx >= 0 else padding_idx + rows


@internal(
    spec=lambda input, rows: Spec((rows,), bool_, ""),
    fallible=True,
    batch=parts(lambda input, rows: _named_in_each(input, rows)),
)
def named_rows(xp: Any, input: Array, rows: int) -> Array:
    """Whether an index names each row."""
    in_range("embedding", input, rows, dim=0, negative=False)
    named = xp.zeros(rows, bool)
    named[input.reshape(-1)] = True
    return named


def _named_in_each(input: Any, rows: int) -> Any:
    nowhere = full((rows,), False, dtype=bool_, device=input.device)
    return scatter_at(nowhere, 0, reshape(input, (-1,)), True)


def renormed(asked: str, input: Any, weight: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows that input names down to a norm, in the weight itself."""
    with no_grad():
        norms = vector_norm(weight, norm_type, (1,), True)
        larger = where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        named = reshape(named_rows(input, weight.shape[0]), (weight.shape[0], 1))
        write(asked, weight, weight * where(named, larger, 1.0))


@composite(name="nn.functional.embedding", real_gradients=True)
def embedding(
    input: Array,
    weight: Array,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    """The rows of weight that the indices in input name; the row padding_idx gets no gradient."""
    if sparse:
        raise invalid_argument(
            "embedding: sparse gradients are not supported",
            "leave sparse out",
            raised=NotImplementedError,
        )
    padding_row("embedding", weight, padding_idx)
    if max_norm is not None:
        renormed("embedding", input, weight, max_norm, norm_type)
    return embedding_rows(input, weight, padding_idx, scale_grad_by_freq)


@internal(
    spec=lambda input, classes: Spec((*input.shape, classes), int64, ""),
    fallible=True,
    batch=leading,
)
def one_hot_of(xp: Any, input: Array, classes: int) -> Array:
    """A 1 at the place each index names, among so many classes."""
    in_range("one_hot", input, classes, dim=-1, negative=False, raised=RuntimeError)
    return input[..., None] == xp.arange(classes)


@composite(name="nn.functional.one_hot", data_dependent=True)
def one_hot(tensor: Array, num_classes: int = -1) -> Array:
    """Vectors of zeros with a 1 at the place each index names; -1: as many as the indices need."""
    dtype = getattr(tensor.dtype, "numpy", tensor.dtype)
    if dtype != int64.numpy:
        raise dtype_mismatch(f"one_hot: takes int64, not {tensor.dtype}", "convert it")
    if num_classes < -1:
        raise invalid_argument(f"one_hot: {num_classes} classes", "give a number > 0")
    return one_hot_of(tensor, _classes(tensor) if num_classes == -1 else num_classes)


def _classes(input: Any) -> int:
    found = elements("one_hot", input, "give num_classes")
    if not found.size:
        raise invalid_argument("one_hot: no index to count the classes by", "give num_classes")
    return int(found.max()) + 1
