"""Comparisons and tests of elements, with bool results and no derivative."""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import one_dtype
from gradwire_engine.arrays import Array, copied
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import REAL, elementwise, to_bool


@elementwise(aliases=("__eq__",), result=to_bool, exact=True, numbers=("other",))
def eq(xp: Any, input: Array, other: Array) -> Array:
    """Whether two elements are equal."""
    return xp.equal(input, other)


@elementwise(aliases=("not_equal", "__ne__"), result=to_bool, exact=True, numbers=("other",))
def ne(xp: Any, input: Array, other: Array) -> Array:
    """Whether two elements differ; NaN differs from everything."""
    return xp.not_equal(input, other)


@elementwise(aliases=("less", "__lt__"), result=to_bool, takes=REAL, exact=True, numbers=("other",))
def lt(xp: Any, input: Array, other: Array) -> Array:
    """Whether input is less than other."""
    return xp.less(input, other)


@elementwise(
    numbers=("other",), aliases=("less_equal", "__le__"), result=to_bool, takes=REAL, exact=True
)
def le(xp: Any, input: Array, other: Array) -> Array:
    """Whether input is less than or equal to other."""
    return xp.less_equal(input, other)


@elementwise(
    numbers=("other",), aliases=("greater", "__gt__"), result=to_bool, takes=REAL, exact=True
)
def gt(xp: Any, input: Array, other: Array) -> Array:
    """Whether input is greater than other."""
    return xp.greater(input, other)


@elementwise(
    numbers=("other",), aliases=("greater_equal", "__ge__"), result=to_bool, takes=REAL, exact=True
)
def ge(xp: Any, input: Array, other: Array) -> Array:
    """Whether input is greater than or equal to other."""
    return xp.greater_equal(input, other)


@elementwise(result=to_bool, inplace=False, exact=True)
def isnan(xp: Any, input: Array) -> Array:
    """Whether an element is NaN; a complex one if either part is."""
    return xp.not_equal(input, input)


@elementwise(result=to_bool, inplace=False)
def isinf(xp: Any, input: Array) -> Array:
    """Whether an element is infinite; a complex one if either part is."""
    return xp.isinf(input)


@elementwise(result=to_bool, inplace=False, looks_back=True)
def isfinite(xp: Any, input: Array) -> Array:
    """Whether an element is finite, both parts of a complex one."""
    return xp.isfinite(input)


@elementwise(result=to_bool, takes=REAL, inplace=False, exact=True)
def isposinf(xp: Any, input: Array) -> Array:
    """Whether an element is plus infinity."""
    return xp.equal(input, _INFINITY)


@elementwise(result=to_bool, takes=REAL, inplace=False, exact=True)
def isneginf(xp: Any, input: Array) -> Array:
    """Whether an element is minus infinity."""
    return xp.equal(input, -_INFINITY)


_INFINITY = float("inf")


@elementwise(result=to_bool, inplace=False, exact=True)
def isreal(xp: Any, input: Array) -> Array:
    """Whether an element's imaginary part is zero."""
    return xp.equal(input.imag, 0) if input.dtype.kind == "c" else xp.logical_or(input, True)


@elementwise(result=to_bool, takes=REAL, inplace=False)
def signbit(xp: Any, input: Array) -> Array:
    """Whether an element's sign bit is set: negative numbers and minus zero."""
    return xp.signbit(input) if input.dtype.kind == "f" else xp.less(input, 0)


def _comparable(named: dict[str, Any]) -> None:
    one_dtype("isclose", input=named["input"], other=named["other"])
    for name in ("rtol", "atol"):
        if named[name] < 0:
            raise invalid_argument(f"isclose: {name} is {named[name]}", "it must be 0 or more")


@elementwise(result=to_bool, inplace=False, check=_comparable, numbers=())
def isclose(
    xp: Any,
    input: Array,
    other: Array,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether |input - other| <= atol + rtol |other|; infinities are close to themselves only."""
    if input.dtype.kind in "biu":
        return _close_ints(xp, input, other, rtol, atol)
    apart = xp.abs(xp.subtract(input, other))
    near = xp.less_equal(apart, xp.add(xp.multiply(xp.abs(other), rtol), atol))
    near = xp.logical_and(near, xp.isfinite(apart))
    near = xp.logical_or(near, xp.equal(input, other))
    if equal_nan:
        both = xp.logical_and(xp.not_equal(input, input), xp.not_equal(other, other))
        near = xp.logical_or(near, both)
    return near


def _close_ints(xp: Any, input: Array, other: Array, rtol: float, atol: float) -> Array:
    wide = xp.dtype("float64")
    a, b = copied(xp.asarray(input), wide), copied(xp.asarray(other), wide)
    return xp.less_equal(xp.abs(a - b), xp.add(xp.multiply(xp.abs(b), rtol), atol))
