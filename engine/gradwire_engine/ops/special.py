"""Special functions: error functions, gamma and its derivatives, Bessel functions, entropy."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import REAL, elementwise, floating
from gradwire_engine.ops.exponential import exp
from gradwire_engine.rule import vjp

DENSITY = 2 / sqrt(pi)
"""Of the error function: its derivative is DENSITY exp(-x²)."""


@elementwise(
    vjp(input=lambda g, input: g * exp(-(input * input)) * DENSITY),
    aliases=("special.erf",),
    takes=REAL,
    compute=floating,
    formula="g 2 exp(-input²) / √π",
)
def erf(xp: Any, input: Array) -> Array:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x."""
    return xp.special.erf(input)


@elementwise(
    vjp(input=lambda g, input: g * exp(-(input * input)) * -DENSITY),
    aliases=("special.erfc",),
    takes=REAL,
    compute=floating,
    formula="-g 2 exp(-input²) / √π",
)
def erfc(xp: Any, input: Array) -> Array:
    """One less the error function, exact where that is small."""
    return xp.special.erfc(input)


@elementwise(
    vjp(input=lambda g, out: g * exp(out * out) * (1 / DENSITY)),
    aliases=("special.erfinv",),
    takes=REAL,
    compute=floating,
    domain=(-0.8, 0.8),
    formula="g √π exp(out²) / 2",
)
def erfinv(xp: Any, input: Array) -> Array:
    """The number whose error function each element is."""
    return xp.special.erfinv(input)
