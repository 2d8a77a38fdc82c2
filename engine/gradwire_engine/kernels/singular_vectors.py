"""The gradient of a singular value decomposition on arrays: what ops/spectrum.py has as a formula.

Without a node, a view or a look at shapes for each of its thirty operations.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.long_calls import matmul


def gradient(xp: Any, g_u: Array, g_s: Array, g_vh: Array, u: Array, s: Array, vh: Array) -> Array:
    """The gradient of A = u diag(s) vh, of stacks of matrices."""
    k = s.shape[-1]
    u, g_u, vh, g_vh = u[..., :k], g_u[..., :k], vh[..., :k, :], g_vh[..., :k, :]
    lying, standing = _adjoint(u), _adjoint(vh)
    along_u, along_v = matmul(xp, lying, g_u), matmul(xp, vh, _adjoint(g_vh))
    left, right = along_u - _adjoint(along_u), along_v - _adjoint(along_v)
    row, column = s[..., None, :], s[..., :, None]
    squares = s * s
    gaps = squares[..., None, :] - squares[..., :, None]
    _diagonals(gaps)[...] = 1
    inner = _over(xp, left, gaps) * row
    inner += _over(xp, right, gaps) * column
    on = _diagonals(inner)
    on += g_s
    if u.dtype.kind == "c":
        on += _over(xp, _diagonals(left), s * 2)
    found: Array = matmul(xp, matmul(xp, u, inner), vh)
    if u.shape[-2] > k:
        found += matmul(xp, _over(xp, g_u - matmul(xp, u, along_u), row), vh)
    if vh.shape[-1] > k:
        outside = g_vh - matmul(xp, matmul(xp, g_vh, standing), vh)
        found += matmul(xp, u, _over(xp, outside, column))
    return found


def _adjoint(x: Array) -> Array:
    turned = x.swapaxes(-1, -2)
    return turned.conj() if x.dtype.kind == "c" else turned


def _diagonals(x: Array) -> Array:
    """A view of the diagonal of each of these row-major square matrices."""
    return x.reshape(*x.shape[:-2], x.shape[-1] ** 2)[..., :: x.shape[-1] + 1]


def _over(xp: Any, x: Array, y: Array) -> Array:
    """x / y, but 0 for 0 / 0: what has no cotangent needs no vectors to be determined."""
    zero = y == 0
    return x / (xp.where(zero & (x == 0), xp.ones((), y.dtype), y) if bool(zero.any()) else y)
