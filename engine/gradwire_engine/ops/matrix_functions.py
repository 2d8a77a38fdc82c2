"""Powers, exponentials and generalised inverses of matrices."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading, stacked
from gradwire_engine.errors import shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.ops.arithmetic import mul, sub
from gradwire_engine.ops.axes import mH as adjoint
from gradwire_engine.ops.diagonals import diag_embed
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.index_write import fill
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.square import each_matrix, inv, need_matrices
from gradwire_engine.ops.views import narrow
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec, float32, int64

E = "linalg."


def _identity_like(A: Any) -> Any:
    ones = fill(narrow(A, A.ndim - 1, 0, 1), 1)
    return diag_embed(reshape(ones, A.shape[:-1]))


@composite(space=E, aliases=("matrix_power",))
def matrix_power(A: Array, n: int) -> Array:
    """Each square matrix times itself, n times; its inverse where n is negative."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise shape_mismatch(
            f"linalg.matrix_power: {list(A.shape)} is not square",
            "it takes square matrices in the last two axes",
        )
    if n == 0:
        return _identity_like(A)
    step, left = (inv(A), -n) if n < 0 else (A, n)
    found = None
    while left:
        if left & 1:
            found = step if found is None else matmul(found, step)
        left >>= 1
        step = matmul(step, step) if left else step
    return found


def _exp_gradient(g: Any, A: Any) -> Any:
    """The corner of exp of [[Aᴴ, g], [0, Aᴴ]] (R. Mathias, 1996)."""
    n, turned = A.shape[-1], adjoint(A)
    last = A.ndim - 1
    upper = cat([turned, g], last)
    lower = cat([mul(g, 0), turned], last)
    whole = matrix_exp(cat([upper, lower], last - 1))
    return narrow(narrow(whole, last, n, n), last - 1, 0, n)


def _exp_spec(A: Spec) -> Spec:
    """Halves are worked out in float32, as all that is not left to LAPACK."""
    wide = A.with_(dtype=float32) if A.dtype.half else A
    return need_matrices("linalg.matrix_exp", wide, square=True).with_(dtype=A.dtype)


@primitive(
    vjp("a corner of exp([[Aᴴ, g], [0, Aᴴ]])", A=_exp_gradient),
    spec=_exp_spec,
    name="linalg.matrix_exp",
    aliases=("matrix_exp",),
    batch=leading,
)
def matrix_exp(xp: Any, A: Array) -> Array:
    """The exponential of each square matrix."""
    if not A.size:
        return A.copy()
    return each_matrix(xp, lambda a: (_exponential(xp, a),), A)[0]


def _exponential(xp: Any, a: Array) -> Array:
    """NaN throughout where an element is not finite: the series has no sum."""
    return xp.scipy_linalg.expm(a) if xp.isfinite(a).all() else xp.full_like(a, xp.nan)


def _pinv_gradient(g: Any, A: Any, out: Any) -> Any:
    """Golub and Pereyra's derivative of the pseudo-inverse, transposed; the rank is constant."""
    p, turned = adjoint(out), adjoint(g)
    direct = matmul(p, matmul(g, p))
    rows = matmul(turned, matmul(out, p))
    columns = matmul(p, matmul(out, turned))
    found = sub(rows, matmul(A, matmul(out, rows))) - direct
    return found + sub(columns, matmul(matmul(columns, out), A))


EPSILON = {"float32": 2**-23, "float64": 2**-52, "complex64": 2**-23, "complex128": 2**-52}
"""The distance from 1 to the next number of a dtype's parts."""


def _floor(xp: Any, A: Array, largest: Array, atol: Array | None, rtol: Array | None) -> Array:
    """Up to where singular values count as 0, with torch's defaults; one axis more than a batch."""
    small = max(A.shape[-2:]) * EPSILON[A.dtype.name]
    absolute = xp.asarray(0.0 if atol is None else atol)[..., None]
    relative = xp.where(absolute > 0, 0.0, small) if rtol is None else xp.asarray(rtol)[..., None]
    return xp.maximum(relative * largest, absolute)


def _hermitian_values(xp: Any, A: Array) -> tuple[Array, Array, Array]:
    """Singular values with their vectors, by the lower triangle alone; NaN where that has one."""
    odd = xp.isnan(xp.tril(A)).any(axis=(-2, -1), keepdims=True)
    values, u = xp.linalg.eigh(xp.where(odd, 0, A).astype(A.dtype))
    order = xp.argsort(-xp.abs(values), axis=-1)
    u = xp.take_along_axis(u, order[..., None, :], -1)
    values = xp.take_along_axis(values, order, -1)
    turned = xp.where(values < 0, -1, 1).astype(values.dtype)[..., None]
    vh = turned * xp.conjugate(u.swapaxes(-1, -2))
    return u, xp.abs(values), xp.where(odd, xp.nan, vh).astype(A.dtype)


@internal(
    vjp(A=_pinv_gradient),
    spec=lambda A: need_matrices("linalg.pinv", A).with_(
        shape=(*A.shape[:-2], A.shape[-1], A.shape[-2])
    ),
    name="linalg.pinv",
    fallible=True,
    batch=stacked(A=2, atol=0, rtol=0),
)
def pseudo_inverse(
    xp: Any, A: Array, atol: Array | None, rtol: Array | None, hermitian: bool
) -> Array:
    """The pseudo-inverse of each matrix, without its smallest singular values."""
    if not A.size:
        return xp.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    u, s, vh = _hermitian_values(xp, A) if hermitian else xp.linalg.svd(A, False)
    kept = s > _floor(xp, A, s[..., :1], atol, rtol)
    inverse = xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(s.dtype)
    left = xp.conjugate(vh.swapaxes(-1, -2)) * inverse[..., None, :]
    return left @ xp.conjugate(u.swapaxes(-1, -2))


@composite(name="linalg.pinv", settled=("atol", "rtol"))
def pinv(
    A: Array, *, atol: Array | None = None, rtol: Array | None = None, hermitian: bool = False
) -> Array:
    """The pseudo-inverse of each matrix."""
    return pseudo_inverse(A, atol, rtol, hermitian)


@composite(name="linalg.pinv", settled=("rcond",))
def pinv_rcond(A: Array, rcond: Array, hermitian: bool = False) -> Array:
    """The pseudo-inverse of each matrix, without singular values below rcond times the largest."""
    return pinv(A, rtol=rcond, hermitian=hermitian)


@composite()
def pinverse(input: Array, rcond: float = 1e-15) -> Array:
    """The pseudo-inverse of each matrix."""
    return pseudo_inverse(input, None, rcond, False)


def _rank_spec(A: Spec) -> Spec:
    return Spec(need_matrices("linalg.matrix_rank", A).shape[:-2], int64, "")


@internal(spec=_rank_spec, fallible=True, batch=stacked(A=2, atol=0, rtol=0))
def rank_of(xp: Any, A: Array, atol: Array | None, rtol: Array | None, hermitian: bool) -> Array:
    """How many singular values of each matrix count as more than 0."""
    if not A.size:
        return xp.zeros(A.shape[:-2], xp.int64)
    if hermitian:
        s = xp.sort(xp.abs(xp.linalg.eigvalsh(A)), axis=-1)[..., ::-1]
    else:
        s = xp.linalg.svd(A, compute_uv=False)
    return (s > _floor(xp, A, s[..., :1], atol, rtol)).sum(-1)


@composite(name="linalg.matrix_rank")
def matrix_rank(
    A: Array, *, atol: Array | None = None, rtol: Array | None = None, hermitian: bool = False
) -> Array:
    """The numerical rank of each matrix: how many singular values count as more than 0."""
    return rank_of(A, atol, rtol, hermitian)


@composite(name="linalg.matrix_rank")
def matrix_rank_tol(A: Array, tol: Array, hermitian: bool = False) -> Array:
    """How many singular values of each matrix are larger than tol."""
    return rank_of(A, tol, 0.0, hermitian)
