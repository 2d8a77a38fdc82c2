"""Exponential-linear activations: elu, celu, selu."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import F, composite
from gradwire_engine.kernels.select import chosen
from gradwire_engine.kernels.sweeps import multiplied, swept
from gradwire_engine.ops.activation import inner
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.exponential import exp
from gradwire_engine.rule import vjp


@inner(
    vjp(input=lambda g, input, alpha, scale, inner: elu_backward(g, input, alpha, scale, inner)),
    name="elu_kernel",
    grad_name="EluBackward0",
)
@swept
def _elu(xp: Any, input: Array, alpha: float, scale: float, inner: float) -> Array:
    """The exponential-linear function that elu, celu and selu are cases of."""
    low = xp.minimum(0, input)  # 0 first: of equal numbers the second counts, and its sign
    if inner != 1:
        low *= inner
    xp.expm1(low, out=low)
    low *= alpha * scale
    high = xp.maximum(0, input)
    if scale != 1:
        high *= scale
    low += high
    return low


@inner(
    vjp(
        grad_output=lambda g, input, alpha, scale, inner: elu_backward(
            g, input, alpha, scale, inner
        ),
        input=lambda g, grad_output, input, alpha, scale, inner: where(
            input >= 0, 0, g * grad_output * exp(input * inner) * (alpha * scale * inner * inner)
        ),
    ),
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
    return multiplied(xp, out, grad_output)


@composite(space=F, inplace=True)
def elu(input: Array, alpha: float = 1.0) -> Array:
    """x where positive, else alpha (exp(x) - 1)."""
    return _elu(input, alpha, 1.0, 1.0)


@composite(space=F, inplace=True, grad_name="CeluBackward0")
def celu(input: Array, alpha: float = 1.0) -> Array:
    """x where positive, else alpha (exp(x / alpha) - 1)."""
    if alpha == 0:
        raise invalid_argument("celu: alpha is 0", "it must not be 0")
    return _elu(input, alpha, 1.0, 1.0 / alpha)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""Chosen so that layers keep mean 0 and variance 1 (Klambauer et al., 2017)."""


@composite(space=F, inplace=True)
def selu(input: Array) -> Array:
    """The exponential-linear function, scaled to keep mean and variance."""
    return _elu(input, SELU_ALPHA, SELU_SCALE, 1.0)
