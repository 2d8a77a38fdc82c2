"""Decompositions of one large matrix by SciPy, whose LAPACK takes half as long as NumPy's for it.

Stacks and small matrices are NumPy's, which goes through a stack without Python in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.arrays import Array

LARGE = 64
"""Rows and columns from which on a matrix is large."""


def _large(*matrices: Array) -> bool:
    alone = all(type(m) is np.ndarray and m.ndim == 2 for m in matrices)
    return alone and min(matrices[0].shape) >= LARGE


def solved(xp: Any, A: Array, B: Array) -> Array:
    """The X of A X = B."""
    if not _large(A, B):
        return xp.linalg.solve(A, B)
    factor, substitute = xp.scipy_linalg.get_lapack_funcs(("getrf", "getrs"), (A, B))
    lu, pivots, info = factor(A)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return substitute(lu, pivots, B)[0]


def singular(xp: Any, A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """U, S and Vh of A = U diag(S) Vh."""
    if not _large(A):
        u, s, vh = xp.linalg.svd(A, full_matrices)
        return u, s, vh
    try:
        u, s, vh = xp.scipy_linalg.svd(A, full_matrices, check_finite=False)
    except ValueError as problem:  # what LAPACK says of NaN
        raise np.linalg.LinAlgError("SVD did not converge") from problem
    return u, s, vh
