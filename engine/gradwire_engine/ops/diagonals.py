"""Diagonals written into zeros, or read as copies: diag, diag_embed, diagflat."""

from __future__ import annotations

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite
from gradwire_engine.ops.cast import clone
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.views import diagonal, placed
from gradwire_engine.signature import axis


@composite(grad_name="DiagEmbedBackward0")
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices with the last axis of the input along a diagonal and zeros elsewhere."""
    ndim = input.ndim + 1
    first, second = (axis("diag_embed", d, ndim) for d in (dim1, dim2))
    if first == second or not input.ndim:
        raise error(
            "invalid_argument",
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
        raise error(
            "invalid_argument",
            f"diag: takes a vector or a matrix, the tensor has {input.ndim} axes",
            "use diagonal or diag_embed for batches",
        )
    return _copied(input, diagonal)


def _copied(input: Array, offset: int) -> Array:
    return clone(diagonal(input, offset, 0, 1))


@composite()
def diagflat(input: Array, offset: int = 0) -> Array:
    """The matrix with all elements of the input along a diagonal."""
    return diag_embed(reshape(input, (-1,)), offset)
