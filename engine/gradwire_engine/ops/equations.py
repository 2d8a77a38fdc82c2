"""Least squares and equations between tensors."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import sub
from gradwire_engine.ops.axes import movedim, unsqueeze
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.expand import reshape, sum
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.matrix_functions import matrix_rank, pinv
from gradwire_engine.ops.power import square
from gradwire_engine.ops.sign import abs
from gradwire_engine.ops.spectrum import svdvals
from gradwire_engine.ops.square import inv, need_matrices, solved
from gradwire_engine.ops.views import narrow
from gradwire_engine.signature import Ints
from gradwire_engine.spec import int64

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


class LeastSquares(NamedTuple):
    """What linalg.lstsq gives; empty tensors where the driver would not work something out."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def _none_of(x: Any) -> Any:
    """An empty real vector."""
    return narrow(reshape(abs(x), (-1,)), 0, 0, 0)


@composite(name="linalg.lstsq", grad_name="LinalgLstsqBackward0")
def lstsq(
    A: Array, B: Array, rcond: float | None = None, *, driver: str | None = None
) -> LeastSquares:
    """The X with the least |A X - B|, the squared residuals, rank and singular values of A."""
    need_matrices("linalg.lstsq", A)
    how = driver or "gelsy"
    if how not in DRIVERS:
        raise invalid_argument(
            f"linalg.lstsq: driver is {driver!r}", f"it is one of {', '.join(DRIVERS)}"
        )
    vector = B.ndim == A.ndim - 1
    right = unsqueeze(B, -1) if vector else B
    found = matmul(pinv(A, rtol=rcond), right)
    tall = A.shape[-2] > A.shape[-1] and how != "gelsy"
    misses = sub(matmul(A, found), right) if tall else None
    return LeastSquares(
        reshape(found, found.shape[:-1]) if vector else found,
        sum(square(abs(misses)), (found.ndim - 2,)) if tall else _none_of(found),
        to_dtype(_none_of(found.detach()), int64) if how == "gels" else matrix_rank(A, rtol=rcond),
        svdvals(A.detach()) if how in ("gelsd", "gelss") else _none_of(found.detach()),
    )


@composite(space="linalg.")
def tensorinv(A: Array, ind: int = 2) -> Array:
    """The inverse of a tensor seen as a matrix of its first `ind` axes by the others."""
    first, second = A.shape[:ind], A.shape[ind:]
    if ind <= 0 or prod(first) != prod(second):
        raise shape_mismatch(
            f"linalg.tensorinv: {list(first)} and {list(second)} are not equally many elements",
            "the first `ind` axes have to hold as many as the others",
        )
    return reshape(inv(reshape(A, (prod(first), prod(second)))), (*second, *first))


@composite(space="linalg.")
def tensorsolve(A: Array, B: Array, dims: Ints | None = None) -> Array:
    """The X with tensordot(A, X, X.ndim) = B."""
    moved = A if dims is None else movedim(A, dims, tuple(range(A.ndim - len(dims), A.ndim)))
    shape = moved.shape[B.ndim :]
    if prod(shape) != prod(B.shape):
        raise shape_mismatch(
            f"linalg.tensorsolve: A is {list(moved.shape)}, B is {list(B.shape)}",
            "behind B's axes A needs as many elements as B has",
        )
    matrix = reshape(moved, (prod(B.shape), prod(shape)))
    return reshape(solved(matrix, reshape(B, (-1,)), True), shape)
