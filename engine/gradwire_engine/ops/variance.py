"""Variances and standard deviations, with any correction of the degrees of freedom."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.families import INEXACT, composite, reduction
from gradwire_engine.op import Primitive
from gradwire_engine.ops.arithmetic import div, mul, sub
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import eq
from gradwire_engine.ops.expand import spread_out
from gradwire_engine.ops.extremes import same
from gradwire_engine.ops.reduce import mean, mean_gradient, mean_over
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dims
from gradwire_engine.spec import Spec, real_of

Moments = tuple[Array, Array]


def _moments(
    xp: Any, input: Array, dim: Dims | None, correction: float | None, keepdim: bool
) -> Moments:
    """Variance and mean; of complex numbers the variances of both parts together."""
    middle = mean_over(xp, input, dim, True)
    away = input - middle
    count = input.size // max(1, middle.size)
    freedom = max(0.0, count - (1 if correction is None else correction))
    parts = (away.real, away.imag) if away.dtype.kind == "c" else (away,)
    totals = [(part * part).sum(axis=dim or None, keepdims=keepdim) for part in parts]
    variances = [total / freedom if freedom else total * float("inf") for total in totals]
    return sum(variances[1:], variances[0]), middle if keepdim else middle.reshape(totals[0].shape)


def _moments_run(
    xp: Any, input: Array, dim: Dims | None, correction: float | None, keepdim: bool
) -> Moments:
    """Variance and mean where both are asked for: torch's mean runs along then (Welford, 1962).

    What follows an infinity is that much below the mean so far, which is NaN from there on.
    """
    variance, middle = _moments(xp, input, dim, correction, keepdim)
    if input.size == 0 or (type(middle) is np.ndarray and np.isfinite(middle).all()):
        return variance, middle
    axes = dim or tuple(range(input.ndim))
    last = tuple(slice(-1, None) if axis in axes else slice(None) for axis in range(input.ndim))
    odd = xp.logical_not(xp.isfinite(input))
    more = odd.sum(axis=dim or None, keepdims=keepdim) > odd[last].reshape(middle.shape)
    return variance, xp.where(more, middle.dtype.type(np.nan), middle)


def _var_gradient(g: Any, input: Any, dim: Any, correction: Any, input_spec: Spec) -> Any:
    if g is None:
        return None
    count = prod(input_spec.shape[d] for d in dim or range(len(input_spec.shape)))
    freedom = count - (1 if correction is None else correction)
    if freedom <= 0 and (dim is None or not input_spec.shape):  # it depends on no element then
        return mul(g, where(eq(input, mean(input)), float("nan"), float("inf")))
    away = sub(input, mean(input, dim, True))
    scale = 2 / freedom if freedom else float("inf")
    return mul(spread_out(mul(g, scale), dim, input_spec.shape), away)


def _std_gradient(g: Any, input: Any, out: Any, dim: Any, correction: Any, input_spec: Spec) -> Any:
    if g is None:
        return None
    scaled = where(eq(out, 0), 0, div(g, mul(out, 2)))
    return _var_gradient(scaled, input, dim, correction, input_spec)


def _mean_gradient(g: Any, dim: Any, input_spec: Spec, out_spec: Spec) -> Any:
    return None if g is None else mean_gradient(g, dim, input_spec, out_spec)


def _both(by_spread: Any, by_mean: Any) -> Any:
    """The sum of what came by either result: at one that nobody used a derivative may be NaN."""
    if by_spread is None or by_mean is None:
        return by_mean if by_spread is None else by_spread
    return by_spread + by_mean


@reduction(
    vjp("2 g (input - mean) / (n - correction)", input=_var_gradient), takes=INEXACT, result=real_of
)
def var(
    xp: Any,
    input: Array,
    dim: Dims | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Array:
    """Variance over some axes, or over all, divided by n - correction (1 unless given)."""
    return _moments(xp, input, dim, correction, keepdim)[0]


@reduction(
    vjp("g (input - mean) / ((n - correction) out)", input=_std_gradient),
    takes=INEXACT,
    result=real_of,
)
def std(
    xp: Any,
    input: Array,
    dim: Dims | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Array:
    """Standard deviation over some axes, or over all: the root of the variance."""
    return xp.sqrt(_moments(xp, input, dim, correction, keepdim)[0])


@reduction(
    vjp(
        input=lambda g_out0, g_out1, input, dim, correction, input_spec, out0_spec: _both(
            _var_gradient(g_out0, input, dim, correction, input_spec),
            _mean_gradient(g_out1, dim, input_spec, out0_spec),
        )
    ),
    fills_in=False,
    takes=INEXACT,
    outputs=("out0", "out1"),
    results=(real_of, same),
    formula="2 g0 (input - mean) / (n - correction) + g1 / n",
)
def var_mean(
    xp: Any,
    input: Array,
    dim: Dims | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Moments:
    """Variance and mean over some axes, or over all."""
    return _moments_run(xp, input, dim, correction, keepdim)


@reduction(
    vjp(
        input=lambda g_out0, g_out1, input, out0, dim, correction, input_spec, out0_spec: _both(
            _std_gradient(g_out0, input, out0, dim, correction, input_spec),
            _mean_gradient(g_out1, dim, input_spec, out0_spec),
        )
    ),
    fills_in=False,
    takes=INEXACT,
    outputs=("out0", "out1"),
    results=(real_of, same),
    formula="g0 (input - mean) / ((n - correction) std) + g1 / n",
)
def std_mean(
    xp: Any,
    input: Array,
    dim: Dims | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Moments:
    """Standard deviation and mean over some axes, or over all."""
    variance, middle = _moments_run(xp, input, dim, correction, keepdim)
    return xp.sqrt(variance), middle


def _by_flags(op: Primitive) -> None:
    """torch's older overloads, where `unbiased` says whether the correction is 1 or 0."""
    correction = {True: 1, False: 0}

    @composite(name=op.name)
    def over_all(input: Array, unbiased: bool) -> Any:
        """Over all axes, with n - 1 (unbiased) or n degrees of freedom."""
        return op(input, None, correction=correction[unbiased])

    @composite(name=op.name)
    def over_some(input: Array, dim: Dims | None, unbiased: bool, keepdim: bool = False) -> Any:
        """Over some axes, with n - 1 (unbiased) or n degrees of freedom."""
        return op(input, dim, correction=correction[unbiased], keepdim=keepdim)


for _op in (var, std, var_mean, std_mean):
    _by_flags(_op)
