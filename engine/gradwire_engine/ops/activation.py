"""Activations with a bend: linear on both sides of a point or two."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import FLOAT_ONLY, REAL_NUMERIC, F, composite, elementwise
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.kernels.select import chosen, zeroed
from gradwire_engine.kernels.sweeps import LARGE, swept
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.choose import where, zero_of
from gradwire_engine.ops.expand import reshape
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Number, uint8

of_floats = partial(elementwise, space=F, takes=FLOAT_ONLY)
"""An activation that is defined for floats."""

of_numbers = partial(elementwise, space=F, takes=REAL_NUMERIC)
"""And for integers."""

inner = partial(elementwise, takes=FLOAT_ONLY, public=False)
"""An op that activations and their derivatives are written in."""


@one_pass(lambda g, out: gate(g, out, 0))
def _through_relu(xp: Any, g: Array, out: Array) -> Array:
    """The gradient where relu's result is above 0 or NaN, else 0."""
    if g.size < LARGE and out.shape:
        return zeroed(xp, xp.less_equal(out, 0), g)
    return gate.kernel(xp, g, out, 0)


@of_numbers(vjp("g where out > 0", input=lambda g, out: _through_relu(g, out)), domain=(0.1, 3.0))
def relu(xp: Any, input: Array) -> Array:
    """Each element where it is positive, else 0."""
    return xp.maximum(0, input)  # which of two zeros is the second, -0 among them


@inner(
    vjp(
        grad_output=lambda g, input, threshold: gate(g, input, threshold),
        input=lambda g: zero_of(g),
    ),
    name="threshold_backward",
)
@swept
def gate(xp: Any, grad_output: Array, input: Array, threshold: Number) -> Array:
    """The gradient where input is above a threshold or NaN, else 0."""
    return chosen(xp, xp.less_equal(input, threshold), 0, grad_output)


@of_numbers(
    vjp("g where input > threshold", input=lambda g, input, threshold: gate(g, input, threshold))
)
@swept
def threshold(xp: Any, input: Array, threshold: float, value: float) -> Array:
    """Each element where it is above a threshold, else a value."""
    return chosen(xp, xp.less_equal(input, threshold), input.dtype.type(value), input)


@inner(
    vjp(
        grad_output=lambda g, input, low, high: gate_between(g, input, low, high),
        input=lambda g: zero_of(g),
    ),
    name="hardtanh_backward",
)
@swept
def gate_between(xp: Any, grad_output: Array, input: Array, low: Number, high: Number) -> Array:
    """The gradient where input is between two limits, else 0."""
    inside = xp.logical_and(xp.greater(input, low), xp.less(input, high))
    return chosen(xp, inside, grad_output, 0)


@inner(
    vjp(
        grad_output=lambda g, input, lambd: gate_outside(g, input, lambd),
        input=lambda g: zero_of(g),
    ),
    name="hardshrink_backward",
)
@swept
def gate_outside(xp: Any, grad_output: Array, input: Array, lambd: Number) -> Array:
    """The gradient where input is farther than lambd from 0, else 0."""
    return chosen(xp, xp.greater(xp.abs(input), lambd), grad_output, 0)


def _limits_in_order(named: dict[str, Any]) -> None:
    low, high = named["min_val"], named["max_val"]
    if low > high:
        raise invalid_argument(
            f"hardtanh: min_val {low} is above max_val {high}",
            "give the smaller one as min_val",
            raised=ValueError,
        )
    if low <= -1 and named["input"].dtype is uint8:  # as an integer; what is beyond -1 is 0
        raise dtype_mismatch(
            f"hardtanh: min_val is {low}, the tensor unsigned",
            "convert the tensor, or limit it to positive numbers",
        )


def _limited(xp: Any, input: Array, low: float, high: float) -> Array:
    kind = int if input.dtype.kind in "iu" else float
    return xp.minimum(kind(high), xp.maximum(kind(low), input))  # a zero keeps its sign


@of_numbers(
    vjp(input=lambda g, input, min_val, max_val: gate_between(g, input, min_val, max_val)),
    check=_limits_in_order,
    formula="g where min_val < input < max_val",
)
@swept
def hardtanh(xp: Any, input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """Each element limited to between min_val and max_val."""
    return _limited(xp, input, min_val, max_val)


@of_numbers(
    vjp("g where 0 < input < 6", input=lambda g, input: gate_between(g, input, 0, 6)),
    grad_name="HardtanhBackward0",
    domain=(0.1, 5.0),
)
@swept
def relu6(xp: Any, input: Array) -> Array:
    """Each element limited to between 0 and 6."""
    return _limited(xp, input, 0, 6)


@of_floats(
    vjp(input=lambda g, input, negative_slope: leaky_gate(g, input, negative_slope)),
    formula="g where input > 0, else g negative_slope",
)
@swept
def leaky_relu(xp: Any, input: Array, negative_slope: float = 0.01) -> Array:
    """Each element where it is positive, else a small part of it."""
    scaled = xp.multiply(input, negative_slope)
    if 0 <= negative_slope <= 1:
        return xp.maximum(input, scaled)
    return chosen(xp, xp.greater(input, 0), input, scaled)


@inner(
    vjp(
        grad_output=lambda g, input, slope: leaky_gate(g, input, slope),
        input=lambda g: zero_of(g),
        slope=lambda g, grad_output, input: where(input > 0, 0, g * grad_output),
    ),
    name="leaky_relu_backward",
)
@swept
def leaky_gate(xp: Any, grad_output: Array, input: Array, slope: Array) -> Array:
    """The gradient where input is positive, else the slope's part of it."""
    return chosen(xp, xp.greater(input, 0), grad_output, xp.multiply(grad_output, slope))


@inner(
    vjp(
        input=lambda g, input, weight: leaky_gate(g, input, weight),
        weight=lambda g, input, weight: beside(
            where(input > 0, 0, g * input),
            weight,
            zeros=True,
            called="PreluKernelBackwardBackward0",
        ),
    ),
    name="prelu_kernel",
)
def _prelu(xp: Any, input: Array, weight: Array) -> Array:
    """Each element where it is positive, else times a weight of the same shape."""
    return chosen(xp, xp.greater(input, 0), input, xp.multiply(input, weight))


@composite(space=F)
def prelu(input: Array, weight: Array) -> Array:
    """Each element where it is positive, else times a learned weight: one, or one per channel."""
    channels = input.shape[1] if len(input.shape) > 1 else 1
    size = weight.shape[0] if len(weight.shape) == 1 else 1
    if len(weight.shape) > 1 or size not in (1, channels):
        raise shape_mismatch(
            f"prelu: the weight has shape {list(weight.shape)}, input {list(input.shape)} has "
            f"{channels} channel(s)",
            "give one weight, or one for each channel (axis 1)",
        )
    if input.dtype != weight.dtype:
        raise dtype_mismatch(
            f"prelu: the input is {input.dtype}, the weight {weight.dtype}", "convert one of them"
        )
    if len(weight.shape) == 1 and len(input.shape) != 1:
        weight = reshape(weight, (1, size, *(1 for _ in input.shape[2:])) if input.shape else ())
    return _prelu(input, weight)


@of_floats(
    vjp("g / 6 where -3 < input < 3", input=lambda g, input: gate_between(g, input, -3, 3) / 6),
    domain=(-2.8, 2.8),
)
@swept
def hardsigmoid(xp: Any, input: Array) -> Array:
    """A sigmoid of straight lines: 0 up to -3, 1 from 3 on."""
    return xp.divide(_limited(xp, xp.add(input, 3), 0, 6), 6)


@inner(
    vjp(
        grad_output=lambda g, input: hardswish_backward(g, input),
        input=lambda g, grad_output, input: where(
            (input > -3) & (input < 3), g * grad_output / 3, 0
        ),
    ),
)
@swept
def hardswish_backward(xp: Any, grad_output: Array, input: Array) -> Array:
    """The gradient that goes through hardswish."""
    slope = xp.divide(input, 3)
    slope += 0.5
    slope = chosen(xp, xp.greater_equal(input, 3), 1, slope)
    slope = chosen(xp, xp.less_equal(input, -3), 0, slope)
    return xp.multiply(slope, grad_output)


@of_floats(
    vjp(input=lambda g, input: hardswish_backward(g, input)),
    domain=(-2.8, 2.8),
    formula="0 up to -3, g from 3 on, g (input / 3 + 1/2) between",
)
@swept
def hardswish(xp: Any, input: Array) -> Array:
    """x times hardsigmoid of x."""
    return xp.divide(xp.multiply(input, _limited(xp, xp.add(input, 3), 0, 6)), 6)


@of_floats(
    vjp("g where |input| > lambd", input=lambda g, input, lambd: gate_outside(g, input, lambd))
)
@swept
def hardshrink(xp: Any, input: Array, lambd: float = 0.5) -> Array:
    """Each element that is farther than lambd from 0, else 0."""
    return chosen(xp, xp.less_equal(xp.abs(input), lambd), 0, input)


def _no_less_than_zero(named: dict[str, Any]) -> None:
    if named["lambd"] < 0:
        raise invalid_argument(f"softshrink: lambd is {named['lambd']}", "it must be 0 or more")


@of_floats(
    vjp("g where |input| > lambd", input=lambda g, input, lambd: gate_outside(g, input, lambd)),
    check=_no_less_than_zero,
)
@swept
def softshrink(xp: Any, input: Array, lambd: float = 0.5) -> Array:
    """Each element moved by lambd towards 0, at most to 0."""
    return xp.subtract(input, xp.minimum(xp.maximum(input, -lambd), lambd))
