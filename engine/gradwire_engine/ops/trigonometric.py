"""Trigonometric and hyperbolic functions, with their inverses."""

from __future__ import annotations

from math import pi
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import FLOAT_ONLY, elementwise, in_floats, in_real_floats
from gradwire_engine.kernels.sweeps import multiplied, swept
from gradwire_engine.ops.arithmetic import conj, is_complex, reciprocal
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.exponential import rsqrt
from gradwire_engine.rule import vjp


@in_floats(vjp("g conj(cos(input))", input=lambda g, input: g * conj(cos(input))))
def sin(xp: Any, input: Array) -> Array:
    """The sine of each element, in radians."""
    return xp.sin(input)


@in_floats(vjp("-g conj(sin(input))", input=lambda g, input: g * conj(-sin(input))))
def cos(xp: Any, input: Array) -> Array:
    """The cosine of each element, in radians."""
    return xp.cos(input)


@in_floats(
    vjp("g conj(out² + 1)", input=lambda g, out: g * conj(out * out + 1)), domain=(-1.0, 1.0)
)
def tan(xp: Any, input: Array) -> Array:
    """The tangent of each element, in radians."""
    return xp.tan(input)


@in_floats(
    vjp("g / conj(sqrt(1 - input²))", input=lambda g, input: g * conj(rsqrt(1 - input * input))),
    aliases=("arcsin",),
    domain=(-0.8, 0.8),
)
def asin(xp: Any, input: Array) -> Array:
    """The angle, from -π/2 to π/2, whose sine each element is."""
    return xp.arcsin(input)


@in_floats(
    vjp("-g / conj(sqrt(1 - input²))", input=lambda g, input: -g * conj(rsqrt(1 - input * input))),
    aliases=("arccos",),
    domain=(-0.8, 0.8),
)
def acos(xp: Any, input: Array) -> Array:
    """The angle, from 0 to π, whose cosine each element is."""
    if input.dtype == "complex128":  # torch's way, with the signs of its zeros
        return xp.subtract(pi / 2, xp.arcsin(input))
    return xp.arccos(input)


@in_floats(
    vjp("g / conj(input² + 1)", input=lambda g, input: g / conj(input * input + 1)),
    aliases=("arctan",),
    domain=(-0.8, 0.8),
)
def atan(xp: Any, input: Array) -> Array:
    """The angle, from -π/2 to π/2, whose tangent each element is."""
    return xp.arctan(input)


def _one_by_radius_squared(input: Any, other: Any) -> Any:
    """Of the point (other, input); 0 at the origin, where the next derivative is NaN."""
    square = input * input + other * other
    return where(square == 0, 0, reciprocal(square))


@in_real_floats(
    vjp(
        "input: g other / (input² + other²); other: -g input / (input² + other²)",
        input=lambda g, input, other: g * other * _one_by_radius_squared(input, other),
        other=lambda g, input, other: g * -input * _one_by_radius_squared(input, other),
    ),
    aliases=("arctan2",),
    domain=(0.3, 3.0),
    numbers=(),
)
def atan2(xp: Any, input: Array, other: Array) -> Array:
    """The angle of the point (other, input) in the plane, in radians from -π to π."""
    return xp.arctan2(input, other)


@elementwise(
    vjp(
        "input: g input / out; other: g other / out",
        input=lambda g, input, out: g * input / out,
        other=lambda g, other, out: g * other / out,
    ),
    takes=FLOAT_ONLY,
    domain=(0.3, 3.0),
    numbers=(),
)
def hypot(xp: Any, input: Array, other: Array) -> Array:
    """sqrt(input² + other²) without overflow."""
    return xp.hypot(input, other)


@in_floats(vjp("g conj(cosh(input))", input=lambda g, input: g * conj(cosh(input))))
def sinh(xp: Any, input: Array) -> Array:
    """The hyperbolic sine of each element."""
    return xp.sinh(input)


@in_floats(vjp("g conj(sinh(input))", input=lambda g, input: g * conj(sinh(input))))
def cosh(xp: Any, input: Array) -> Array:
    """The hyperbolic cosine of each element."""
    return xp.cosh(input)


@in_floats(
    vjp("g conj(1 - out²)", input=lambda g, out: tanh_backward(g, out)),
    aliases=("nn.functional.tanh",),
    domain=(-1.2, 1.2),
)
def tanh(xp: Any, input: Array) -> Array:
    """The hyperbolic tangent of each element."""
    return xp.tanh(input)


@elementwise(
    vjp(
        grad_output=lambda g, output: tanh_backward(g, conj(output)),
        output=lambda g, grad_output, output: conj(g) * grad_output * conj(output * -2),
    ),
    holomorphic=False,
    public=False,
)
@swept
def tanh_backward(xp: Any, grad_output: Array, output: Array) -> Array:
    """The gradient that goes through tanh."""
    out = xp.multiply(output, output)
    xp.subtract(1, out, out=out)
    if out.dtype.kind == "c":
        xp.conjugate(out, out=out)
    return multiplied(xp, out, grad_output)


@in_floats(
    vjp("g / conj(sqrt(input² + 1))", input=lambda g, input: g * conj(rsqrt(input * input + 1))),
    aliases=("arcsinh",),
    domain=(-0.8, 0.8),
)
def asinh(xp: Any, input: Array) -> Array:
    """The number whose hyperbolic sine each element is."""
    return xp.arcsinh(input)


def _by_cosh(g: Any, input: Any) -> Any:
    if is_complex(input):  # two roots keep to the function's branch, but for -0 below a cut
        return g * conj(rsqrt(input + 1) * rsqrt(input - 1))
    return g * rsqrt(input * input - 1)


@in_floats(
    vjp("g / conj(sqrt(input² - 1))", input=_by_cosh), aliases=("arccosh",), domain=(1.3, 3.0)
)
def acosh(xp: Any, input: Array) -> Array:
    """The number, 0 or more, whose hyperbolic cosine each element is."""
    return xp.arccosh(input)


@in_floats(
    vjp("g / conj(1 - input²)", input=lambda g, input: g / conj(1 - input * input)),
    aliases=("arctanh",),
    domain=(-0.8, 0.8),
)
def atanh(xp: Any, input: Array) -> Array:
    """The number whose hyperbolic tangent each element is."""
    return xp.arctanh(input)


def _by_sinc(g: Any, input: Any) -> Any:
    x = input * pi
    square = x * input
    return where(square == 0, 0, g * conj((x * cos(x) - sin(x)) / square))


@in_floats(
    vjp("g conj((cos(π input) - out) / input), 0 at 0", input=_by_sinc),
    aliases=("special.sinc",),
    domain=(0.3, 2.0),
)
def sinc(xp: Any, input: Array) -> Array:
    """sin(πx) / (πx), which is 1 at 0."""
    return xp.sinc(input)


@in_real_floats(vjp("g π / 180", input=lambda g: g * (pi / 180)))
def deg2rad(xp: Any, input: Array) -> Array:
    """Degrees as radians."""
    return xp.multiply(input, pi / 180)


@in_real_floats(vjp("g 180 / π", input=lambda g: g * (180 / pi)))
def rad2deg(xp: Any, input: Array) -> Array:
    """Radians as degrees."""
    return xp.multiply(input, 180 / pi)
