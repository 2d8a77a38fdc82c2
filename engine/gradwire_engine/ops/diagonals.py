"""Diagonals written into zeros, or read as copies: diag, diag_embed, diagflat."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import parts
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, internal
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.views import diagonal, placed
from gradwire_engine.rule import vjp
from gradwire_engine.signature import axis
from gradwire_engine.spec import Spec


@composite(grad_name="DiagEmbedBackward0")
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices with the last axis of the input along a diagonal and zeros elsewhere."""
    ndim = input.ndim + 1
    first, second = (axis("diag_embed", d, ndim) for d in (dim1, dim2))
    if first == second or not input.ndim:
        raise invalid_argument(
            f"diag_embed: dims {dim1} and {dim2} for a tensor with {input.ndim} axes",
            "name two different axes of the result, which has one more",
        )
    size = input.shape[-1] + abs(offset)
    rest = iter(input.shape[:-1])
    shape = tuple(size if i in (first, second) else next(rest) for i in range(ndim))
    return placed(input, shape, "diagonal", (offset, first, second))


@composite()
def diag(input: Array, diagonal: int = 0) -> Array:
    """Of a vector the matrix with it on a diagonal, of a matrix its diagonal, as a copy."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise invalid_argument(
            f"diag: takes a vector or a matrix, the tensor has {input.ndim} axes",
            "use diagonal or diag_embed for batches",
        )
    return diagonal_copy(input, diagonal)


def _length(input: Spec, offset: int) -> Spec:
    rows, columns = input.shape
    return input.with_(shape=(max(min(rows + min(offset, 0), columns - max(offset, 0)), 0),))


@internal(
    vjp(
        input=lambda g, offset, input_spec: placed(g, input_spec.shape, "diagonal", (offset, 0, 1))
    ),
    spec=_length,
    exact=True,
    grad_name="DiagonalBackward0_copy",
    formula="zeros but for the diagonal, which is g",
    batch=parts(lambda input, offset: diagonal(input, offset, 0, 1)),
)
def diagonal_copy(xp: Any, input: Array, offset: int) -> Array:
    """A matrix's diagonal, as a copy."""
    return xp.diagonal(input, offset).copy()


@composite()
def diagflat(input: Array, offset: int = 0) -> Array:
    """The matrix with all elements of the input along a diagonal."""
    return diag_embed(reshape(input, (-1,)), offset)
