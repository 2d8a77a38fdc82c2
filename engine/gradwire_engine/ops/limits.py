"""Limits of elements: clamp, the larger and the smaller of two."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import REAL, elementwise
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.select import chosen
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.creation import fits
from gradwire_engine.promote import Weak, broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.spec import bool_, dtype_of


def _needs_limit(named: dict[str, Any]) -> None:
    if named["min"] is None and named["max"] is None:
        raise invalid_argument("clamp: neither min nor max was given", "give at least one of them")
    if None not in (named["min"], named["max"]) and _is_number(named["min"]) != _is_number(
        named["max"]
    ):
        raise invalid_argument(
            f"clamp: min is {named['min']}, max is {named['max']}",
            "give two tensors or two numbers",
            raised=TypeError,
        )
    limits = [named[name] for name in ("min", "max") if named[name] is not None]
    if len(limits) == 2 or _is_number(limits[0]):
        _no_bools("clamp", named["input"], *limits)


def _no_bools(asked: str, input: Any, *limits: Any) -> None:
    """Bools are limited by a tensor alone, as the larger or the smaller of two."""
    if all(x.dtype is bool_ for x in (input, *limits)):
        raise dtype_mismatch(
            f"{asked}: bools have no such limits",
            "give one tensor of bools, or use logical_and and logical_or",
            raised=NotImplementedError,
        )


def _no_number_of_bools(name: str) -> Any:
    def check(named: dict[str, Any]) -> None:
        if _is_number(named[name]):
            _no_bools(f"clamp_{name}", named["input"], named[name])

    return check


def _is_number(limit: Any) -> bool:
    return isinstance(limit, Weak)


def _within(input: Any, min: Any, max: Any) -> Any:
    if max is None:
        return input >= min
    return input <= max if min is None else _fitted(input >= min, input <= max) & (input <= max)


def _takes_min(input: Any, min: Any, max: Any) -> Any:
    return input < min if max is None else _fitted(input < min, min < max) & (min < max)


def _takes_max(input: Any, min: Any, max: Any) -> Any:
    return input > max if min is None else _fitted(input > max, max < min) | (max < min)


def _fitted(first: Any, second: Any) -> Any:
    """The first of two conditions; torch writes the second into it, which must not be larger."""
    if broadcast_shapes("clamp", first.shape, getattr(second, "shape", ())) != first.shape:
        raise shape_mismatch(
            f"backward: clamp compares its tensor with one limit in shape {list(first.shape)}, "
            f"which has to hold the comparison with the other, of shape {list(second.shape)}",
            "expand the tensor to the shape of the result before",
        )
    return first


def _limit_name(kind: str) -> Any:
    """Torch's names: one for numbers as limits, one for tensors."""
    numbers, tensors = (1, 0) if kind == "Clamp" else (0, 1)

    def name(named: dict[str, Any]) -> str:
        number = any(isinstance(named.get(limit), Weak) for limit in ("min", "max"))
        return f"{kind}Backward{numbers if number else tensors}"

    return name


def _limit(limit: Any, input: Array) -> Any:
    """A number that limits a tensor of ints must be one that fits into them."""
    if input.dtype.kind in "iu" and limit is not None and not hasattr(limit, "dtype"):
        return fits("clamp", limit, dtype_of(input.dtype))
    return limit


@elementwise(
    vjp(
        "input: g where min <= input <= max; min, max: g where the limit is taken",
        input=lambda g, input, min, max: where(_within(input, min, max), g, 0),
        min=lambda g, input, min, max: where(_takes_min(input, min, max), g, 0),
        max=lambda g, input, min, max: where(_takes_max(input, min, max), g, 0),
    ),
    aliases=("clip",),
    takes=REAL,
    check=_needs_limit,
    grad_name=_limit_name("Clamp"),
    numbers=("min", "max"),
    as_given=("min", "max"),
)
def clamp(xp: Any, input: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """Limit each element to between min and max; max wins where they cross."""
    min, max = _limit(min, input), _limit(max, input)
    if max is None:
        return xp.maximum(min, input)
    return xp.minimum(input if min is None else xp.maximum(min, input), max)


@elementwise(
    vjp(
        "input: g where input >= min; min: g elsewhere",
        input=lambda g, input, min: where(input >= min, g, 0),
        min=lambda g, input, min: where(input < min, g, 0),
    ),
    takes=REAL,
    check=_no_number_of_bools("min"),
    grad_name=_limit_name("ClampMin"),
    numbers=("min",),
    as_given=("min",),
)
def clamp_min(xp: Any, input: Array, min: Array) -> Array:
    """Limit each element from below."""
    return xp.maximum(_limit(min, input), input)


@elementwise(
    vjp(
        "input: g where input <= max; max: g elsewhere",
        input=lambda g, input, max: where(input <= max, g, 0),
        max=lambda g, input, max: where(input > max, g, 0),
    ),
    takes=REAL,
    check=_no_number_of_bools("max"),
    grad_name=_limit_name("ClampMax"),
    numbers=("max",),
    as_given=("max",),
)
def clamp_max(xp: Any, input: Array, max: Array) -> Array:
    """Limit each element from above."""
    return xp.minimum(input, _limit(max, input))


of_two = partial(elementwise, takes=REAL, inplace=False, numbers=())
"""An op that is one of two elements."""


@one_pass(lambda g, a, b: where(a < b, 0, where(a == b, g / 2, g)))
def _to_larger(xp: Any, g: Any, a: Any, b: Any) -> Any:
    """The gradient where `a` is larger than `b`; half of it where the two are equal."""
    tie = xp.equal(a, b)
    if type(tie) is not np.ndarray or tie.any():
        g = chosen(xp, tie, g / 2, g)
    return chosen(xp, xp.less(a, b), 0, g)


@of_two(
    vjp(
        "g to the larger; half each where equal",
        input=lambda g, input, other: _to_larger(g, input, other),
        other=lambda g, input, other: _to_larger(g, other, input),
    ),
)
def maximum(xp: Any, input: Array, other: Array) -> Array:
    """The larger of two elements; NaN if one is NaN."""
    return xp.maximum(input, other)


@of_two(
    vjp(
        "g to the smaller; half each where equal",
        input=lambda g, input, other: _to_larger(g, other, input),
        other=lambda g, input, other: _to_larger(g, input, other),
    ),
)
def minimum(xp: Any, input: Array, other: Array) -> Array:
    """The smaller of two elements; NaN if one is NaN."""
    return xp.minimum(input, other)


@of_two(
    vjp(
        "g to the larger; to input where equal",
        input=lambda g, input, other: where((input >= other) | (other != other), g, 0),
        other=lambda g, input, other: where((input >= other) | (other != other), 0, g),
    ),
)
def fmax(xp: Any, input: Array, other: Array) -> Array:
    """The larger of two elements; the other one if one is NaN."""
    return xp.fmax(input, other)


@of_two(
    vjp(
        "g to the smaller; to input where equal",
        input=lambda g, input, other: where((input <= other) | (other != other), g, 0),
        other=lambda g, input, other: where((input <= other) | (other != other), 0, g),
    ),
)
def fmin(xp: Any, input: Array, other: Array) -> Array:
    """The smaller of two elements; the other one if one is NaN."""
    return xp.fmin(input, other)
