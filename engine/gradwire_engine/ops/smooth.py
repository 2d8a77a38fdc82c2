"""Smooth activations, with the passes over memory that their gradients take kept few."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.families import INEXACT, F, composite, elementwise
from gradwire_engine.kernels.select import chosen
from gradwire_engine.kernels.sweeps import multiplied, swept
from gradwire_engine.laid import ROWS
from gradwire_engine.ops.activation import inner, of_floats
from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.exponential import logistic, sigmoid
from gradwire_engine.ops.sign import abs
from gradwire_engine.ops.trigonometric import tanh
from gradwire_engine.rule import vjp


@elementwise(
    vjp(input=lambda g, input: silu_backward(g, input)),
    space=F,
    takes=INEXACT,
    formula="g conj(s (1 + input (1 - s))), s = sigmoid(input)",
    real_gradients=True,
)
@swept
def silu(xp: Any, input: Array) -> Array:
    """x times sigmoid of x, also called swish."""
    out = logistic(xp, input)
    out *= input
    return out


def _silu_bend(x: Any) -> Any:
    """The second derivative of silu."""
    s = sigmoid(x)
    return s * (1 - s) * (x * (1 - s * 2) + 2)


@elementwise(
    vjp(
        grad_output=lambda g, input: silu_backward(g, conj(input)),
        input=lambda g, grad_output, input: conj(g) * grad_output * conj(_silu_bend(input)),
    ),
    holomorphic=False,
    public=False,
)
@swept
def silu_backward(xp: Any, grad_output: Array, input: Array) -> Array:
    """The gradient that goes through silu."""
    s = logistic(xp, input)
    out = xp.subtract(1, s)
    out *= input
    out += 1
    out *= s
    if out.dtype.kind == "c":
        xp.conjugate(out, out=out)
    return multiplied(xp, out, grad_output)


def _log_of_sum(xp: Any, x: Array) -> Array:
    """log(1 + exp(x)) as a fresh array, without overflow."""
    out = xp.abs(x)
    xp.negative(out, out=out)
    xp.exp(out, out=out)
    xp.log1p(out, out=out)
    out += xp.maximum(x, 0)
    return out


@of_floats(
    vjp(input=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold)),
    formula="g sigmoid(beta input); g where beta input > threshold",
)
@swept
def softplus(xp: Any, input: Array, beta: float = 1, threshold: float = 20) -> Array:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above a threshold."""
    scaled = input if beta == 1 else xp.multiply(input, beta)
    out = _log_of_sum(xp, scaled)
    if beta != 1:
        out /= beta
    return _linear_above(xp, scaled, threshold, input, out)


@inner(
    vjp(
        grad_output=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold),
        input=lambda g, grad_output, input, beta, threshold: where(
            input * beta >= threshold, 0, g * grad_output * beta * _bell(input * beta)
        ),
    ),
)
@swept
def softplus_backward(
    xp: Any, grad_output: Array, input: Array, beta: float, threshold: float
) -> Array:
    """The gradient that goes through softplus."""
    scaled = input if beta == 1 else xp.multiply(input, beta)
    out = logistic(xp, scaled)
    out = multiplied(xp, out, grad_output)
    return _linear_above(xp, scaled, threshold, grad_output, out)


def _linear_above(xp: Any, x: Array, threshold: float, linear: Array, curved: Array) -> Array:
    """`linear` where x is above a threshold; on a processor it is first seen whether any is."""
    above = xp.greater(x, threshold)
    if type(above) is np.ndarray and not above.any():
        return curved
    return chosen(xp, above, linear, curved)


def _bell(x: Any) -> Any:
    """The derivative of sigmoid."""
    s = sigmoid(x)
    return s * (1 - s)


@swept
def _log_of_sigmoid(xp: Any, input: Array) -> Array:
    out = xp.abs(input)
    xp.negative(out, out=out)
    xp.exp(out, out=out)
    xp.log1p(out, out=out)
    return xp.subtract(xp.minimum(input, 0), out, out=out)


_LOGSIGMOID = vjp("g sigmoid(-input)", input=lambda g, input: g * sigmoid(-input))


@of_floats(_LOGSIGMOID, inplace=False, grad_name="LogSigmoidBackward0", lies=ROWS)
def logsigmoid(xp: Any, input: Array) -> Array:
    """The logarithm of sigmoid, without overflow."""
    return _log_of_sigmoid(xp, input)


@of_floats(_LOGSIGMOID, inplace=False, public=False)
def log_of_sigmoid(xp: Any, input: Array) -> Array:
    """The same for losses, which torch works out element by element."""
    return _log_of_sigmoid(xp, input)


MISH_LIMIT = 20.0
"""From here on mish(x) is x to every digit of float64."""


def _mish_parts(xp: Any, x: Array) -> tuple[Array, Array]:
    """e^x, and e^x (e^x + 2), of which tanh(softplus(x)) is n / (n + 2)."""
    e = xp.minimum(x, MISH_LIMIT)
    xp.exp(e, out=e)
    n = xp.add(e, 2)
    n *= e
    return e, n


@of_floats(
    vjp(input=lambda g, input: mish_backward(g, input)),
    formula="g (t + input sigmoid(input) (1 - t²)), t = tanh(softplus(input))",
)
@swept
def mish(xp: Any, input: Array) -> Array:
    """x times tanh of softplus of x."""
    out, n = _mish_parts(xp, input)
    xp.add(n, 2, out=out)
    xp.divide(n, out, out=out)
    out *= input
    return out


def _mish_bend(x: Any) -> Any:
    """The second derivative of mish."""
    s, t = sigmoid(x), tanh(softplus(x))
    steep = s * (1 - t * t)
    return steep * (2 + x * (1 - s - 2 * t * s))


@inner(
    vjp(
        grad_output=lambda g, input: mish_backward(g, input),
        input=lambda g, grad_output, input: g * grad_output * _mish_bend(input),
    ),
)
@swept
def mish_backward(xp: Any, grad_output: Array, input: Array) -> Array:
    """The gradient that goes through mish."""
    e, n = _mish_parts(xp, input)
    below = xp.add(n, 2)
    t = xp.divide(n, below)
    steep = xp.add(e, 1)
    steep *= e
    steep *= 4
    steep /= below
    steep /= below
    more = xp.maximum(xp.subtract(input, MISH_LIMIT), 0)
    steep *= xp.subtract(input, more, out=more)  # limited, but NaN at inf, as torch's
    t += steep
    t = multiplied(xp, t, grad_output)
    return t


@composite(space=F)
def tanhshrink(input: Array) -> Array:
    """x less tanh of x."""
    return input - tanh(input)


@composite(space=F)
def softsign(input: Array) -> Array:
    """x / (1 + |x|)."""
    return input / (abs(input) + 1)
