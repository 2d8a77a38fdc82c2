"""GELU, exact and by tanh, in few passes over memory."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import elementwise
from gradwire_engine.kernels.sweeps import multiplied, swept
from gradwire_engine.ops.activation import of_floats
from gradwire_engine.ops.exponential import exp
from gradwire_engine.ops.special import error_function
from gradwire_engine.ops.trigonometric import tanh
from gradwire_engine.rule import vjp

GELU_SCALE, GELU_CUBIC = sqrt(2 / pi), 0.044715
"""tanh-GELU is x/2 (1 + tanh(GELU_SCALE (x + GELU_CUBIC x³))) (Hendrycks and Gimpel, 2016)."""


def _known_approximation(named: dict[str, Any]) -> None:
    if named["approximate"] not in ("none", "tanh"):
        raise invalid_argument(
            f"gelu: approximate is {named['approximate']!r}", 'it must be "none" or "tanh"'
        )


def _gelu_inner(xp: Any, x: Array, square: Array) -> Array:
    """tanh(GELU_SCALE (x + GELU_CUBIC x³)) as a fresh array."""
    t = xp.multiply(square, GELU_SCALE * GELU_CUBIC)
    t += GELU_SCALE
    t *= x
    return xp.tanh(t, out=t)


@of_floats(
    vjp(input=lambda g, input, approximate: gelu_backward(g, input, approximate)),
    check=_known_approximation,
    formula="g (Φ(input) + input φ(input)), Φ and φ the normal distribution; its like with tanh",
)
@swept
def gelu(xp: Any, input: Array, *, approximate: str = "none") -> Array:
    """x Φ(x), Φ the normal distribution; approximate="tanh" for the formula with tanh."""
    if approximate == "tanh":
        out = _gelu_inner(xp, input, xp.multiply(input, input))
    else:
        out = error_function(xp, xp.multiply(input, sqrt(0.5)))
    out += 1
    out *= 0.5  # first, for the largest numbers
    out *= input
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
    return multiplied(xp, slope, grad_output)


def _tanh_gelu_slope(xp: Any, x: Array) -> Array:
    """(1 + t) (1/2 + (1 - t) x u' / 2), where u is the argument of the tanh t."""
    inner = xp.multiply(x, x)
    slope = _gelu_inner(xp, x, inner)
    slope += 1
    inner *= 1.5 * GELU_SCALE * GELU_CUBIC
    inner += 0.5 * GELU_SCALE
    rest = xp.subtract(2, slope)
    rest *= slope  # 0 far out, where x u' may be infinite
    rest *= x
    rest *= inner
    slope *= 0.5
    slope += rest
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
