"""Products of Householder reflections, as LAPACK's QR leaves them."""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import HALVES, WHOLE, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import shape_mismatch
from gradwire_engine.families import composite
from gradwire_engine.ops.arithmetic import conj, mul, sub
from gradwire_engine.ops.arrange import tril
from gradwire_engine.ops.axes import mH
from gradwire_engine.ops.expand import expand, reshape, sum
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.sequences import eye
from gradwire_engine.ops.views import narrow


def _reflectors(A: Any, count: int) -> list[Any]:
    """The vectors of the reflections: 1 on the diagonal of A, what stands below it, 0 above."""
    rows, columns = A.shape[-2:]
    ones = eye(rows, columns, dtype=A.dtype, device=A.device)
    low = tril(A, -1) + ones
    return [narrow(low, low.ndim - 1, i, 1) for i in range(count)]


def _reflect(x: Any, v: Any, tau: Any) -> Any:
    """(1 - tau v vᴴ) x."""
    return sub(x, mul(tau, matmul(v, matmul(mH(v), x))))


def _applied(A: Any, tau: Any, x: Any, backwards: bool) -> Any:
    """H[0] H[1] ... x; or ...ᴴ, H[1]ᴴ H[0]ᴴ ... the adjoint of that, where `backwards`."""
    count = tau.shape[-1]
    vectors = _reflectors(A, count)
    order = range(count) if backwards else reversed(range(count))
    for i in order:
        scale = reshape(narrow(tau, tau.ndim - 1, i, 1), (*tau.shape[:-1], 1, 1))
        x = _reflect(x, vectors[i], conj(scale) if backwards else scale)
    return x


def _check(asked: str, A: Any, tau: Any) -> None:
    fits = A.ndim >= 2 and tau.ndim == A.ndim - 1 and tau.shape[:-1] == A.shape[:-2]
    if not fits or tau.shape[-1] > A.shape[-1] or A.dtype != tau.dtype:
        raise shape_mismatch(
            f"{asked}: A is {A.dtype.name}{list(A.shape)}, tau is {tau.dtype.name}"
            f"{list(tau.shape)}",
            "tau has a number for each of at most as many columns as A has, in A's dtype",
        )


@composite(
    name="linalg.householder_product",
    aliases=("orgqr",),
    grad_name="LinalgHouseholderProductBackward0",
)
def householder_product(A: Array, tau: Array) -> Array:
    """The first columns of the product of the reflections 1 - tau[i] v[i] v[i]ᴴ."""
    _check("linalg.householder_product", A, tau)
    refuse("linalg.householder_product", (*WHOLE, HALVES), A)
    rows, columns = A.shape[-2:]
    if columns > rows:
        raise shape_mismatch(
            f"linalg.householder_product: A is {list(A.shape)}",
            "it needs at least as many rows as columns",
        )
    whole = expand(eye(rows, columns, dtype=A.dtype, device=A.device), A.shape)
    if not tau.shape[-1]:  # a constant; but as in torch it requires grad where an operand does
        return whole + sum(tau) + sum(narrow(A, A.ndim - 1, 0, 0))
    return _applied(A, tau, whole, False)


@composite(grad_name="OrmqrBackward0")
def ormqr(
    input: Array, tau: Array, other: Array, left: bool = True, transpose: bool = False
) -> Array:
    """The product of the reflections, or its adjoint, times other (left) or after it."""
    _check("ormqr", input, tau)
    refuse("ormqr", (*WHOLE, HALVES), input)
    if left:
        return _applied(input, tau, other, transpose)
    return mH(_applied(input, tau, mH(other), not transpose))
