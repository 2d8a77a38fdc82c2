"""LDL factors of symmetric and Hermitian matrices, as LAPACK packs them, and solving with them.

As in torch none of it has a derivative: linalg.solve has.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import dtype_mismatch, error, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.laid import COLUMNS, LIKE_FIRST
from gradwire_engine.long_calls import Functions
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.square import each_matrix, need_matrices
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.spec import Spec, int32


class Packed(NamedTuple):
    """L below the blocks of D, which stand on the diagonal; pivots as LAPACK gives them."""

    LD: Any
    pivots: Any


class PackedEx(NamedTuple):
    """As Packed, with the place of the first block of D that is 0; 0 if there is none."""

    LD: Any
    pivots: Any
    info: Any


_LAPACK = Functions("scipy.linalg.lapack")
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def _lapack(kind: str, step: str, a: np.ndarray, hermitian: bool) -> Any:
    """LAPACK's sytrf, hetrs, ... for the dtype of an array."""
    letters = "he" if hermitian and a.dtype.kind == "c" else "sy"
    return getattr(_LAPACK, f"{_LETTERS[a.dtype.name]}{letters}{kind}{step}")


def _on_host(x: Array) -> np.ndarray:
    """The elements on the host: no array library but SciPy hands out this part of LAPACK."""
    return x if isinstance(x, np.ndarray) else x.get()


def _factored(xp: Any, A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    a = _on_host(A)
    work, _ = _lapack("trf", "_lwork", a, hermitian)(len(a), lower=1)
    packed, pivots, info = _lapack("trf", "", a, hermitian)(a, lower=1, lwork=int(work.real))
    return (
        xp.asarray(np.tril(packed)),
        xp.asarray(pivots.astype(np.int32)),
        xp.asarray(np.array(info, np.int32)),
    )


def _factor_spec(A: Spec) -> tuple[Spec, Spec, Spec]:
    need_matrices("linalg.ldl_factor", A, square=True)
    return A, Spec(A.shape[:-1], int32, ""), Spec(A.shape[:-2], int32, "")


@internal(spec=_factor_spec, outputs=("LD", "pivots", "info"), batch=leading, lies=COLUMNS)
def packed_ldl(xp: Any, A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """LDL factors of the lower triangle of each matrix in one, with LAPACK's pivots and info."""
    if not A.size:
        rest = (xp.zeros(A.shape[:-1], xp.int32), xp.zeros(A.shape[:-2], xp.int32))
        return A.copy(), *rest
    packed, pivots, info = each_matrix(xp, lambda a: _factored(xp, a, hermitian), A)
    return packed, pivots, info


@internal(fallible=True, exact=True, batch=leading, lies=LIKE_FIRST)
def factored(xp: Any, LD: Array, info: Array, asked: str) -> Array:
    """The factors, if no block of D is 0."""
    if bool(xp.any(info > 0)):
        raise error(
            "numerical_error",
            f"{asked}: block {int(xp.max(info))} of D is 0, the matrix is singular",
            "linalg.ldl_factor_ex gives the factors all the same",
        )
    return LD


@composite(name="linalg.ldl_factor_ex")
def ldl_factor_ex(A: Array, *, hermitian: bool = False, check_errors: bool = False) -> PackedEx:
    """LDL factors of each matrix, their pivots, and where a block of D is 0."""
    LD, pivots, info = packed_ldl(A, hermitian)
    checked = factored(LD, info, "linalg.ldl_factor_ex") if check_errors else LD
    return PackedEx(checked, pivots, info)


@composite(name="linalg.ldl_factor")
def ldl_factor(A: Array, *, hermitian: bool = False) -> Packed:
    """LDL factors of each symmetric matrix, packed, and pivots; without a derivative."""
    LD, pivots, info = packed_ldl(A, hermitian)
    return Packed(factored(LD, info, "linalg.ldl_factor"), pivots)


def _misfit(LD: Spec, pivots: Spec, B: Spec) -> str | None:
    """What doesn't fit among the operands of ldl_solve."""
    if len(B.shape) < 2 or LD.shape[-1] != B.shape[-2]:
        return "B needs as many rows as LD has"
    return None if LD.shape[:-1] == pivots.shape else "pivots need LD's shape without its last axis"


def _solve_spec(LD: Spec, pivots: Spec, B: Spec) -> Spec:
    need_matrices("linalg.ldl_solve", LD, square=True)
    if LD.dtype != B.dtype or pivots.dtype.kind not in "iu":
        raise dtype_mismatch(
            f"linalg.ldl_solve: LD is {LD.dtype.name}, B {B.dtype.name}, pivots "
            f"{pivots.dtype.name}",
            "LD and B must be of one dtype, pivots whole numbers",
        )
    wrong = _misfit(LD, pivots, B)
    if wrong:
        raise shape_mismatch(
            f"linalg.ldl_solve: LD is {list(LD.shape)}, pivots {list(pivots.shape)}, B "
            f"{list(B.shape)}",
            wrong,
        )
    batch = broadcast_shapes("linalg.ldl_solve", LD.shape[:-2], B.shape[:-2])
    return B.with_(shape=(*batch, *B.shape[-2:]))


def _need_pivots(pivots: np.ndarray) -> None:
    """Refuse what LAPACK would follow out of the matrix: rows that there aren't, half a block."""
    n = pivots.shape[-1]
    for row in pivots.reshape(-1, n) if n else ():
        place = 0
        while place < n:
            pair = row[place] < 0
            if not 1 <= abs(int(row[place])) <= n or (
                pair and (place + 1 == n or row[place + 1] != row[place])
            ):
                raise invalid_argument(
                    f"linalg.ldl_solve: pivots {row.tolist()} are of no matrix with {n} rows",
                    "give them as linalg.ldl_factor does: 1 to n, or twice the same negative one",
                )
            place += 2 if pair else 1


def _solved_in_each(b: Any) -> Any:
    """Factors and pivots always come together, so both get the batch axis."""
    deepest = max(b.axes("LD"), b.axes("B"))
    cores = {"LD": 2, "pivots": 1, "B": 2}
    aligned = {}
    for name, core in cores.items():
        value, ndim = b.front(name), b.axes(name)
        between = (1,) * (deepest - 2 + core - ndim)
        aligned[name] = reshape(value, (b.size, *between, *b.operand(name).shape))
    return b.again(**aligned)


@primitive(spec=_solve_spec, name="linalg.ldl_solve", fallible=True, batch=_solved_in_each)
def ldl_solve(xp: Any, LD: Array, pivots: Array, B: Array, *, hermitian: bool = False) -> Array:
    """The X of each system A X = B with A given by its LDL factors; without a derivative."""
    factors, order, right = _on_host(LD), _on_host(pivots), _on_host(B)
    batch = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    n, width = right.shape[-2:]
    _need_pivots(order)
    out = np.zeros((prod(batch), n, width), right.dtype)
    if not out.size:
        return xp.asarray(out.reshape(*batch, n, width))
    factors = np.broadcast_to(factors, (*batch, n, n)).reshape(len(out), n, n)
    order = np.broadcast_to(order, (*batch, n)).reshape(len(out), n)
    right = np.broadcast_to(right, (*batch, n, width)).reshape(len(out), n, width)
    solve = _lapack("trs", "", factors, hermitian)
    for i in range(len(out)):
        out[i], _ = solve(factors[i], order[i], right[i], lower=1)
    return xp.asarray(out.reshape(*batch, n, width))
