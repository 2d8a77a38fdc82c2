"""Comparisons and tests of elements, with bool results and no derivative."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradwire_engine.accepted import one_dtype
from gradwire_engine.arrays import Array, copied
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import REAL, elementwise, to_bool
from gradwire_engine.op import Primitive


def _comparison(name: str, function: str, doc: str, *aliases: str, **facts: Any) -> Primitive:
    """Declare a comparison, which is a function of the array library."""

    def kernel(xp: Any, input: Array, other: Array) -> Array:
        return getattr(xp, function)(input, other)

    kernel.__doc__ = f"Whether {doc}."
    made = partial(elementwise, result=to_bool, exact=True, numbers=("other",))
    return made(name=name, aliases=aliases, **facts)(kernel)


eq = _comparison("eq", "equal", "two elements are equal", "__eq__")
ne = _comparison(
    "ne", "not_equal", "two elements differ; NaN differs from everything", "not_equal", "__ne__"
)
lt = _comparison("lt", "less", "input is less than other", "less", "__lt__", takes=REAL)
le = _comparison(
    "le", "less_equal", "input is less than or equal to other", "less_equal", "__le__", takes=REAL
)
gt = _comparison("gt", "greater", "input is greater than other", "greater", "__gt__", takes=REAL)
ge = _comparison(
    "ge",
    "greater_equal",
    "input is greater than or equal to other",
    "greater_equal",
    "__ge__",
    takes=REAL,
)


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
