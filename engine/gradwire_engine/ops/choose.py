"""Picking one of several elements: where, masks, limits, the larger and the smaller of two."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import REAL, elementwise
from gradwire_engine.one_pass import one_pass
from gradwire_engine.ops.compare import isfinite
from gradwire_engine.promote import Weak
from gradwire_engine.rule import vjp
from gradwire_engine.select import chosen
from gradwire_engine.spec import BOOL, Spec
from gradwire_engine.sweeps import swept


def _needs_condition(named: dict[str, Any]) -> None:
    spec = named["condition"]
    if spec.dtype.category != BOOL:
        raise error(
            "dtype_mismatch",
            f"where: the condition must be bool, it is {spec}",
            "compare it with something, for instance condition != 0",
        )


@elementwise(
    vjp(
        input=lambda g, condition: where(condition, g, 0),
        other=lambda g, condition: where(condition, 0, g),
    ),
    unpromoted=("condition",),
    inplace=False,
    check=_needs_condition,
    formula="input: g where condition; other: g elsewhere",
    numbers=("input", "other"),
)
@swept
def where(xp: Any, condition: Array, input: Array, other: Array) -> Array:
    """Take elements of input where the condition holds, of other elsewhere."""
    return chosen(xp, condition, input, other)


@elementwise(name="zero_of", public=False, exact=True)
def zero_of(xp: Any, input: Array) -> Array:
    """Zeros in a tensor's shape: the derivative of what is constant but for its jumps."""
    return xp.zeros_like(input)


def _needs_mask(named: dict[str, Any]) -> None:
    input, mask, value = named["input"], named["mask"], named["value"]
    if mask.dtype.category != BOOL:
        raise error(
            "dtype_mismatch",
            f"masked_fill: the mask must be bool, it is {mask}",
            "compare it with something, for instance mask != 0",
        )
    if isinstance(value, Spec) and value.shape:
        raise error(
            "shape_mismatch",
            f"masked_fill: the value must have no axes, it has shape {list(value.shape)}",
            "use where for a value per element",
        )
    if value.dtype.category > max(input.dtype.category, 1):
        raise error(
            "dtype_mismatch",
            f"masked_fill: a value of {value} cannot be put into {input}",
            "convert the tensor first",
        )


@elementwise(
    vjp(
        input=lambda g, mask: where(mask, 0, g),
        value=lambda g, mask: where(mask, g, 0),
    ),
    unpromoted=("mask", "value"),
    check=_needs_mask,
    grad_name=lambda named: f"MaskedFillBackward{int(not isinstance(named['value'], Weak))}",
    formula="input: g where the mask is False; value: the sum of g where it is True",
    numbers=("value",),
)
def masked_fill(xp: Any, input: Array, mask: Array, value: Array) -> Array:
    """Put one value wherever the mask is True."""
    return chosen(xp, mask, xp.asarray(value).astype(input.dtype), input)


def _needs_limit(named: dict[str, Any]) -> None:
    if named["min"] is None and named["max"] is None:
        raise error(
            "invalid_argument",
            "clamp: neither min nor max was given",
            "give at least one of them",
        )


def _within(input: Any, min: Any, max: Any) -> Any:
    if max is None:
        return input >= min
    return input <= max if min is None else (input >= min) & (input <= max)


def _takes_min(input: Any, min: Any, max: Any) -> Any:
    return input < min if max is None else (min < max) & (input < min)


def _takes_max(input: Any, min: Any, max: Any) -> Any:
    return input > max if min is None else (input > max) | (max < min)


def _limit_name(kind: str) -> Any:
    """Torch's names: one for numbers as limits, one for tensors."""
    numbers, tensors = (1, 0) if kind == "Clamp" else (0, 1)

    def name(named: dict[str, Any]) -> str:
        number = any(isinstance(named.get(limit), Weak) for limit in ("min", "max"))
        return f"{kind}Backward{numbers if number else tensors}"

    return name


@elementwise(
    vjp(
        input=lambda g, input, min, max: where(_within(input, min, max), g, 0),
        min=lambda g, input, min, max: where(_takes_min(input, min, max), g, 0),
        max=lambda g, input, min, max: where(_takes_max(input, min, max), g, 0),
    ),
    aliases=("clip",),
    takes=REAL,
    check=_needs_limit,
    grad_name=_limit_name("Clamp"),
    formula="input: g where min <= input <= max; min, max: g where the limit is taken",
    numbers=("min", "max"),
)
def clamp(xp: Any, input: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """Limit each element to between min and max; max wins where they cross."""
    if max is None:
        return xp.maximum(input, min)
    return xp.minimum(input if min is None else xp.maximum(input, min), max)


@elementwise(
    vjp(
        input=lambda g, input, min: where(input >= min, g, 0),
        min=lambda g, input, min: where(input < min, g, 0),
    ),
    takes=REAL,
    grad_name=_limit_name("ClampMin"),
    formula="input: g where input >= min; min: g elsewhere",
    numbers=("min",),
)
def clamp_min(xp: Any, input: Array, min: Array) -> Array:
    """Limit each element from below."""
    return xp.maximum(input, min)


@elementwise(
    vjp(
        input=lambda g, input, max: where(input <= max, g, 0),
        max=lambda g, input, max: where(input > max, g, 0),
    ),
    takes=REAL,
    grad_name=_limit_name("ClampMax"),
    formula="input: g where input <= max; max: g elsewhere",
    numbers=("max",),
)
def clamp_max(xp: Any, input: Array, max: Array) -> Array:
    """Limit each element from above."""
    return xp.minimum(input, max)


def _halved(g: Any, a: Any, b: Any) -> Any:
    return where(a < b, 0, where(a == b, g / 2, g))


@one_pass(_halved)
def _to_larger(xp: Any, g: Any, a: Any, b: Any) -> Any:
    """The gradient where `a` is larger than `b`; half of it where the two are equal."""
    tie = xp.equal(a, b)
    if type(tie) is not np.ndarray or tie.any():
        g = chosen(xp, tie, g / 2, g)
    return chosen(xp, xp.less(a, b), 0, g)


@elementwise(
    vjp(
        input=lambda g, input, other: _to_larger(g, input, other),
        other=lambda g, input, other: _to_larger(g, other, input),
    ),
    takes=REAL,
    inplace=False,
    formula="g to the larger; half each where equal",
    numbers=(),
)
def maximum(xp: Any, input: Array, other: Array) -> Array:
    """The larger of two elements; NaN if one is NaN."""
    return xp.maximum(input, other)


@elementwise(
    vjp(
        input=lambda g, input, other: _to_larger(g, other, input),
        other=lambda g, input, other: _to_larger(g, input, other),
    ),
    takes=REAL,
    inplace=False,
    formula="g to the smaller; half each where equal",
    numbers=(),
)
def minimum(xp: Any, input: Array, other: Array) -> Array:
    """The smaller of two elements; NaN if one is NaN."""
    return xp.minimum(input, other)


@elementwise(
    vjp(
        input=lambda g, input, other: where((input >= other) | (other != other), g, 0),
        other=lambda g, input, other: where((input >= other) | (other != other), 0, g),
    ),
    takes=REAL,
    inplace=False,
    formula="g to the larger; to input where equal",
    numbers=(),
)
def fmax(xp: Any, input: Array, other: Array) -> Array:
    """The larger of two elements; the other one if one is NaN."""
    return xp.fmax(input, other)


@elementwise(
    vjp(
        input=lambda g, input, other: where((input <= other) | (other != other), g, 0),
        other=lambda g, input, other: where((input <= other) | (other != other), 0, g),
    ),
    takes=REAL,
    inplace=False,
    formula="g to the smaller; to input where equal",
    numbers=(),
)
def fmin(xp: Any, input: Array, other: Array) -> Array:
    """The smaller of two elements; the other one if one is NaN."""
    return xp.fmin(input, other)


@elementwise(
    vjp(input=lambda g, input: where(isfinite(input), g, 0)),
    exact=True,
    formula="g where the element is finite",
)
def nan_to_num(
    xp: Any,
    input: Array,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """Replace NaN by a number (0) and infinities by finite numbers (the dtype's largest)."""
    if input.dtype.kind in "biu":
        return xp.array(input)
    if input.dtype.kind == "c":
        out = xp.empty_like(input)
        out.real = _finite(xp, input.real, nan, posinf, neginf)
        out.imag = _finite(xp, input.imag, nan, posinf, neginf)
        return out
    return _finite(xp, input, nan, posinf, neginf)


def _finite(
    xp: Any, x: Array, nan: float | None, posinf: float | None, neginf: float | None
) -> Array:
    number, top = x.dtype.type, ml_dtypes.finfo(x.dtype).max
    out = chosen(xp, x != x, number(0.0 if nan is None else nan), x)
    out = chosen(xp, x > top, number(top if posinf is None else posinf), out)
    return chosen(xp, x < -top, number(-top if neginf is None else neginf), out)
