"""Decompositions of one large matrix by SciPy, whose LAPACK takes half as long as NumPy's for it.

NumPy's works in double precision whatever it is given. Stacks and small matrices are NumPy's all
the same, which goes through a stack without Python in between.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.blas_threads import of_lapack
from gradwire_engine.long_calls import lapack

LARGE = 64
"""Rows and columns from which on a matrix is large."""

ALONE = 1 << 20
"""Elements up to which one thread does not take longer than several."""


def large(*matrices: Array) -> bool:
    """Whether these are single large matrices in this machine's memory."""
    alone = all(type(m) is np.ndarray and m.ndim == 2 for m in matrices)
    return alone and min(matrices[0].shape) >= LARGE


def on_one_thread(*stacks: Array) -> AbstractContextManager[None]:
    """SciPy's LAPACK on one thread, where matrices of these stacks are not that large.

    Some of its functions take all threads for three rows, and hundreds of times as long for it.
    """
    most = max(prod(s.shape[-2:]) for s in stacks)
    found = of_lapack() if most <= ALONE else None
    return nullcontext() if found is None else found.alone()


def factored(xp: Any, A: Array) -> tuple[Array, Array]:
    """LAPACK's LU factors of Aᵀ, packed and transposed, and its pivots counted from 0.

    What is row-major to NumPy is its transposed to LAPACK: so nothing is moved around in memory.
    """
    with on_one_thread(A):
        packed, pivots, info = lapack("getrf", A)(A.T)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return packed.T, pivots


def stacks_solved(xp: Any, A: Array, B: Array) -> Array:
    """The X of A X = B for stacks of matrices, one of which may stand for many of the other.

    CuPy takes but stacks of one shape.
    """
    if A.shape[:-2] != B.shape[:-2]:
        batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        A, B = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (A, B))
    return xp.linalg.solve(A, B)


def substituted(xp: Any, packed: Array, pivots: Array, B: Array, turned: bool) -> Array:
    """The X of A X = B, or turned of Aᵀ X = B, for the A of these factors."""
    substitute = lapack("getrs", packed, B)
    with on_one_thread(packed):
        found: Array = substitute(packed.T, pivots, B, trans=0 if turned else 1)[0]
    return found


def solved(xp: Any, A: Array, B: Array) -> Array:
    """The X of A X = B."""
    if not large(A, B):
        return stacks_solved(xp, A, B)
    return substituted(xp, *factored(xp, A), B, False)


def singular(xp: Any, A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """U, S and Vh of A = U diag(S) Vh."""
    if not large(A):
        u, s, vh = xp.linalg.svd(A, full_matrices)
        return u, s, vh
    try:
        with on_one_thread(A):
            u, s, vh = xp.scipy_linalg.svd(A, full_matrices, check_finite=False)
    except ValueError as problem:  # what LAPACK says of NaN
        raise np.linalg.LinAlgError("SVD did not converge") from problem
    return u, s, vh
