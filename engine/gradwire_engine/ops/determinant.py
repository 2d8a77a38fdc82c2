"""Determinants, whose gradient exists at singular matrices too, and their logarithms."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading, stacked
from gradwire_engine.errors import error
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.arithmetic import conj, is_complex, mul
from gradwire_engine.ops.axes import mH as adjoint
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.complex import imag
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.exponential import log
from gradwire_engine.ops.known import without_zeros
from gradwire_engine.ops.square import inv, inv_ex, need_matrices
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec, real_of


def _pairs_left_out(xp: Any, s: Array) -> Array:
    """For each two of the numbers in the last axis the product of all others; 0 on the diagonal."""
    count = s.shape[-1]
    one = xp.ones_like(s[..., :1])
    before = xp.cumprod(xp.concatenate([one, s[..., :-1]], -1), axis=-1)
    behind = xp.cumprod(xp.concatenate([one, s[..., :0:-1]], -1), axis=-1)[..., ::-1]
    found = xp.zeros((*s.shape, count), s.dtype)
    for i in range(count - 1):
        between = xp.cumprod(xp.concatenate([one, s[..., i + 1 : -1]], -1), axis=-1)
        found[..., i, i + 1 :] = before[..., i : i + 1] * between * behind[..., i + 1 :]
    return found + found.swapaxes(-1, -2)


def _no_further(g: Any, A: Any, direction: Any) -> Any:
    raise error(
        "numerical_error",
        "linalg.det: a third derivative at a singular matrix is not to be had",
        "move the matrix a little",
        raised=RuntimeError,
    )


@internal(
    vjp(A=_no_further, direction=lambda g, A: cofactor_change(A, g)),
    batch=stacked(A=2, direction=2),
    formula="the same of g for the direction; there is none for A",
)
def cofactor_change(xp: Any, A: Array, direction: Array) -> Array:
    """How the conjugated cofactors change along a direction, also at singular matrices."""
    u, s, vh = xp.linalg.svd(A)
    turned = xp.conjugate(u.swapaxes(-1, -2)) @ direction @ xp.conjugate(vh.swapaxes(-1, -2))
    pairs = _pairs_left_out(xp, s)
    along = pairs @ xp.diagonal(turned, 0, -2, -1)[..., None]
    inner = along * xp.eye(s.shape[-1], dtype=s.dtype) - pairs * turned.swapaxes(-1, -2)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    return xp.conjugate(phase)[..., None, None] * (u @ xp.conjugate(inner) @ vh)


@internal(vjp("their change along g", A=lambda g, A: cofactor_change(A, g)), batch=leading)
def cofactors(xp: Any, A: Array) -> Array:
    """The conjugated cofactors of each matrix, by its singular values: also of singular ones."""
    u, s, vh = xp.linalg.svd(A)
    before = xp.cumprod(xp.concatenate([xp.ones_like(s[..., :1]), s[..., :-1]], -1), axis=-1)
    turned = s[..., ::-1]
    behind = xp.cumprod(xp.concatenate([xp.ones_like(s[..., :1]), turned[..., :-1]], -1), axis=-1)
    others = (before * behind[..., ::-1])[..., None, :]
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    return xp.conjugate(phase)[..., None, None] * ((u * others) @ vh)


def _det_formula(g: Any, A: Any, out: Any) -> Any:
    if without_zeros(out) is False:
        return mul(reshape(g, (*g.shape, 1, 1)), cofactors(A))
    scale = mul(g, conj(out))
    return mul(reshape(scale, (*scale.shape, 1, 1)), adjoint(inv(A)))


@one_pass(_det_formula)
def det_gradient(xp: Any, g: Array, A: Array, out: Array) -> Array:
    """The gradient of the determinant: g times the conjugated cofactors, also where it is 0."""
    if A.size and bool(xp.any(out == 0)):
        return g[..., None, None] * cofactors.kernel(xp, A)
    return _det_formula(g, A, out)


@primitive(
    vjp("g conj(out) A⁻ᴴ", A=lambda g, A, out: det_gradient(g, A, out)),
    spec=lambda A: need_matrices("linalg.det", A, square=True).with_(shape=A.shape[:-2]),
    name="linalg.det",
    aliases=("det",),
    batch=leading,
)
def det(xp: Any, A: Array) -> Array:
    """The determinant of each square matrix."""
    return xp.linalg.det(A)


def _slogdet_spec(A: Spec) -> tuple[Spec, Spec]:
    need_matrices("linalg.slogdet", A, square=True)
    found = A.with_(shape=A.shape[:-2])
    return found, found.with_(dtype=real_of(A.dtype))


def _slogdet_formula(g_sign: Any, g_logabsdet: Any, A: Any, sign: Any) -> Any:
    scale = g_logabsdet
    if is_complex(A):
        scale = scale + imag(mul(g_sign, conj(sign))) * 1j
    return mul(reshape(scale, (*scale.shape, 1, 1)), inv_ex(adjoint(A))[0])


@one_pass(_slogdet_formula)
def slogdet_gradient(xp: Any, g_sign: Array, g_logabsdet: Array, A: Array, sign: Array) -> Array:
    """The gradient of the logarithm of a determinant's size, and where complex of its phase."""
    if A.dtype.kind == "c":
        return _slogdet_formula(g_sign, g_logabsdet, A, sign)
    return inv_ex.kernel(xp, A.swapaxes(-1, -2))[0] * g_logabsdet[..., None, None]


@primitive(
    vjp(
        "g A⁻ᴴ for the logarithm",
        A=lambda g_sign, g_logabsdet, A, sign: slogdet_gradient(g_sign, g_logabsdet, A, sign),
    ),
    spec=_slogdet_spec,
    name="linalg.slogdet",
    aliases=("slogdet",),
    outputs=("sign", "logabsdet"),
    batch=leading,
)
def slogdet(xp: Any, A: Array) -> tuple[Array, Array]:
    """Sign (or phase) of each determinant and the logarithm of its size."""
    sign, logarithm = xp.linalg.slogdet(A)
    if A.dtype.kind != "c":  # where the product of the signs has a NaN, LAPACKs differ
        sign = xp.where(xp.isnan(logarithm), 0, sign).astype(A.dtype)
    return sign, logarithm


@composite()
def logdet(input: Array) -> Array:
    """The logarithm of each determinant; NaN where that is negative."""
    sign, size = slogdet(input)
    if is_complex(sign):
        return log(sign) + size
    return where(sign == -1, float("nan"), size)
