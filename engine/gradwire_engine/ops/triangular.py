"""Triangular and Cholesky factors, and systems of equations solved with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading, stacked
from gradwire_engine.errors import error
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.kernels.singularity import (
    first_not_positive,
    first_zero,
    not_positive,
    singular,
)
from gradwire_engine.kernels.substitution import substituted
from gradwire_engine.laid import COLUMNS, Given, Lies
from gradwire_engine.op import Inferred
from gradwire_engine.ops.arithmetic import mul, neg
from gradwire_engine.ops.arrange import tril, triu
from gradwire_engine.ops.axes import mH as adjoint
from gradwire_engine.ops.axes import mT
from gradwire_engine.ops.expand import called, expand
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.square import each_matrix, need_matrices
from gradwire_engine.order import Order
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec, int32

if TYPE_CHECKING:
    from gradwire_engine.call import Call


def _triangle(x: Any, upper: bool, unitriangular: bool) -> Any:
    """The part of a gradient that a triangular operand has a say in."""
    if upper:
        return triu(x, 1 if unitriangular else 0)
    return tril(x, -1 if unitriangular else 0)


def _system_spec(asked: str, **operands: Spec) -> Inferred:
    """Of a system with a triangular matrix, the first operand, for the second."""
    (name, A), (other, B) = operands.items()
    need_matrices(asked, A, square=True)
    need_matrices(asked, B)
    if A.dtype is not B.dtype or A.shape[-1] != B.shape[-2]:
        raise error(
            "shape_mismatch" if A.dtype is B.dtype else "dtype_mismatch",
            f"{asked}: {name} is {A}, {other} is {B}",
            f"they need one dtype, and {other} as many rows as {name}",
        )
    batch = broadcast_shapes(asked, A.shape[:-2], B.shape[:-2])
    return Inferred(B.with_(shape=(*batch, *B.shape[-2:])))


def _triangular_gradients(
    g: Any, A: Any, out: Any, upper: bool, unitriangular: bool, needs: tuple[bool, ...]
) -> tuple[Any, Any]:
    to_right = triangular_system(adjoint(A), g, not upper, unitriangular)
    if not needs[0]:
        return None, to_right
    return _triangle(neg(matmul(to_right, adjoint(out))), upper, unitriangular), to_right


def _back_substituted(
    xp: Any, a: Array, b: Array, upper: bool, unitriangular: bool
) -> tuple[Array]:
    """One system; where a 0 stands on the diagonal the result is not finite."""
    if not unitriangular and bool(xp.any(xp.diagonal(a) == 0)):
        return (substituted(xp, a, b, upper=upper, unit=False),)
    found = xp.scipy_linalg.solve_triangular(
        a, b, lower=not upper, unit_diagonal=unitriangular, check_finite=False
    )
    return (found,)


def _ordered(call: Call, given: Given) -> Order:
    """By columns, but where the last argument says that the result will be seen transposed."""
    return None if call.arguments[-1] else COLUMNS.rule(call, given)  # type: ignore[return-value]


_by_rows_or_columns = Lies(_ordered, anyway=True)


@internal(
    vjp(joint=_triangular_gradients),
    spec=lambda A, B: _system_spec("linalg.solve_triangular", A=A, B=B),
    name="linalg.solve_triangular",
    batch=stacked(A=2, B=2),
    lies=_by_rows_or_columns,
)
def triangular_system(
    xp: Any, A: Array, B: Array, upper: bool, unitriangular: bool, rows: bool = False
) -> Array:
    """The X of each triangular system A X = B; the other triangle of A is not read.

    rows: X is row-major, as it will be seen transposed.
    """
    batch = broadcast_shapes("linalg.solve_triangular", A.shape[:-2], B.shape[:-2])
    a = xp.broadcast_to(A, (*batch, *A.shape[-2:]))
    b = xp.broadcast_to(B, (*batch, *B.shape[-2:]))
    if not b.size:
        return xp.zeros(b.shape, b.dtype)
    return each_matrix(xp, lambda m, v: _back_substituted(xp, m, v, upper, unitriangular), a, b)[0]


@composite(name="linalg.solve_triangular", grad_name="LinalgSolveTriangularBackward0")
def solve_triangular(
    A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """The X of each system A X = B (or X A = B) with a triangular A."""
    if left:
        return triangular_system(A, B, upper, unitriangular)
    return mT(triangular_system(mT(A), mT(B), not upper, unitriangular, True))


class Solved(NamedTuple):
    """What triangular_solve gives: the solution, and the triangular operand again."""

    solution: Any
    cloned_coefficient: Any


@composite()
def triangular_solve(
    input: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Solved:
    """The X of each triangular system A X = input (Aᵀ X = input), and A."""
    matrix = mT(A) if transpose else A
    found = triangular_system(matrix, input, upper is not transpose, unitriangular)
    size = (*found.shape[:-2], *A.shape[-2:])
    return Solved(found, A if A.shape == size else expand(A, size))


def _cholesky_gradient(g: Any, out: Any) -> Any:
    """Of a symmetric matrix: the same share for both elements that are one."""
    lower = tril(matmul(adjoint(out), g))
    inner = mul(lower + adjoint(tril(lower, -1)), 0.5)
    left = triangular_system(adjoint(out), inner, True, False)
    return adjoint(triangular_system(adjoint(out), adjoint(left), True, False))


@internal(
    vjp(A=_cholesky_gradient),
    spec=lambda A: need_matrices("linalg.cholesky", A, square=True),
    name="linalg.cholesky",
    fallible=True,
    grad_name="LinalgCholeskyExBackward0",
    batch=leading,
    lies=_by_rows_or_columns,
)
def lower_factor(xp: Any, A: Array, upper: bool) -> Array:
    """The lower triangular L of each A = L Lᴴ; reads only one triangle of A."""
    lower = xp.conjugate(A.swapaxes(-1, -2)) if upper else A
    found = _positive_factor(xp, lower)
    if found is None:
        raise not_positive(xp, lower)
    return found


def _positive_factor(xp: Any, A: Array) -> Array | None:
    """The lower factors; None where a matrix is not positive definite."""
    try:
        found: Array = xp.linalg.cholesky(A)
    except xp.linalg.LinAlgError:
        return None
    return None if xp.isnan(xp.diagonal(found, 0, -2, -1)).any() else found


def _factor(A: Any, upper: bool) -> Any:
    found = lower_factor(A, upper)
    return adjoint(found) if upper else found


@composite(name="linalg.cholesky", grad_name="LinalgCholeskyExBackward0")
def linalg_cholesky(A: Array, *, upper: bool = False) -> Array:
    """The triangular Cholesky factor of each positive definite matrix."""
    return _factor(A, upper)


@composite(grad_name="CholeskyBackward0")
def cholesky(input: Array, upper: bool = False) -> Array:
    """The triangular Cholesky factor of each positive definite matrix."""
    return _factor(input, upper)


def _factor_or_not(xp: Any, a: Array) -> tuple[Array, Array]:
    """The factor and 0; as far as there is one, as LAPACK leaves it, and where it ends."""
    order = first_not_positive(xp, a)
    if not order:
        return xp.linalg.cholesky(a), xp.asarray(0)
    found, m = xp.tril(a), order - 1
    found[:m, :m] = xp.linalg.cholesky(a[:m, :m])
    found[m:, :m] = a[m:, :m] @ xp.conjugate(xp.linalg.inv(found[:m, :m]).T)
    found[m, m] = found[m, m].real - (xp.abs(found[m, :m]) ** 2).sum()
    return found, xp.asarray(order)


@internal(
    vjp(A=lambda g_L, L: _cholesky_gradient(g_L, L)),
    spec=lambda A: (
        need_matrices("linalg.cholesky_ex", A, square=True),
        Spec(A.shape[:-2], int32, ""),
    ),
    outputs=("L", "info"),
    grad_name="LinalgCholeskyExBackward0",
    batch=leading,
    lies=_by_rows_or_columns,
)
def factor_or_not(xp: Any, A: Array, upper: bool) -> tuple[Array, Array]:
    """The lower triangular factor of each matrix, and the first minor that is not positive."""
    lower = xp.conjugate(A.swapaxes(-1, -2)) if upper else A
    whole = _positive_factor(xp, lower)
    if whole is not None:
        return whole, xp.zeros(A.shape[:-2], xp.int32)
    found, info = each_matrix(xp, lambda a: _factor_or_not(xp, a), lower)
    return found, info.astype(xp.int32)


class Factored(NamedTuple):
    """What linalg.cholesky_ex gives."""

    L: Any
    info: Any


@composite(name="linalg.cholesky_ex")
def cholesky_ex(A: Array, *, upper: bool = False, check_errors: bool = False) -> Factored:
    """The Cholesky factor of each matrix, and an info that is not 0 where there is none."""
    found, info = factor_or_not(A, upper)
    if check_errors:
        return Factored(linalg_cholesky(A, upper=upper), info)
    turned = called("LinalgCholeskyExBackward0", adjoint(found)) if upper else found
    return Factored(turned, info)


def _factored_gradients(
    g: Any, L: Any, out: Any, upper: bool, needs: tuple[bool, ...]
) -> tuple[Any, Any]:
    """Of all elements of L, as torch has it, though only one triangle is read."""
    to_right = cholesky_solve(g, L, upper)
    if not needs[1]:
        return to_right, None
    both = matmul(to_right, adjoint(out))
    both = both + adjoint(both)
    return to_right, neg(matmul(L, both) if upper else matmul(both, L))


@primitive(
    vjp("A⁻¹ g; -(c + cᴴ) L with c = A⁻¹ g outᴴ", joint=_factored_gradients),
    spec=lambda input, L: _system_spec("cholesky_solve", L=L, input=input),
    batch=stacked(input=2, L=2),
)
def cholesky_solve(xp: Any, input: Array, L: Array, upper: bool = False) -> Array:
    """The X of each system A X = input, where A is given by its Cholesky factor."""
    other = xp.conjugate(L.swapaxes(-1, -2))
    first, second = (other, L) if upper else (L, other)
    half = triangular_system.kernel(xp, first, input, False, False)
    return triangular_system.kernel(xp, second, half, True, False)


def _inverse_gradient(g: Any, input: Any, out: Any, upper: bool) -> Any:
    both = matmul(out, matmul(g + adjoint(g), out))
    return neg(matmul(input, both) if upper else matmul(both, input))


@primitive(
    vjp("-A⁻¹ (g + gᴴ) A⁻¹ input", input=_inverse_gradient),
    spec=lambda input: need_matrices("cholesky_inverse", input, square=True),
    fallible=True,
    batch=leading,
)
def cholesky_inverse(xp: Any, input: Array, upper: bool = False) -> Array:
    """The inverse of each matrix whose Cholesky factor is given."""
    diagonal = xp.arange(input.shape[-1])
    if (input[..., diagonal, diagonal] == 0).any():
        raise singular(xp, input, "the inversion could not be completed", first_zero)
    ones = xp.eye(input.shape[-1], dtype=input.dtype)
    found = triangular_system.kernel(xp, input, ones, upper, False)
    found[..., diagonal, diagonal] = found[..., diagonal, diagonal].real  # as of a true factor
    other = xp.conjugate(found.swapaxes(-1, -2))
    return found @ other if upper else other @ found
