"""QR and LU factors."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, primitive
from gradwire_engine.laid import COLUMNS
from gradwire_engine.ops.arithmetic import mul, sub
from gradwire_engine.ops.arrange import tril
from gradwire_engine.ops.axes import mH as adjoint
from gradwire_engine.ops.complex import real
from gradwire_engine.ops.diagonals import diag_embed
from gradwire_engine.ops.join import cat
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.spectrum import diagonals
from gradwire_engine.ops.square import need_matrices
from gradwire_engine.ops.triangular import triangular_system
from gradwire_engine.ops.views import narrow
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec


class QR(NamedTuple):
    """A = Q R."""

    Q: Any
    R: Any


def _qr_spec(A: Spec, mode: str) -> tuple[Spec, Spec]:
    need_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise invalid_argument(f"linalg.qr: mode is {mode!r}", "it is 'reduced', 'complete' or 'r'")
    *batch, m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    q = A.with_(shape=(0,) if mode == "r" else (*batch, m, k))
    return q, A.with_(shape=(*batch, k, n))


def _hermitian_from_lower(x: Any) -> Any:
    """The Hermitian matrix with this lower triangle."""
    low = tril(x, -1)
    return low + adjoint(low) + diag_embed(real(diagonals(x)))


def _square_qr_gradient(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """For R square: (g_Q + Q copyltu(R g_Rᴴ - g_Qᴴ Q)) R⁻ᴴ."""
    inner = sub(matmul(r, adjoint(g_r)), matmul(adjoint(g_q), q))
    total = g_q + matmul(q, _hermitian_from_lower(inner))
    return adjoint(triangular_system(r, adjoint(total), True, False))


def _wide_qr_gradient(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """For R = [U V]: Q (g_R + [L U⁻ᴴ 0]), L the lower half of K - Kᴴ for K = Qᴴ g_Q - g_R Rᴴ.

    Of L's last column nothing is left, so that the last element of U does not matter.
    """
    last = r.ndim - 1
    rows, columns = r.shape[-2:]
    inner = sub(matmul(adjoint(q), g_q), matmul(g_r, adjoint(r)))
    skew = sub(inner, adjoint(inner))
    low = tril(skew, -1) + diag_embed(mul(diagonals(skew), 0.5))
    turned = adjoint(triangular_system(narrow(r, last, 0, rows), adjoint(low), True, False))
    parts = [narrow(g_r, last, 0, rows) + turned, narrow(g_r, last, rows, columns - rows)]
    return matmul(q, cat(parts, last))


def _qr_gradient(g_q: Any, g_r: Any, A: Spec, q: Any, r: Any, mode: str) -> Any:
    rows, columns = A.shape[-2:]
    if mode == "r" or (mode == "complete" and rows > columns):
        raise invalid_argument(
            f"linalg.qr: mode {mode!r} of {list(A.shape)} has no derivative", "use mode='reduced'"
        )
    if rows >= columns:
        return _square_qr_gradient(g_q, g_r, q, r)
    return _wide_qr_gradient(g_q, g_r, q, r)


@primitive(
    vjp(A=lambda g_Q, g_R, Q, R, mode, A_spec: _qr_gradient(g_Q, g_R, A_spec, Q, R, mode)),
    spec=_qr_spec,
    name="linalg.qr",
    outputs=("Q", "R"),
    formula="(g_Q + Q copyltu(R g_Rᴴ - g_Qᴴ Q)) R⁻ᴴ",
    batch=leading,
    lies=COLUMNS,
)
def linalg_qr(xp: Any, A: Array, mode: str = "reduced") -> QR:
    """An orthogonal Q and an upper triangular R with A = Q R for each matrix."""
    if mode == "r":
        return QR(xp.zeros((0,), A.dtype), xp.linalg.qr(A, mode="r"))
    return QR(*xp.linalg.qr(A, mode=mode))


@composite()
def qr(input: Array, some: bool = True) -> QR:
    """An orthogonal Q and an upper triangular R with input = Q R for each matrix."""
    return linalg_qr(input, "reduced" if some else "complete")
