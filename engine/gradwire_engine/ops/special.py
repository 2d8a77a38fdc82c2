"""Error functions, the normal distribution, entropy."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from gradwire_engine.accepted import HALVES, refusing
from gradwire_engine.arrays import Array
from gradwire_engine.families import composite, in_real_floats
from gradwire_engine.kernels.select import chosen
from gradwire_engine.kernels.sweeps import swept
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.exponential import as_floats, by_numbers, exp, log
from gradwire_engine.ops.power import pow
from gradwire_engine.rule import vjp

SPECIAL = "special."

DENSITY = 2 / sqrt(pi)
"""Of the error function: its derivative is DENSITY exp(-x²)."""


@in_real_floats(
    vjp("g 2 exp(-input²) / √π", input=lambda g, input: g * exp(-(input * input)) * DENSITY),
    aliases=("special.erf",),
)
@swept
def erf(xp: Any, input: Array) -> Array:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""
    return error_function(xp, input)


_ODD = (
    1.1283792469336624, 0.1027698664853469, -0.00019529381452285092, -0.0006148328739635256,
    8.459420475688371e-05, -4.7940879096440056e-06, 2.75232555939864e-08, 5.423605085642891e-09,
)  # fmt: skip
"""erf(x) is tanh(x Σ _ODD[i] x^2i) to 7e-8: a minimax fit, weighted by how tanh hands errors on."""


def error_function(xp: Any, x: Array) -> Array:
    """The error function; of float32 on a processor by tanh, six times as fast as SciPy's."""
    if x.dtype != np.float32 or getattr(xp, "ndarray", None) is not np.ndarray:
        return xp.special.erf(x)
    square = np.multiply(x, x)
    out = np.multiply(square, _ODD[-1])
    for coefficient in _ODD[-2:0:-1]:
        out += coefficient
        out *= square
    out += _ODD[0]
    out *= x
    return np.tanh(out, out=out)


@in_real_floats(
    vjp("-g 2 exp(-input²) / √π", input=lambda g, input: g * exp(-(input * input)) * -DENSITY),
    aliases=("special.erfc",),
)
def erfc(xp: Any, input: Array) -> Array:
    """One less the error function, exact where that is small."""
    return xp.special.erfc(input)


@in_real_floats(
    vjp(
        "g √π exp(erfinv(input)²) / 2",  # of the result torch keeps nothing
        input=lambda g, input: g * exp(pow(erfinv(input), 2)) * (1 / DENSITY),
    ),
    aliases=("special.erfinv",),
    domain=(-0.8, 0.8),
)
def erfinv(xp: Any, input: Array) -> Array:
    """The number whose error function each element is."""
    return xp.where(xp.equal(input, 0), input, xp.special.erfinv(input))


@in_real_floats(
    vjp("g (2 input out - 2 / √π)", input=lambda g, input, out: g * (input * out * 2 - DENSITY)),
    space=SPECIAL,
    check=refusing("special.erfcx", HALVES),
)
def erfcx(xp: Any, input: Array) -> Array:
    """exp(x²) times erfc(x), without overflow."""
    return xp.special.erfcx(input)


@in_real_floats(
    vjp(input=lambda g, input: g * exp(-(input * input)) * (DENSITY / 2)),
    public=False,
    grad_name="MulBackward1",
    formula="g exp(-input²) / √π",
)
def _below(xp: Any, input: Array) -> Array:
    """The normal distribution function at √2 times each element."""
    return xp.multiply(xp.special.erfc(xp.negative(input)), 0.5)


@composite(space=SPECIAL, inplace=True)
def ndtr(input: Array) -> Array:
    """The normal distribution function: the probability of being below each element."""
    return _below(mul(input, sqrt(0.5)))


@in_real_floats(
    vjp("g √(2π) exp(out² / 2)", input=lambda g, out: g * exp(out * out * 0.5) * sqrt(2 * pi)),
    space=SPECIAL,
    domain=(0.1, 0.9),
    check=refusing("special.ndtri", HALVES),
)
def ndtri(xp: Any, input: Array) -> Array:
    """The number below which a normal variable stays with each element's probability."""
    return xp.special.ndtri(input)


@in_real_floats(
    vjp(
        input=lambda g, input, out: -g * out * input,
        logarithm=lambda g, out: -g * out,
    ),
    public=False,
    formula="input: -g out input; logarithm: -g out",
)
def hazard(xp: Any, input: Array, logarithm: Array) -> Array:
    """The normal density over its distribution function: the slope of that one's logarithm.

    By that logarithm the gradient of this goes, as torch's does, which makes this of it; but input
    alone gives it where both are far below 1.
    """
    out = xp.divide(sqrt(2 / pi), xp.special.erfcx(xp.multiply(input, -sqrt(0.5))))
    return xp.where(xp.isinf(out), xp.nan, out)  # as torch's at -inf


@in_real_floats(
    vjp("g √(2/π) / erfcx(-input / √2)", input=lambda g, input, out: g * hazard(input, out)),
    space=SPECIAL,
    check=refusing("special.log_ndtr", HALVES),
)
def log_ndtr(xp: Any, input: Array) -> Array:
    """The logarithm of the normal distribution function, exact far below zero."""
    return xp.special.log_ndtr(input)


@in_real_floats(
    vjp("-g (1 + log(input))", input=lambda g, input: g * (-log(input) - 1)),
    space=SPECIAL,
    domain=(0.2, 3.0),
)
def entr(xp: Any, input: Array) -> Array:
    """The entropy -x log(x): 0 at 0, minus infinity below."""
    return xp.special.entr(input)


@in_real_floats(
    vjp(
        "input: g log1p(other); other: g input / (other + 1)",
        input=lambda g, input, other, out_spec: where(
            (input == 0) & (other <= -1), 0, xlog1py(g, as_floats(other, out_spec))
        ),
        other=lambda g, input, other: g * (input / (other + 1)),
    ),
    space=SPECIAL,
    domain=(-0.7, 3.0),
    grad_name=by_numbers("SpecialXlog1Py"),
)
def xlog1py(xp: Any, input: Array, other: Array) -> Array:
    """input log1p(other), which is 0 where input is 0, unless other is NaN."""
    out = xp.multiply(input, xp.log1p(other))
    return chosen(xp, xp.logical_and(xp.equal(input, 0), xp.equal(other, other)), 0, out)
