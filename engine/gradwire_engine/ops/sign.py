"""Signs and absolute values."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array, copied
from gradwire_engine.families import NUMERIC, REAL, elementwise
from gradwire_engine.kernels.select import chosen
from gradwire_engine.ops.arithmetic import conj, is_complex
from gradwire_engine.ops.choose import where, zero_of
from gradwire_engine.rule import vjp
from gradwire_engine.spec import real_of


@elementwise(
    vjp("g sgn(input)", input=lambda g, input: g * sgn(input)),
    aliases=("absolute", "__abs__"),
    takes=NUMERIC,
    result=real_of,
)
def abs(xp: Any, input: Array) -> Array:
    """The absolute value of each element; the length of complex ones."""
    return xp.abs(input)


@elementwise(vjp("0", input=lambda g: zero_of(g)), takes=REAL)
def sign(xp: Any, input: Array) -> Array:
    """-1, 0 or 1 by the sign of each element."""
    if input.dtype.kind == "b":
        return copied(input, input.dtype)
    return _real_sign(xp, input)


def _real_sign(xp: Any, x: Array) -> Array:
    """Torch has 0 where the element is NaN."""
    return xp.subtract(xp.greater(x, 0).astype(x.dtype), xp.less(x, 0).astype(x.dtype))


def _across(g: Any, input: Any, out: Any) -> Any:
    """What of a gradient turns a direction: its part across the direction."""
    if not is_complex(input):
        return zero_of(g)
    length = abs(input)
    return where(length == 0, 0, (g - out * out * conj(g)) / (length * 2))


@elementwise(vjp("0 where real; (g - out² conj(g)) / (2 |input|)", input=_across), symmetric=True)
def sgn(xp: Any, input: Array) -> Array:
    """The sign of each element; complex ones brought to length 1, zero stays zero."""
    if input.dtype.kind == "b":
        return copied(input, input.dtype)
    if input.dtype.kind != "c":
        return _real_sign(xp, input)
    length = xp.abs(input)
    return chosen(xp, xp.equal(length, 0), 0, xp.divide(input, length))
