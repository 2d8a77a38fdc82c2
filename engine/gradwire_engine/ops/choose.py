"""Picking one of two elements: where, masks, what stands for NaN and infinities."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from gradwire_engine.arrays import Array, copied
from gradwire_engine.batch.rules import parts
from gradwire_engine.errors import dtype_mismatch, shape_mismatch
from gradwire_engine.families import elementwise
from gradwire_engine.kernels.select import chosen
from gradwire_engine.kernels.sweeps import swept
from gradwire_engine.laid import ROWS
from gradwire_engine.ops.arithmetic import of_its_kind
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.compare import isfinite
from gradwire_engine.ops.creation import fits
from gradwire_engine.promote import Weak
from gradwire_engine.rule import vjp
from gradwire_engine.spec import BOOL, COMPLEX, INTEGER, Spec, bool_, dtype_of, uint8


def _needs_condition(named: dict[str, Any]) -> None:
    spec = named["condition"]
    if spec.dtype not in (bool_, uint8):
        raise dtype_mismatch(
            f"where: the condition must be bool, it is {spec}",
            "compare it with something, for instance condition != 0",
        )


@elementwise(
    vjp(
        "input: g where condition; other: g elsewhere",
        input=lambda g, condition, input_spec, other_spec: where(
            condition, of_its_kind("where", g, input_spec, other_spec), 0
        ),
        other=lambda g, condition, other_spec, input_spec: where(
            condition, 0, of_its_kind("where", g, other_spec, input_spec)
        ),
    ),
    unpromoted=("condition",),
    inplace=False,
    check=_needs_condition,
    numbers=("input", "other"),
)
@swept
def where(xp: Any, condition: Array, input: Array, other: Array) -> Array:
    """Take elements of input where the condition holds, of other elsewhere."""
    return chosen(xp, condition, input, other)


@elementwise(public=False, exact=True)
def zero_of(xp: Any, input: Array) -> Array:
    """Zeros in a tensor's shape: the derivative of what is constant but for its jumps."""
    return xp.zeros_like(input)


def _needs_mask(named: dict[str, Any]) -> None:
    mask, value = named["mask"], named["value"]
    if mask.dtype.category != BOOL:
        raise dtype_mismatch(
            f"masked_fill: the mask must be bool, it is {mask}",
            "compare it with something, for instance mask != 0",
        )
    if isinstance(value, Spec) and value.shape:
        raise shape_mismatch(
            f"masked_fill: the value must have no axes, it has shape {list(value.shape)}",
            "use where for a value per element",
        )


def may_not_fit(input: Spec, value: Spec | Weak) -> bool:
    """Whether it takes a look at a value to say if a tensor can hold it."""
    if input.dtype.category in (BOOL, COMPLEX) or value.dtype is input.dtype:
        return False
    whole = input.dtype.category == INTEGER
    return whole or isinstance(value, Spec) or value.dtype.category == COMPLEX


@elementwise(
    vjp(
        "input: g where the mask is False; value: the sum of g where it is True",
        input=lambda g, mask: where(mask, 0, g),
        value=lambda g, mask: where(mask, g, 0),
    ),
    unpromoted=("mask", "value"),
    batch=parts(  # the value may differ from example to example
        lambda input, mask, value: where(
            mask, to_dtype(value, input.dtype) if hasattr(value, "spec") else value, input
        )
    ),
    check=_needs_mask,
    fallible=lambda operands: may_not_fit(operands[0], operands[2]),
    grad_name=lambda named: f"MaskedFillBackward{int(not isinstance(named['value'], Weak))}",
    looks_back=True,
    numbers=("value",),
    lies=ROWS,
)
def masked_fill(xp: Any, input: Array, mask: Array, value: Array) -> Array:
    """Put one value wherever the mask is True."""
    if not hasattr(value, "dtype") or value.dtype != input.dtype:
        value = fits("masked_fill", value, dtype_of(input.dtype))
    return chosen(xp, mask, xp.asarray(value).astype(input.dtype), input)


@elementwise(
    vjp("g where the element is finite", input=lambda g, input: g * isfinite(input)),
    exact=True,
    real_gradients=True,
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
        return copied(input, input.dtype)
    if input.dtype.kind == "c":
        out = copied(input, input.dtype)
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
