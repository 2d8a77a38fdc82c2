"""Powers, and their edge cases as in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import NUMERIC, composite, elementwise
from gradwire_engine.ops.arithmetic import conj, is_complex, refuse_bools
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where, zero_of
from gradwire_engine.ops.complex import imag, real
from gradwire_engine.ops.creation import fits
from gradwire_engine.ops.exponential import log
from gradwire_engine.ops.known import kind
from gradwire_engine.promote import Weak
from gradwire_engine.rule import vjp
from gradwire_engine.spec import INTEGER, Spec, complex128, dtype_of, float64


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex)


def _by_base(g: Any, input: Any, exponent: Any, exponent_spec: Spec | Weak) -> Any:
    """The gradient for the base: nothing where the exponent is zero."""
    refuse_bools("pow", exponent_spec)
    if not _is_number(exponent):
        return where(exponent == 0, 0, g * conj(exponent * pow(input, exponent - 1)))
    if exponent == 0:
        return zero_of(g)
    itself = exponent == 2 and type(input) is np.ndarray  # no work, though an op to what records
    return g * conj(exponent * (input if itself else pow(input, exponent - 1)))


def _by_exponent(g: Any, input: Any, exponent: Any, out: Any, out_spec: Spec) -> Any:
    """The gradient for the exponent: nothing where the base is zero and the power finite."""
    limit = (input == 0) & (real(exponent) >= 0)
    if is_complex(exponent):
        limit = limit & (imag(exponent) == 0)
    if (
        not _is_number(input) and kind(input) in "biu"
    ):  # the logarithm of a small int would be a half
        input = to_dtype(input, out_spec.dtype)
    if is_complex(out) and not is_complex(input):
        input = input + 0j  # negative bases have logarithms then
    return g * where(limit, 0, conj(out * log(input)))


def _of_integers(input: Spec | Weak, exponent: Spec | Weak) -> bool:
    """Whether it is an integer tensor to the power of a Python int, which must not be negative."""
    both = max(input.dtype.category, exponent.dtype.category) <= INTEGER
    return both and isinstance(exponent, Weak)


def _name(named: dict[str, Any]) -> str:
    if isinstance(named["exponent"], Weak):
        return "PowBackward0"
    return "PowBackward2" if isinstance(named["input"], Weak) else "PowBackward1"


@elementwise(
    vjp(
        "input: g conj(exponent input^(exponent - 1)); exponent: g conj(out log input)",
        input=_by_base,
        exponent=_by_exponent,
    ),
    aliases=("__pow__",),
    takes=NUMERIC,
    grad_name=_name,
    fallible=lambda operands: _of_integers(*operands),
    as_given=("exponent",),
    keeps_result=lambda operands: not any(isinstance(o, Weak) for o in operands),
    domain=(0.3, 2.5),
)
def pow(xp: Any, input: Array, exponent: Array) -> Array:
    """Raise input to the power of exponent."""
    if type(exponent) in (bool, int, float, complex):
        if input.dtype.kind in "iu":
            exponent = _no_fraction(exponent, input)
        shortcut = _SHORTCUTS.get(exponent)
        return xp.power(input, exponent) if shortcut is None else shortcut(xp, input)
    if exponent.dtype.kind == "c":
        return _complex_power(xp, input, exponent)
    whole = exponent.dtype.kind in "iu" and input.dtype.kind in "iu"
    if whole and not isinstance(exponent, np.generic):
        return _whole_power(xp, input, exponent)
    return xp.power(input, exponent)


def _complex_power(xp: Any, base: Array, exponent: Array) -> Array:
    """Complex powers; of 0 and of what is infinite by the logarithm, part by part, as in C."""
    found = xp.power(base, exponent)
    base = xp.asarray(base, found.dtype)
    odd = xp.logical_or(xp.equal(base, 0), xp.logical_not(xp.isfinite(base)))
    if not bool(xp.any(odd)):
        return found
    length = xp.log(xp.abs(base))
    most = xp.isinf(length)  # beside it a part that is NaN counts for nothing
    turn, across = (
        xp.where(xp.logical_and(most, xp.isnan(part)), 0, part)
        for part in (xp.angle(base), exponent.imag)
    )
    less = xp.where(xp.equal(base, 0), 0, xp.multiply(across, turn))
    grown = xp.subtract(xp.multiply(exponent.real, length), less)
    turned = xp.add(xp.multiply(across, length), xp.multiply(exponent.real, turn))
    power = xp.stack((grown, turned), -1).view(found.dtype)[..., 0]
    return xp.where(odd, xp.exp(power), found)


def _no_fraction(exponent: Any, input: Array) -> Any:
    """The exponent for a tensor of ints: refused where it is negative or too large for them."""
    if exponent < 0:
        raise error(
            "numerical_error",
            f"pow: integers to the power {exponent} are no integers",
            "convert the tensor to a floating dtype",
        )
    return fits("pow", exponent, dtype_of(input.dtype))


_SHORTCUTS = {
    1: lambda xp, x: xp.positive(x) if x.dtype.kind == "c" else xp.multiply(x, 1),
    2: lambda xp, x: xp.multiply(x, x),
    3: lambda xp, x: xp.multiply(xp.multiply(x, x), x),
    0.5: lambda xp, x: xp.sqrt(x),
    -0.5: lambda xp, x: xp.divide(1, xp.sqrt(x)),
    -1: lambda xp, x: xp.divide(1, x),
    -2: lambda xp, x: xp.divide(1, xp.multiply(x, x)),
}
"""Powers that products and roots give faster, as torch does."""


def _whole_power(xp: Any, input: Array, exponent: Array) -> Array:
    """Powers of integers: 1, -1 and 0 have negative ones, all others give 0 there."""
    below = xp.less(exponent, 0)
    sign = xp.subtract(1, xp.multiply(2, xp.bitwise_and(exponent, 1)))
    inverse = xp.where(xp.equal(input, -1), sign, xp.where(xp.equal(input, 1), 1, 0))
    return xp.where(below, inverse, xp.power(input, xp.where(below, 0, exponent)))


@composite(inplace=True)
def square(input: Array) -> Array:
    """The square of each element."""
    return pow(input, 2)


@composite(inplace=True)
def float_power(input: Array, exponent: Array) -> Array:
    """Raise input to the power of exponent, in float64 or complex128."""
    wide = complex128 if is_complex(input) or is_complex(exponent) else float64
    return pow(_widened(input, wide), _widened(exponent, wide))


def _widened(value: Any, dtype: Any) -> Any:
    if _is_number(value):
        return complex(value) if dtype is complex128 else float(value)
    return value if value.dtype is dtype else to_dtype(value, dtype)
