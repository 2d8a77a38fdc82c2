"""Covariances and correlation coefficients of observations, with counts and weights."""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import BOOLS, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal
from gradwire_engine.mode import current
from gradwire_engine.ops.arithmetic import div, is_complex, mul, sub
from gradwire_engine.ops.axes import mH as adjoint
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.complex import complex_, imag, real
from gradwire_engine.ops.expand import reshape, sum
from gradwire_engine.ops.exponential import sqrt
from gradwire_engine.ops.limits import clamp
from gradwire_engine.ops.matmul import matmul
from gradwire_engine.ops.reduce import mean
from gradwire_engine.ops.views import diagonal
from gradwire_engine.rule import vjp
from gradwire_engine.spec import FLOAT


@internal(vjp(input=lambda g: g), fallible=True, batch=leading)
def weights_of(xp: Any, input: Array, called: str) -> Array:
    """Weights of observations, none of which is negative."""
    if input.size and bool(xp.any(input < 0)):
        raise invalid_argument(f"cov: {called} cannot be negative", "give 0 or more")
    return input


@internal(vjp(input=lambda g: g), fallible=True, batch=leading)
def not_nothing(xp: Any, input: Array) -> Array:
    """What weights sum up to, which must not be 0."""
    if input.size and not bool(xp.all(input)):
        raise invalid_argument("cov: the weights sum to zero", "give positive ones")
    return input


@composite()
def cov(
    input: Array,
    *,
    correction: int = 1,
    fweights: Array | None = None,
    aweights: Array | None = None,
) -> Array:
    """Covariances of variables (rows) over observations (columns), with counts or weights."""
    if input.ndim > 2:
        raise shape_mismatch(
            f"cov: takes at most two axes, not {list(input.shape)}",
            "rows are variables, columns are observations",
        )
    refuse("cov", (BOOLS,), input, raised=RuntimeError)
    if input.dtype.kind in "iu":
        input = to_dtype(input, current().default_dtype)
    x = reshape(input, (1, -1)) if input.ndim < 2 else input
    fweights, aweights = _checked(x, fweights, "fweights"), _checked(x, aweights, "aweights")
    weights = _joined(fweights, aweights)
    if weights is None:
        total: Any = x.shape[1]
        middle = mean(x, (1,), True)
        freedom = total - correction
    else:
        total = not_nothing(sum(weights))
        middle = div(sum(mul(x, weights), (1,), True), total)
        lost = 1 if aweights is None else div(sum(mul(weights, aweights)), total)
        freedom = total - lost * correction
    away = sub(x, middle)
    scaled = away if weights is None else mul(away, weights)
    freedom = max(freedom, 0) if isinstance(freedom, int) else clamp(freedom, 0)
    found = div(matmul(scaled, adjoint(away)), freedom)
    return reshape(found, ()) if found.shape == (1, 1) else found


def _checked(x: Any, weights: Any, called: str) -> Any:
    """Weights that fit the observations; their signs are looked at when there are elements."""
    if weights is None:
        return None
    if weights.shape != x.shape[1:]:
        raise shape_mismatch(
            f"cov: {called} is {list(weights.shape)}, there are {x.shape[1]} observations",
            "give one weight for each observation",
        )
    counts = weights.dtype.kind in "iu"
    if called == "fweights" and not counts:
        raise dtype_mismatch(
            f"cov: fweights are counts, not {weights.dtype.name}",
            "weights that are no integers go into aweights",
        )
    if called == "aweights" and weights.dtype.category != FLOAT:
        raise dtype_mismatch(
            f"cov: aweights are floating, not {weights.dtype.name}", "counts go into fweights"
        )
    return weights_of(weights, called)


def _joined(fweights: Any, aweights: Any) -> Any:
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return mul(fweights, aweights)


@composite()
def corrcoef(input: Array) -> Array:
    """Correlation coefficients of variables (rows) over observations (columns)."""
    found = cov(input)
    if not found.shape:
        return div(found, found)
    deviation = sqrt(real(diagonal(found)) if is_complex(found) else diagonal(found))
    size = deviation.shape[0]
    scaled = div(div(found, reshape(deviation, (size, 1))), reshape(deviation, (1, size)))
    if not is_complex(scaled):
        return clamp(scaled, -1, 1)
    return complex_(clamp(real(scaled), -1, 1), clamp(imag(scaled), -1, 1))
