"""QR and LU factors."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import error
from gradwire_engine.families import composite, primitive
from gradwire_engine.laid import COLUMNS
from gradwire_engine.ops.arithmetic import sub
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
        raise error(
            "invalid_argument", f"linalg.qr: mode is {mode!r}", "it is 'reduced', 'complete' or 'r'"
        )
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


def _qr_gradient(g_q: Any, g_r: Any, A: Any, q: Any, r: Any, mode: str) -> Any:
    rows, columns = A.shape[-2:]
    if mode == "r" or (mode == "complete" and rows > columns):
        raise error(
            "invalid_argument",
            f"linalg.qr: mode {mode!r} of {list(A.shape)} has no derivative",
            "use mode='reduced'",
        )
    if rows >= columns:
        return _square_qr_gradient(g_q, g_r, q, r)
    first, last = A.ndim - 1, columns - rows
    rest = narrow(A, first, rows, last)
    g_first, g_rest = narrow(g_r, first, 0, rows), narrow(g_r, first, rows, last)
    square = _square_qr_gradient(
        g_q + matmul(rest, adjoint(g_rest)), g_first, q, narrow(r, first, 0, rows)
    )
    return cat([square, matmul(q, g_rest)], first)


@primitive(
    vjp(A=lambda g_Q, g_R, A, Q, R, mode: _qr_gradient(g_Q, g_R, A, Q, R, mode)),
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
