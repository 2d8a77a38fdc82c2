"""Which matrix of a stack has no inverse or Cholesky factor, and where that shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from gradwire_engine.arrays import Array

Place = Callable[[Any, Array], int]
"""Where a matrix shows what it lacks, counted from 1; 0 if it lacks nothing."""


def first_zero_pivot(xp: Any, a: Array) -> int:
    """The first 0 on the diagonal of U in a = P L U, counted from 1; 0 if there is none."""
    return first_zero(xp, xp.scipy_linalg.lu(a, check_finite=False)[2])


def first_zero(xp: Any, triangle: Array) -> int:
    """The same of a matrix that is triangular."""
    zero = xp.diagonal(triangle) == 0
    return int(xp.argmax(zero)) + 1 if bool(zero.any()) else 0


def first_not_positive(xp: Any, a: Array) -> int:
    """The order of the first minor that is not positive definite; 0 if all are.

    Every minor that contains such a one is not positive definite either: so it is bisected.
    """
    n = a.shape[0]
    order = bisect_left(range(1, n + 1), True, key=lambda k: not _positive(xp, a[:k, :k])) + 1
    return order if order <= n else 0


def _positive(xp: Any, a: Array) -> bool:
    try:
        return not bool(xp.isnan(xp.diagonal(xp.linalg.cholesky(a))).any())
    except xp.linalg.LinAlgError:
        return False


def singular(xp: Any, A: Array, failed: str, place: Place = first_zero_pivot) -> Exception:
    """What is said of a stack with a singular matrix; failed: what can't be done with it."""
    batch, k = _first(xp, A, place)
    where = f"the diagonal element {k} is zero, " if k else ""
    return xp.linalg.LinAlgError(  # type: ignore[no-any-return]
        f"{batch}{where}{failed} because the input matrix is singular"
    )


def not_positive(xp: Any, A: Array) -> Exception:
    """What is said of a stack with a matrix that is not positive definite."""
    batch, k = _first(xp, A, first_not_positive)
    where = f" (the leading minor of order {k} is not positive-definite)" if k else ""
    return xp.linalg.LinAlgError(  # type: ignore[no-any-return]
        f"{batch}the factorization could not be completed because the input is not "
        f"positive-definite{where}"
    )


def _first(xp: Any, A: Array, place: Place) -> tuple[str, int]:
    """The first matrix that has such a place, in words where there are several; and the place."""
    for i, matrix in enumerate(A.reshape(-1, *A.shape[-2:])):
        found = place(xp, matrix)
        if found:
            return f"(Batch element {i}): " if A.ndim > 2 else "", found
    return "", 0
