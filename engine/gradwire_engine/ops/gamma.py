"""The gamma function's logarithm and its derivatives, and Bessel functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import factorial, inf, pi
from math import log as log_of_number
from operator import add
from typing import Any

from ml_dtypes import finfo

from gradwire_engine.accepted import HALVES, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import composite, in_real_floats
from gradwire_engine.laid import ROWS
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.sign import abs, sgn
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec

_LARGEST_FACTORIAL = 170  # that a float64 holds
_MOST_DIMENSIONS = 1000  # of mvlgamma, which is a sum over them


@in_real_floats(
    vjp("g digamma(input)", input=lambda g, input: g * digamma(input)),
    aliases=("special.gammaln",),
    domain=(0.5, 3.0),
)
def lgamma(xp: Any, input: Array) -> Array:
    """The logarithm of the gamma function's absolute value."""
    return xp.where(xp.isinf(input), xp.abs(input), xp.special.gammaln(input))


@in_real_floats(
    vjp("g polygamma(1, input)", input=lambda g, input: g * polygamma(1, input)),
    aliases=("special.digamma", "special.psi"),
    domain=(0.5, 3.0),
)
def digamma(xp: Any, input: Array) -> Array:
    """The derivative of lgamma; it has a pole at each integer up to 0."""
    pole = xp.where(xp.signbit(input), xp.inf, -xp.inf).astype(input.dtype)
    return xp.where(xp.equal(input, 0), pole, xp.special.digamma(input))


def _no_negative_order(named: dict[str, Any]) -> None:
    if named["n"] < 0:
        raise invalid_argument(f"polygamma: the order n is {named['n']}", "it must be 0 or more")


@in_real_floats(
    vjp("g polygamma(n + 1, input)", input=lambda g, input, n: g * polygamma(n + 1, input)),
    aliases=("special.polygamma",),
    check=_no_negative_order,
    domain=(0.5, 3.0),
)
def polygamma(xp: Any, n: int, input: Array) -> Array:
    """The n-th derivative of digamma."""
    if n == 0:
        return xp.special.digamma(input)
    if n == 1:
        return _trigamma(xp, input)
    scale = float(factorial(n)) if n <= _LARGEST_FACTORIAL else inf
    scale = scale if n % 2 else -scale
    found = xp.multiply(xp.special.zeta(xp.asarray(n + 1, input.dtype), input), scale)
    return xp.where(xp.equal(input, xp.inf), xp.nan, found)  # as torch's zeta is there


def _trigamma(xp: Any, input: Array) -> Array:
    """The derivative of digamma, reflected below a half.

    SciPy's to full precision, where torch's own series has nine digits: what is right is not given
    up for that. At a pole it is what the sine of a rounded multiple of π leaves, as in torch.
    """
    low = xp.less(input, 0.5)
    found = xp.special.zeta(xp.asarray(2, input.dtype), xp.where(low, xp.subtract(1, input), input))
    across = xp.divide(pi, xp.sin(xp.multiply(input, pi)))
    return xp.where(low, xp.subtract(xp.multiply(across, across), found), found)


@composite("polygamma", inplace=True)
def polygamma_method(input: Array, n: int) -> Array:
    """The n-th derivative of digamma, with the order second as in a tensor's method."""
    return polygamma(n, input)


def _enough_dimensions(named: dict[str, Any]) -> None:
    if not 1 <= named["p"] <= _MOST_DIMENSIONS:
        raise invalid_argument(
            f"mvlgamma: p is {named['p']}", f"it must be 1 or more, and at most {_MOST_DIMENSIONS}"
        )


def _digammas(input: Any, p: int) -> Any:
    """Their sum at half steps down; 0.0 is added first, that -0 becomes the pole of 0."""
    return reduce(add, (digamma(input + (0.0 - j / 2)) for j in range(p)))


@in_real_floats(
    vjp(input=lambda g, input, p: g * _digammas(input, p)),
    aliases=("special.multigammaln",),
    check=_enough_dimensions,
    lies=ROWS,
    domain=(2.5, 5.0),
    formula="g Σ digamma(input - j / 2), j from 0 to p - 1",
)
def mvlgamma(xp: Any, input: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension p."""
    constant = p * (p - 1) / 4 * log_of_number(pi)
    input = xp.where(xp.isinf(input), xp.abs(input), input)  # as of lgamma
    parts = (xp.special.gammaln(xp.subtract(input, j / 2)) for j in range(p))
    return xp.add(reduce(xp.add, parts), constant)


@in_real_floats(vjp("g i1(input)", input=lambda g, input: g * i1(input)), aliases=("special.i0",))
def i0(xp: Any, input: Array) -> Array:
    """The modified Bessel function of the first kind, of order 0."""
    return xp.special.i0(input)


@in_real_floats(
    vjp(input=lambda g, input, out: g * (i1e(input) - sgn(input) * out)),
    name="special.i0e",
    formula="g (i1e(input) - sgn(input) out)",
)
def i0e(xp: Any, input: Array) -> Array:
    """i0 times exp(-|x|), which doesn't overflow."""
    return xp.special.i0e(input)


def _beside_zero(input: Any, spec: Spec, slope: Callable[[Any], Any]) -> Any:
    """The slope of i1 or i1e, which is 1/2 where x is nothing beside 1; torch's also at NaN."""
    least = float(finfo(spec.dtype.numpy).eps)
    far = abs(input) > least
    return where(far, slope(where(far, input, least)), 0.5)


def _by_i1(g: Any, input: Any, out: Any, input_spec: Spec) -> Any:
    refuse("special.i1, backward", (HALVES,), input_spec)
    return g * _beside_zero(input, input_spec, lambda x: i0(x) - out / x)


def _by_i1e(g: Any, input: Any, out: Any, input_spec: Spec) -> Any:
    refuse("special.i1e, backward", (HALVES,), input_spec)
    return g * _beside_zero(input, input_spec, lambda x: i0e(x) - out * (sgn(x) + 1 / x))


@in_real_floats(
    vjp(input=_by_i1),
    name="special.i1",
    formula="g (i0(input) - out / input)",
)
def i1(xp: Any, input: Array) -> Array:
    """The modified Bessel function of the first kind, of order 1."""
    return xp.special.i1(input)


@in_real_floats(
    vjp("g (i0e(input) - out (sgn(input) + 1 / input))", input=_by_i1e),
    name="special.i1e",
)
def i1e(xp: Any, input: Array) -> Array:
    """i1 times exp(-|x|), which doesn't overflow."""
    return xp.special.i1e(input)
