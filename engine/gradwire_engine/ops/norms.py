"""Norms of vectors, over any axes, with torch's choices where a norm has no derivative."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from gradwire_engine.accepted import norm_dtype
from gradwire_engine.arrays import Array
from gradwire_engine.families import INEXACT, reduction
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.arithmetic import div, mul
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import isnan
from gradwire_engine.ops.expand import with_kept_dims
from gradwire_engine.ops.extremes import amax, amin, shared_gradient
from gradwire_engine.ops.power import pow
from gradwire_engine.ops.sign import abs, sgn
from gradwire_engine.rule import nothing_where, vjp
from gradwire_engine.signature import Dims
from gradwire_engine.spec import DType, Spec, real_of


@one_pass(lambda g, input, norm: mul(g, where(norm == 0, 0, div(input, norm))))
def by_length(xp: Any, g: Array, input: Array, norm: Array) -> Array:
    """The gradient of the length of vectors: along them, and 0 where there is no length."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return input * (g * xp.where(norm == 0, 0, 1 / norm).astype(norm.dtype))


def _norm_gradient(g: Any, input: Any, out: Any, ord: float, dim: Dims | None, spec: Spec) -> Any:
    """As in torch, 0 where the norm is 0 and its derivative has none; the next one is NaN there."""
    norm, g = with_kept_dims(out, dim, spec.shape), with_kept_dims(g, dim, spec.shape)
    if ord == 1:
        return mul(g, sgn(input))
    if ord == 2:
        return by_length(g, input, norm)
    size = abs(input)
    if ord < 1:
        scaled = where(size == 0, 0, mul(sgn(input), pow(size, ord - 1)))
        return mul(scaled, mul(g, pow(norm, 1 - ord)))
    factor = where(norm == 0, 0, div(g, pow(norm, ord - 1)))
    return mul(mul(sgn(input), pow(size, ord - 1)), factor)


def _extreme_gradient(g: Any, input: Any, ord: float, dim: Dims | None, spec: Spec) -> Any:
    size = abs(input)  # which may be rounded otherwise than when `out` was found
    found = (amax if ord > 0 else amin)(size, dim or (), True)
    real = spec.with_(dtype=real_of(spec.dtype))
    same = (size == found) | (isnan(size) & isnan(found))
    return mul(shared_gradient(g, same, dim, real), sgn(input))


def _any_norm_gradient(g: Any, x: Any, out: Any, ord: float, dim: Dims | None, x_spec: Spec) -> Any:
    """Of a count of elements, which the norm is with ord 0, nothing goes back, as in torch."""
    if ord in (inf, -inf):
        return _extreme_gradient(g, x, ord, dim, x_spec)
    return _norm_gradient(g, x, out, ord, dim, x_spec)


@reduction(
    vjp(x=nothing_where(lambda ord: ord == 0, _any_norm_gradient)),
    name="linalg.vector_norm",
    takes=INEXACT,
    first=lambda named: norm_dtype("linalg.vector_norm", named["x"].dtype, named["dtype"]),
    result=real_of,
    nonempty=lambda named: named["ord"] < 0 or named["ord"] == inf,
    formula="g sgn(x) |x|^(p-1) / out^(p-1)",
)
def vector_norm(
    xp: Any,
    x: Array,
    ord: float = 2,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    """The p-norm over some axes, or over all: the p-th root of the sum of |x|^p."""
    over = {"axis": dim or None, "keepdims": keepdim}
    if ord == 0:
        return xp.sum(x != 0, **over)
    size = xp.abs(x)
    if ord in (inf, -inf):
        if not size.size and ord == inf:
            return size.sum(**over)
        return size.max(**over) if ord > 0 else size.min(**over)
    if ord == 1:
        return size.sum(**over)
    if ord == 2:
        return xp.sqrt((size * size).sum(**over))
    return (size**ord).sum(**over) ** (1 / ord)
