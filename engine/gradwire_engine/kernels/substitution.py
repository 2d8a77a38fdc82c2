"""Triangular systems row by row, for matrices that LAPACK's functions refuse as singular."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.arrays import Array


def substituted(xp: Any, a: Array, b: Array, *, upper: bool, unit: bool) -> Array:
    """The X of a triangular a X = b; where a 0 stands on the diagonal, it is not finite."""
    n, found = a.shape[0], xp.array(b)
    with np.errstate(all="ignore"):
        for k in range(n - 1, -1, -1) if upper else range(n):
            known = slice(k + 1, n) if upper else slice(0, k)
            found[k] -= a[k, known] @ found[known]
            if not unit:
                found[k] /= a[k, k]
    return found


def solved_anyway(xp: Any, a: Array, b: Array) -> Array:
    """The X of a X = b by LU factors: infinite or NaN where a is singular."""
    p, low, up = xp.scipy_linalg.lu(a, check_finite=False)
    first = substituted(xp, low, p.T @ b, upper=False, unit=True)
    return substituted(xp, up, first, upper=True, unit=False)


def spread_nan(xp: Any, found: Array, *operands: Array) -> Array:
    """A result that is NaN throughout for each matrix with a NaN, over which LAPACKs differ."""
    if not xp.isnan(found).any():
        return found
    for operand in operands:
        odd = xp.isnan(operand).any(axis=(-2, -1), keepdims=True)
        found = xp.where(odd, np.nan, found).astype(found.dtype)
    return found
