"""Smooth activations, with the passes over memory that their gradients take kept few."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import FLOAT_ONLY, INEXACT, composite, elementwise
from gradwire_engine.ops.activation import NN
from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.exponential import exp, sigmoid
from gradwire_engine.ops.sign import abs
from gradwire_engine.ops.special import error_function
from gradwire_engine.ops.trigonometric import tanh
from gradwire_engine.rule import vjp
from gradwire_engine.select import chosen
from gradwire_engine.sweeps import swept


def _logistic(xp: Any, x: Array) -> Array:
    """1 / (1 + exp(-x)) as a fresh array."""
    out = xp.negative(x)
    xp.exp(out, out=out)
    out += 1
    return xp.divide(1, out, out=out)


@elementwise(
    vjp(input=lambda g, input: silu_backward(g, input)),
    space=NN,
    takes=INEXACT,
    formula="g conj(s (1 + input (1 - s))), s = sigmoid(input)",
)
@swept
def silu(xp: Any, input: Array) -> Array:
    """x times sigmoid of x, also called swish."""
    out = _logistic(xp, input)
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
    public=False,
)
@swept
def silu_backward(xp: Any, grad_output: Array, input: Array) -> Array:
    """The gradient that goes through silu."""
    s = _logistic(xp, input)
    out = xp.subtract(1, s)
    out *= input
    out += 1
    out *= s
    if out.dtype.kind == "c":
        xp.conjugate(out, out=out)
    out *= grad_output
    return out


GELU_SCALE, GELU_CUBIC = sqrt(2 / pi), 0.044715
"""tanh-GELU is x/2 (1 + tanh(GELU_SCALE (x + GELU_CUBIC x³))) (Hendrycks and Gimpel, 2016)."""


def _known_approximation(named: dict[str, Any]) -> None:
    if named["approximate"] not in ("none", "tanh"):
        raise error(
            "invalid_argument",
            f"gelu: approximate is {named['approximate']!r}",
            'it must be "none" or "tanh"',
        )


def _gelu_inner(xp: Any, x: Array, square: Array) -> Array:
    """tanh(GELU_SCALE (x + GELU_CUBIC x³)) as a fresh array."""
    t = xp.multiply(square, GELU_SCALE * GELU_CUBIC)
    t += GELU_SCALE
    t *= x
    return xp.tanh(t, out=t)


@elementwise(
    vjp(input=lambda g, input, approximate: gelu_backward(g, input, approximate)),
    space=NN,
    takes=FLOAT_ONLY,
    check=_known_approximation,
    formula="g (Φ(input) + input φ(input)), Φ and φ the normal distribution; its like with tanh",
)
@swept
def gelu(xp: Any, input: Array, approximate: str = "none") -> Array:
    """x Φ(x), Φ the normal distribution; approximate="tanh" for the formula with tanh."""
    if approximate == "tanh":
        out = _gelu_inner(xp, input, xp.multiply(input, input))
    else:
        out = error_function(xp, xp.multiply(input, sqrt(0.5)))
    out += 1
    out *= input
    out *= 0.5
    return out


def _gelu_bend(x: Any, approximate: str) -> Any:
    """The second derivative of gelu."""
    if approximate == "none":
        return exp(x * x * -0.5) * (2 - x * x) / sqrt(2 * pi)
    square = x * x
    t = tanh(x * (square * (GELU_SCALE * GELU_CUBIC) + GELU_SCALE))
    slope = square * (3 * GELU_SCALE * GELU_CUBIC) + GELU_SCALE
    bend = square * (3 * GELU_SCALE * GELU_CUBIC)
    return (1 - t * t) * (slope + bend - x * t * slope * slope)


@elementwise(
    vjp(
        grad_output=lambda g, input, approximate: gelu_backward(g, input, approximate),
        input=lambda g, grad_output, input, approximate: (
            g * grad_output * _gelu_bend(input, approximate)
        ),
    ),
    public=False,
)
@swept
def gelu_backward(xp: Any, grad_output: Array, input: Array, approximate: str = "none") -> Array:
    """The gradient that goes through gelu."""
    through_tanh = approximate == "tanh"
    slope = (_tanh_gelu_slope if through_tanh else _gelu_slope)(xp, input)
    slope *= grad_output
    return slope


def _tanh_gelu_slope(xp: Any, x: Array) -> Array:
    """(1 + t) (1/2 + (1 - t) x u' / 2), where u is the argument of the tanh t."""
    inner = xp.multiply(x, x)
    slope = _gelu_inner(xp, x, inner)
    slope += 1
    inner *= 1.5 * GELU_SCALE * GELU_CUBIC
    inner += 0.5 * GELU_SCALE
    inner *= x
    rest = xp.subtract(2, slope)
    rest *= inner
    rest += 0.5
    slope *= rest
    return slope


def _gelu_slope(xp: Any, x: Array) -> Array:
    """Φ(x) + x φ(x), Φ and φ the normal distribution and its density."""
    slope = error_function(xp, xp.multiply(x, sqrt(0.5)))
    slope += 1
    slope *= 0.5
    density = xp.multiply(x, x)
    density *= -0.5
    xp.exp(density, out=density)
    density *= x
    density *= 1 / sqrt(2 * pi)
    slope += density
    return slope


def _log_of_sum(xp: Any, x: Array) -> Array:
    """log(1 + exp(x)) as a fresh array, without overflow."""
    out = xp.abs(x)
    xp.negative(out, out=out)
    xp.exp(out, out=out)
    xp.log1p(out, out=out)
    out += xp.maximum(x, 0)
    return out


@elementwise(
    vjp(input=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold)),
    space=NN,
    takes=FLOAT_ONLY,
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


@elementwise(
    vjp(
        grad_output=lambda g, input, beta, threshold: softplus_backward(g, input, beta, threshold),
        input=lambda g, grad_output, input, beta, threshold: where(
            input * beta > threshold, 0, g * grad_output * beta * _bell(input * beta)
        ),
    ),
    public=False,
)
@swept
def softplus_backward(
    xp: Any, grad_output: Array, input: Array, beta: float, threshold: float
) -> Array:
    """The gradient that goes through softplus."""
    scaled = input if beta == 1 else xp.multiply(input, beta)
    out = _logistic(xp, scaled)
    out *= grad_output
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


@elementwise(
    vjp(input=lambda g, input: g * sigmoid(-input)),
    space=NN,
    takes=FLOAT_ONLY,
    inplace=False,
    grad_name="LogSigmoidBackward0",
    formula="g sigmoid(-input)",
)
@swept
def logsigmoid(xp: Any, input: Array) -> Array:
    """The logarithm of sigmoid, without overflow."""
    out = _log_of_sum(xp, xp.negative(input))
    return xp.negative(out, out=out)


MISH_LIMIT = 20.0
"""From here on mish(x) is x to every digit of float64."""


def _mish_parts(xp: Any, x: Array) -> tuple[Array, Array]:
    """e^x, and e^x (e^x + 2), of which tanh(softplus(x)) is n / (n + 2)."""
    e = xp.minimum(x, MISH_LIMIT)
    xp.exp(e, out=e)
    n = xp.add(e, 2)
    n *= e
    return e, n


@elementwise(
    vjp(input=lambda g, input: mish_backward(g, input)),
    space=NN,
    takes=FLOAT_ONLY,
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


@elementwise(
    vjp(
        grad_output=lambda g, input: mish_backward(g, input),
        input=lambda g, grad_output, input: g * grad_output * _mish_bend(input),
    ),
    public=False,
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
    steep *= xp.minimum(input, MISH_LIMIT)
    t += steep
    t *= grad_output
    return t


def _exponential_below(xp: Any, x: Array, alpha: float, scale: float, inner: float) -> Array:
    """scale x where positive, else scale alpha (exp(inner x) - 1)."""
    low = xp.minimum(x, 0)
    if inner != 1:
        low *= inner
    xp.expm1(low, out=low)
    low *= alpha * scale
    high = xp.maximum(x, 0)
    if scale != 1:
        high *= scale
    low += high
    return low


@elementwise(
    vjp(
        input=lambda g, input, alpha, scale, inner: elu_backward(g, input, alpha, scale, inner),
    ),
    name="elu_kernel",
    takes=FLOAT_ONLY,
    grad_name="EluBackward0",
    public=False,
)
@swept
def _elu(xp: Any, input: Array, alpha: float, scale: float, inner: float) -> Array:
    """The exponential-linear function that elu, celu and selu are cases of."""
    return _exponential_below(xp, input, alpha, scale, inner)


@elementwise(
    vjp(
        grad_output=lambda g, input, alpha, scale, inner: elu_backward(
            g, input, alpha, scale, inner
        ),
        input=lambda g, grad_output, input, alpha, scale, inner: where(
            input > 0,
            0,
            g * grad_output * exp(input * inner) * (alpha * scale * inner * inner),
        ),
    ),
    public=False,
)
@swept
def elu_backward(
    xp: Any, grad_output: Array, input: Array, alpha: float, scale: float, inner: float
) -> Array:
    """The gradient that goes through elu, celu and selu."""
    low = xp.minimum(input, 0)
    if inner != 1:
        low *= inner
    xp.exp(low, out=low)
    low *= alpha * scale * inner
    out = chosen(xp, xp.greater(input, 0), input.dtype.type(scale), low)
    out *= grad_output
    return out


@composite(space=NN, inplace=True)
def elu(input: Array, alpha: float = 1.0) -> Array:
    """x where positive, else alpha (exp(x) - 1)."""
    return _elu(input, alpha, 1.0, 1.0)


@composite(space=NN, inplace=True, grad_name="CeluBackward0")
def celu(input: Array, alpha: float = 1.0) -> Array:
    """x where positive, else alpha (exp(x / alpha) - 1)."""
    if alpha == 0:
        raise error("invalid_argument", "celu: alpha is 0", "it must not be 0")
    return _elu(input, alpha, 1.0, 1.0 / alpha)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""Chosen so that layers keep mean 0 and variance 1 (Klambauer et al., 2017)."""


@composite(space=NN, inplace=True)
def selu(input: Array) -> Array:
    """The exponential-linear function, scaled to keep mean and variance."""
    return _elu(input, SELU_ALPHA, SELU_SCALE, 1.0)


@composite(space=NN)
def tanhshrink(input: Array) -> Array:
    """x less tanh of x."""
    return input - tanh(input)


@composite(space=NN)
def softsign(input: Array) -> Array:
    """x / (1 + |x|)."""
    return input / (abs(input) + 1)
