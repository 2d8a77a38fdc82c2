"""LU factors: found with pivots, taken apart, solved with."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import error, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal
from gradwire_engine.laid import COLUMNS
from gradwire_engine.ops.arithmetic import sub
from gradwire_engine.ops.arrange import tril, triu
from gradwire_engine.ops.axes import mH, mT
from gradwire_engine.ops.diagonals import diag_embed
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.spectrum import diagonals
from gradwire_engine.ops.square import each_matrix, need_matrices
from gradwire_engine.ops.triangular import triangular_system
from gradwire_engine.ops.views import narrow
from gradwire_engine.rule import vjp
from gradwire_engine.spec import INTEGER, DType, Spec, int32


class Factors(NamedTuple):
    """A = P L U."""

    P: Any
    L: Any
    U: Any


class Packed(NamedTuple):
    """L below the diagonal, U on and above it; pivots as LAPACK gives them, counted from 1."""

    LU: Any
    pivots: Any


class PackedEx(NamedTuple):
    """As Packed, with the place of the first pivot that is 0; 0 if there is none."""

    LU: Any
    pivots: Any
    info: Any


def _last(x: Any, start: int, size: int) -> Any:
    return narrow(x, x.ndim - 1, start, size)


def _rows(x: Any, start: int, size: int) -> Any:
    return narrow(x, x.ndim - 2, start, size)


def lower_of(packed: Any) -> Any:
    """L: what stands below the diagonal, and ones on it."""
    k = min(packed.shape[-2], packed.shape[-1])
    low = tril(_last(packed, 0, k), -1)
    return low + diag_embed_rows(diagonals(low) * 0 + 1, low.shape[-2])


def diag_embed_rows(values: Any, rows: int) -> Any:
    """A matrix with these values on its diagonal, and rows of zeros below to make up `rows`."""
    square = diag_embed(values)
    missing = rows - values.shape[-1]
    if not missing:
        return square
    zeros = square * 0
    parts = [square]
    while missing > 0:
        size = min(missing, values.shape[-1])
        parts.append(_rows(zeros, 0, size))
        missing -= size
    return cat(parts, square.ndim - 2)


def upper_of(packed: Any) -> Any:
    """U: what stands on and above the diagonal."""
    return triu(_rows(packed, 0, min(packed.shape[-2:])))


def _gradient(g: Any, packed: Any, pivots: Any) -> Any:
    """P L⁻ᴴ (tril(Lᴴ g_L, -1) + triu(g_U Uᴴ)) U⁻ᴴ, and what tall and wide matrices add to it."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    low, up = lower_of(packed), upper_of(packed)
    g_low, g_up = tril(_last(g, 0, k), -1), triu(_rows(g, 0, k))
    low1, up1 = _rows(low, 0, k), _last(up, 0, k)
    inner_low, inner_up = matmul(mH(low1), _rows(g_low, 0, k)), matmul(_last(g_up, 0, k), mH(up1))
    if n > k:
        inner_low = sub(inner_low, matmul(_last(g_up, k, n - k), mH(_last(up, k, n - k))))
    if m > k:
        inner_up = sub(inner_up, matmul(mH(_rows(low, k, m - k)), _rows(g_low, k, m - k)))
    inner = tril(inner_low, -1) + triu(inner_up)
    first = triangular_system(mH(low1), inner, True, True)
    found = mH(triangular_system(up1, mH(first), True, False))
    if n > k:
        right = triangular_system(mH(low1), _last(g_up, k, n - k), True, True)
        found = cat([found, right], found.ndim - 1)
    if m > k:
        below = mH(triangular_system(up1, mH(_rows(g_low, k, m - k)), True, False))
        found = cat([found, below], found.ndim - 2)
    return matmul(permutation(pivots, m, packed.dtype), found)


def _factor_spec(A: Spec) -> tuple[Spec, Spec]:
    need_matrices("linalg.lu_factor", A)
    return A, Spec((*A.shape[:-2], min(A.shape[-2:])), int32, "")


def _pivots(order: list[int], count: int) -> list[int]:
    """The swaps, in sequence, that bring rows into this order."""
    rows = list(range(len(order)))
    swaps = []
    for i in range(count):
        j = rows.index(order[i])
        rows[i], rows[j] = rows[j], rows[i]
        swaps.append(j + 1)
    return swaps


def _factored(xp: Any, a: Array) -> tuple[Array, Array]:
    p, low, up = xp.scipy_linalg.lu(a, check_finite=False)
    packed = xp.zeros(a.shape, a.dtype)
    k = min(a.shape)
    packed[:, :k] += xp.tril(low, -1)
    packed[:k, :] += up
    order = [int(i) for i in xp.argmax(p, axis=0)]
    return packed, xp.asarray(_pivots(order, k), dtype=xp.int32)


@internal(
    vjp(A=lambda g_LU, LU, pivots: _gradient(g_LU, LU, pivots)),
    spec=_factor_spec,
    outputs=("LU", "pivots"),
    fallible=True,
    grad_name="LinalgLuFactorExBackward0",
    batch=leading,
    lies=COLUMNS,
)
def packed_factors(xp: Any, A: Array, check_errors: bool = False) -> tuple[Array, Array]:
    """LU factors of each matrix in one, with LAPACK's pivots."""
    if not A.size:
        return A.copy(), xp.zeros((*A.shape[:-2], min(A.shape[-2:])), xp.int32)
    packed, pivots = each_matrix(xp, lambda a: _factored(xp, a), A)
    if check_errors and (xp.diagonal(packed, 0, -2, -1) == 0).any():
        raise error(
            "numerical_error",
            f"linalg.lu_factor: of {list(A.shape)} a matrix is singular: U has a 0 on its diagonal",
            "linalg.lu_factor_ex gives the factors all the same, and where the 0 stands",
        )
    return packed, pivots


def _permutation_spec(pivots: Spec, rows: int, dtype: DType) -> Spec:
    if pivots.dtype.category != INTEGER or not pivots.shape:
        raise invalid_argument(
            f"the pivots are {pivots}",
            "give the ones of lu_factor: integers, a row for each matrix",
        )
    return Spec((*pivots.shape[:-1], rows, rows), dtype, "")


@internal(spec=_permutation_spec, exact=True, batch=leading)
def permutation(xp: Any, pivots: Array, rows: int, dtype: DType) -> Array:
    """The permutation matrix P of A = P L U that a sequence of swaps stands for."""
    kind = getattr(dtype, "numpy", dtype)
    order = xp.broadcast_to(xp.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for i in range(pivots.shape[-1]):
        j = (pivots[..., i] - 1)[..., None]
        own, other = order[..., i : i + 1].copy(), xp.take_along_axis(order, j, -1)
        xp.put_along_axis(order, j, own, -1)
        order[..., i : i + 1] = other
    return (xp.arange(rows)[:, None] == order[..., None, :]).astype(kind)


@internal(spec=lambda LU: Spec(LU.shape[:-2], int32, ""), batch=leading)
def first_zero_pivot(xp: Any, LU: Array) -> Array:
    """Which diagonal element of U is the first 0, counted from 1; 0 if none is."""
    zero = xp.diagonal(LU, 0, -2, -1) == 0
    if not zero.shape[-1]:
        return xp.zeros(LU.shape[:-2], xp.int32)
    return xp.where(xp.any(zero, axis=-1), xp.argmax(zero, axis=-1) + 1, 0)


def _need_pivots(asked: str, pivot: bool) -> None:
    if not pivot:
        raise invalid_argument(
            f"{asked}: there are no factors without pivots here", "leave pivot=True"
        )


@composite(name="linalg.lu_factor")
def lu_factor(A: Array, *, pivot: bool = True) -> Packed:
    """LU factors of each matrix, packed into one, with their pivots."""
    _need_pivots("linalg.lu_factor", pivot)
    return Packed(*packed_factors(A, True))


@composite(name="linalg.lu_factor_ex")
def lu_factor_ex(A: Array, *, pivot: bool = True, check_errors: bool = False) -> PackedEx:
    """LU factors of each matrix, their pivots, and where a pivot is 0."""
    _need_pivots("linalg.lu_factor_ex", pivot)
    packed, pivots = packed_factors(A, check_errors)
    return PackedEx(packed, pivots, first_zero_pivot(packed))


@composite(name="linalg.lu")
def linalg_lu(A: Array, *, pivot: bool = True) -> Factors:
    """A permutation and triangular factors of each matrix: A = P L U."""
    _need_pivots("linalg.lu", pivot)
    packed, pivots = packed_factors(A)
    rows = A.shape[-2]
    return Factors(permutation(pivots, rows, A.dtype), lower_of(packed), upper_of(packed))


@composite()
def lu(A: Array, pivot: bool = True, get_infos: bool = False) -> tuple[Array, Array] | PackedEx:
    """LU factors of each matrix, packed into one, with their pivots."""
    found: PackedEx = lu_factor_ex(A, pivot=pivot)
    return found if get_infos else (found.LU, found.pivots)


@composite()
def lu_unpack(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> Factors:
    """The permutation and the triangular factors out of packed ones; empty where not wanted."""
    if len(LU_data.shape) < 2:
        raise shape_mismatch(
            f"lu_unpack: LU_data must be a matrix, not {list(LU_data.shape)}",
            "give what lu_factor gave",
        )
    empty = narrow(LU_data.detach(), 0, 0, 0)
    rows = LU_data.shape[-2]
    return Factors(
        permutation(LU_pivots, rows, LU_data.dtype) if unpack_pivots else empty,
        lower_of(LU_data) if unpack_data else empty,
        upper_of(LU_data) if unpack_data else empty,
    )


@composite(name="linalg.lu_solve", grad_name="LinalgLuSolveBackward0")
def linalg_lu_solve(
    LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False
) -> Array:
    """The X of each system A X = B (Aᴴ X = B; X A = B) with A given by its LU factors."""
    if not left:
        turned = mH(linalg_lu_solve(LU, pivots, mH(B), left=True, adjoint=not adjoint))
        return turned
    low, up = lower_of(LU), upper_of(LU)
    p = permutation(pivots, LU.shape[-2], LU.dtype)
    if adjoint:
        first = triangular_system(mH(up), B, False, False)
        return matmul(p, triangular_system(mH(low), first, True, True))
    first = triangular_system(low, matmul(mT(p), B), False, True)
    return triangular_system(up, first, True, False)


@composite()
def lu_solve(b: Array, LU_data: Array, LU_pivots: Array) -> Array:
    """The X of each system A X = b with A given by its LU factors."""
    return linalg_lu_solve(LU_data, LU_pivots, b)
