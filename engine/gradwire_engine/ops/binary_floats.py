"""Floats taken apart and put together: signs, exponents, neighbours, steps."""

from __future__ import annotations

from math import log
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch
from gradwire_engine.families import (
    FLOAT_ONLY,
    REAL,
    elementwise,
    in_floats,
    in_real_floats,
    primitive,
)
from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.choose import where, zero_of
from gradwire_engine.ops.exponential import exp2
from gradwire_engine.promote import Weak
from gradwire_engine.rule import NOT_IMPLEMENTED, unknown, vjp
from gradwire_engine.spec import FLOAT, Spec, int32


@in_real_floats(
    vjp(
        "input: g out / input, 0 at 0; other: 0",
        input=lambda g, input, out: g * where(input == 0, 0, out / input),
        other=lambda g: zero_of(g),
    ),
    grad_name=lambda named: f"CopysignBackward{int(isinstance(named['other'], Weak))}",
    numbers=("other",),
    keeps=("out",),
)
def copysign(xp: Any, input: Array, other: Array) -> Array:
    """The size of input with the sign of other."""
    return xp.copysign(input, other)


@in_floats(
    vjp(
        "input: g conj(2^other); other: g conj(out log 2)",
        input=lambda g, other: g * conj(2**other),
        other=lambda g, out: g * conj(out * log(2)),
    ),
    numbers=(),
)
def ldexp(xp: Any, input: Array, other: Array) -> Array:
    """input times 2 to the power of other."""
    return xp.multiply(input, xp.power(2.0, other))


@elementwise(
    vjp(
        "input: g where it differs from other; other: 0",
        input=lambda g, input, other: where(input == other, 0, g),
        other=lambda g: zero_of(g),
    ),
    takes=FLOAT_ONLY,
    exact=True,
    numbers=(),
)
def nextafter(xp: Any, input: Array, other: Array) -> Array:
    """The float next to input on the way to other."""
    return xp.nextafter(input, other)


def _mantissa_and_exponent(input: Spec) -> tuple[Spec, Spec]:
    if input.dtype.category != FLOAT:
        raise dtype_mismatch(f"frexp: not defined for {input.dtype.name}", "it takes floats")
    return input, input.with_(dtype=int32)


@primitive(
    vjp("g_mantissa / 2^exponent", input=lambda g_mantissa, exponent: g_mantissa / exp2(exponent)),
    spec=_mantissa_and_exponent,
    family="elementwise",
    outputs=("mantissa", "exponent"),
)
def frexp(xp: Any, input: Array) -> tuple[Array, Array]:
    """Each element as a mantissa from 1/2 to 1 and a power of two."""
    return xp.frexp(input)


def _of_one_dtype(named: dict[str, Any]) -> None:
    """Nothing is converted here, as in torch."""
    if named["input"].dtype is not named["values"].dtype:
        raise dtype_mismatch(
            f"heaviside: input is {named['input'].dtype.name}, values {named['values'].dtype.name}",
            "convert one of them",
        )


@elementwise(
    unknown("heaviside", "input", "values"),
    takes=REAL,
    numbers=(),
    check=_of_one_dtype,
    grad_name=NOT_IMPLEMENTED,
)
def heaviside(xp: Any, input: Array, values: Array) -> Array:
    """0 below zero, 1 above, and at zero the element of values."""
    step = xp.where(xp.equal(input, 0), values, xp.greater(input, 0))
    return xp.where(xp.not_equal(input, input), 0, step)
