"""Square matrices: inverses, determinants, systems of equations."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading, stacked
from gradwire_engine.errors import dtype_mismatch, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.kernels import large_matrices
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.singularity import first_zero_pivot, singular
from gradwire_engine.kernels.substitution import solved_anyway, spread_nan
from gradwire_engine.laid import COLUMNS
from gradwire_engine.op import APPLY, Inferred
from gradwire_engine.ops.arithmetic import neg
from gradwire_engine.ops.axes import mH as adjoint
from gradwire_engine.ops.axes import mT, squeeze, unsqueeze
from gradwire_engine.ops.expand import called
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Data
from gradwire_engine.spec import Spec, complex64, complex128, float32, float64, int32

EXACT = (float32, float64, complex64, complex128)
"""The dtypes of linear algebra, as in LAPACK."""


def need_matrices(asked: str, A: Spec, *, square: bool = False) -> Spec:
    """Refuse what is not a stack of (square) matrices in one of LAPACK's dtypes."""
    if len(A.shape) < 2 or (square and A.shape[-1] != A.shape[-2]):
        raise shape_mismatch(
            f"{asked}: the operand is {list(A.shape)}",
            f"it takes {'square ' if square else ''}matrices in the last two axes",
        )
    if A.dtype not in EXACT:
        raise dtype_mismatch(
            f"{asked}: not defined for {A.dtype.name}",
            f"convert it to {', '.join(d.name for d in EXACT)}",
        )
    return A


def each_matrix(xp: Any, function: Any, *stacks: Array) -> tuple[Array, ...]:
    """What a function of one matrix each (and that gives a tuple) gives for stacks of them."""
    batch = stacks[0].shape[:-2]
    rows = [s.reshape(prod(batch), *s.shape[-2:]) for s in stacks]
    with large_matrices.on_one_thread(*stacks):
        found = [function(*matrices) for matrices in zip(*rows, strict=True)]
    columns = zip(*found, strict=True)
    return tuple(xp.stack(c).reshape((*batch, *c[0].shape)) for c in columns)


@primitive(
    vjp("-outᴴ g outᴴ", A=lambda g, out: neg(matmul(matmul(adjoint(out), g), adjoint(out)))),
    spec=lambda A: need_matrices("linalg.inv", A, square=True),
    name="linalg.inv",
    aliases=("inverse",),
    fallible=True,
    grad_name="LinalgInvExBackward0",
    batch=leading,
    lies=COLUMNS,
)
def inv(xp: Any, A: Array) -> Array:
    """The inverse of each square matrix."""
    try:
        return spread_nan(xp, xp.linalg.inv(A), A)
    except xp.linalg.LinAlgError:
        raise singular(xp, A, "the inversion could not be completed") from None


def _inv_ex_spec(A: Spec) -> tuple[Spec, Spec]:
    need_matrices("linalg.inv_ex", A, square=True)
    return A, Spec(A.shape[:-2], int32, "")


def _inverse_or_not(xp: Any, a: Array) -> tuple[Array, Array]:
    """The inverse and 0; of a singular matrix what is not finite, and which pivot is 0."""
    try:
        return spread_nan(xp, xp.linalg.inv(a), a), xp.asarray(0)
    except xp.linalg.LinAlgError:
        place = first_zero_pivot(xp, a)
        one = xp.eye(a.shape[0], dtype=a.dtype)
        return solved_anyway(xp, a, one), xp.asarray(place)


@primitive(
    vjp(
        A=lambda g_inverse, inverse: neg(
            matmul(matmul(adjoint(inverse), g_inverse), adjoint(inverse))
        )
    ),
    spec=_inv_ex_spec,
    name="linalg.inv_ex",
    outputs=("inverse", "info"),
    fallible=True,
    formula="-inverseᴴ g inverseᴴ",
    batch=leading,
    lies=COLUMNS,
)
def inv_ex(xp: Any, A: Array, *, check_errors: bool = False) -> tuple[Array, ...]:
    """The inverse of each square matrix, and an info that is not 0 where there is none."""
    fine = xp.zeros(A.shape[:-2], xp.int32)
    if check_errors:
        return inv.kernel(xp, A), fine
    try:
        return spread_nan(xp, xp.linalg.inv(A), A) if A.size else A.copy(), fine
    except xp.linalg.LinAlgError:  # of one of them: each by itself
        return each_matrix(xp, lambda a: _inverse_or_not(xp, a), A)


def _system_spec(A: Spec, B: Spec) -> Inferred:
    need_matrices("linalg.solve", A, square=True)
    need_matrices("linalg.solve", B)
    if A.dtype is not B.dtype:
        raise dtype_mismatch(
            f"linalg.solve: A is {A.dtype.name}, B is {B.dtype.name}", "convert one of them"
        )
    if A.shape[-1] != B.shape[-2]:
        raise shape_mismatch(
            f"linalg.solve: A is {list(A.shape)}, B is {list(B.shape)}", "B needs as many rows as A"
        )
    batch = broadcast_shapes("linalg.solve", A.shape[:-2], B.shape[:-2])
    return Inferred(B.with_(shape=(*batch, *B.shape[-2:])))


def _system_gradients(g: Any, A: Any, out: Any, needs: tuple[bool, ...]) -> tuple[Any, Any]:
    to_right = solve_system(adjoint(A), g)
    return neg(matmul(to_right, adjoint(out))) if needs[0] else None, to_right


@internal(
    vjp(joint=_system_gradients),
    spec=_system_spec,
    name="linalg.solve",
    fallible=True,
    grad_name="LinalgSolveExBackward0",
    batch=stacked(A=2, B=2),
    lies=COLUMNS,
)
def solve_system(xp: Any, A: Array, B: Array) -> Array:
    """The matrix X of each system A X = B."""
    try:
        return spread_nan(xp, large_matrices.solved(xp, A, B), A)
    except xp.linalg.LinAlgError:
        raise singular(xp, A, "the system could not be solved") from None


def _gradients_anyway(g: Any, A: Any, out: Any, needs: tuple[bool, ...]) -> tuple[Any, Any]:
    to_right = system_anyway(adjoint(A), g)
    return neg(matmul(to_right, adjoint(out))) if needs[0] else None, to_right


@internal(
    vjp(joint=_gradients_anyway),
    spec=_system_spec,
    grad_name="LinalgSolveExBackward0",
    batch=stacked(A=2, B=2),
    lies=COLUMNS,
)
def system_anyway(xp: Any, A: Array, B: Array) -> Array:
    """The matrix X of each system A X = B, which is not finite where A is singular."""
    try:
        return spread_nan(xp, large_matrices.stacks_solved(xp, A, B), A)
    except xp.linalg.LinAlgError:
        batch = broadcast_shapes("linalg.solve", A.shape[:-2], B.shape[:-2])
        stacks = [xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (A, B)]
        return each_matrix(xp, lambda a, b: (solved_anyway(xp, a, b),), *stacks)[0]


def _factored_spec(A: Spec, B: Spec) -> tuple[Spec, Spec, Spec]:
    found: Any = _system_spec(A, B).outputs
    return found, A, Spec(A.shape[:1], int32, "")


@one_pass(
    lambda g, A, out, LU, pivots, needs: _system_gradients(g, A, out, needs),
    lambda g, A, needs: (A if needs[0] else None, g),
)
def factored_gradients(
    xp: Any, g: Array, A: Array, out: Array, LU: Array, pivots: Array, needs: Data
) -> tuple[Any, Any]:
    """The same from A's factors."""
    to_right = xp.conj(large_matrices.substituted(xp, LU, pivots, xp.conj(g), True))
    return -xp.matmul(to_right, xp.conj(out.T)) if needs[0] else None, to_right


@internal(
    vjp(
        joint=lambda g_out, A, out, LU, pivots, needs: factored_gradients(
            g_out, A, out, LU, pivots, needs
        )
    ),
    spec=_factored_spec,
    outputs=("out", "LU", "pivots"),
    fallible=True,
    grad_name="LinalgSolveExBackward0",
    lies=COLUMNS,
)
def factored_system(xp: Any, A: Array, B: Array) -> tuple[Array, Array, Array]:
    """The matrix X of one large system A X = B, with A's factors, which the way back needs too."""
    try:
        factors = large_matrices.factored(xp, A)
    except xp.linalg.LinAlgError:
        raise singular(xp, A, "the system could not be solved") from None
    return large_matrices.substituted(xp, *factors, B, False), *factors


def _is_large(*matrices: Any) -> bool:
    """Whether these are single matrices of which LAPACK's factors are worth keeping."""
    plain = all(type(m) in APPLY and m.level == 0 and m.ndim == 2 for m in matrices)
    if not plain or matrices[0].shape[0] < large_matrices.LARGE:
        return False
    return matrices[0].device.partition(":")[0] != "cuda"


def _found(A: Any, B: Any) -> Any:
    return factored_system(A, B)[0] if _is_large(A, B) else solve_system(A, B)


def is_vector(A: Any, B: Any) -> bool:
    """Whether a right-hand side is a (stack of) vectors rather than matrices, as torch sees it."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def solved(A: Any, B: Any, left: bool, find: Any = _found) -> Any:
    """X of A X = B, or of X A = B; B may hold vectors."""
    vector = left and is_vector(A, B)
    right = unsqueeze(B, -1) if vector else B
    if not left:
        return mT(find(mT(A), mT(right)))
    found = find(A, right)
    return squeeze(found, found.ndim - 1) if vector else found


@composite(name="linalg.solve", grad_name="LinalgSolveExBackward0")
def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """The X of each system A X = B (or X A = B), for vectors or matrices B."""
    return solved(A, B, left)


class Solved(NamedTuple):
    """What linalg.solve_ex gives."""

    result: Any
    info: Any


@composite(name="linalg.solve_ex")
def solve_ex(A: Array, B: Array, *, left: bool = True, check_errors: bool = False) -> Solved:
    """The X of each system A X = B, and an info that is not 0 where A is singular."""
    found = solved(A, B, left) if check_errors else solved(A, B, left, system_anyway)
    return Solved(called("LinalgSolveExBackward0", found), inv_ex(A, check_errors=check_errors)[1])
