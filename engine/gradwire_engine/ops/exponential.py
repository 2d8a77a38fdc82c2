"""Exponentials, logarithms, roots, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from math import log as log_of_number
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.families import FLOAT_ONLY, INEXACT, elementwise, in_floats, in_real_floats
from gradwire_engine.kernels.select import chosen
from gradwire_engine.kernels.sweeps import multiplied, swept
from gradwire_engine.ops.arithmetic import conj, is_complex, of_its_kind, refuse_bools
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.known import kind
from gradwire_engine.promote import Weak
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec

LN2, LN10 = log_of_number(2), log_of_number(10)


@in_floats(vjp("g conj(out)", input=lambda g, out: g * conj(out)))
def exp(xp: Any, input: Array) -> Array:
    """e to the power of each element."""
    return xp.exp(input)


@in_floats(
    vjp("g conj(out ln 2)", input=lambda g, out: g * conj(out * LN2)), aliases=("special.exp2",)
)
def exp2(xp: Any, input: Array) -> Array:
    """2 to the power of each element."""
    if input.dtype.kind != "c":
        return xp.exp2(input)
    parts = xp.multiply(xp.stack((input.real, input.imag), -1), LN2)  # infinite parts stay apart
    return xp.exp(parts.view(input.dtype)[..., 0])


@in_floats(
    vjp("g conj(out + 1)", input=lambda g, out: g * conj(out + 1)), aliases=("special.expm1",)
)
def expm1(xp: Any, input: Array) -> Array:
    """e to the power of each element, less 1, exact near 0."""
    return xp.expm1(input)


@in_floats(vjp("g / conj(input)", input=lambda g, input: g / conj(input)), domain=(0.2, 3.0))
def log(xp: Any, input: Array) -> Array:
    """The natural logarithm of each element."""
    return xp.log(input)


@in_floats(
    vjp("g / conj(input ln 2)", input=lambda g, input: g / conj(input * LN2)), domain=(0.2, 3.0)
)
def log2(xp: Any, input: Array) -> Array:
    """The logarithm to base 2 of each element."""
    return xp.log2(input)


@in_floats(
    vjp("g / conj(input ln 10)", input=lambda g, input: g / conj(input * LN10)), domain=(0.2, 3.0)
)
def log10(xp: Any, input: Array) -> Array:
    """The logarithm to base 10 of each element."""
    return xp.log10(input)


@in_floats(
    vjp("g / conj(input + 1)", input=lambda g, input: g / conj(input + 1)),
    aliases=("special.log1p",),
    domain=(-0.8, 3.0),
)
def log1p(xp: Any, input: Array) -> Array:
    """The natural logarithm of 1 plus each element, exact near 0."""
    return log1p_complex(xp, input) if input.dtype.kind == "c" else xp.log1p(input)


def log1p_complex(xp: Any, input: Array) -> Array:
    """The same of complex numbers: near 0 by what 1 is exceeded by, which NumPy's rounds away."""
    x, y = input.real, input.imag
    more = xp.add(xp.multiply(x, xp.add(x, 2)), xp.multiply(y, y))
    near = xp.where(xp.equal(more, 0), x, xp.multiply(xp.log1p(more), 0.5))
    far = xp.log(xp.hypot(xp.add(x, 1), y))
    length = xp.where(xp.less(xp.hypot(x, y), 0.5), near, far)
    return xp.stack((length, xp.arctan2(y, xp.add(x, 1))), -1).view(input.dtype)[..., 0]


@in_floats(vjp("g / conj(2 out)", input=lambda g, out: g / conj(out * 2)), domain=(0.2, 3.0))
def sqrt(xp: Any, input: Array) -> Array:
    """The square root of each element."""
    return xp.sqrt(input)


@in_floats(
    vjp("-g conj(out³) / 2", input=lambda g, out: g * -0.5 * conj(out * out * out)),
    domain=(0.3, 3.0),
)
def rsqrt(xp: Any, input: Array) -> Array:
    """One over the square root of each element."""
    return xp.divide(1, xp.sqrt(input))


def _away(one: Any, two: Any, *specs: Any) -> Any:
    refuse_bools("logaddexp", *specs)
    return two - one


@elementwise(
    vjp(
        "input: g / conj(1 + exp(other - input)); other: g / conj(1 + exp(input - other))",
        input=lambda g, input, other, input_spec, other_spec: (
            of_its_kind("logaddexp", g, input_spec, other_spec)
            / conj(exp(_away(input, other, input_spec, other_spec)) + 1)
        ),
        other=lambda g, input, other, input_spec, other_spec: (
            of_its_kind("logaddexp", g, other_spec, input_spec)
            / conj(exp(_away(other, input, input_spec, other_spec)) + 1)
        ),
    ),
    takes=INEXACT,
    inplace=False,
    numbers=(),
)
@swept
def logaddexp(xp: Any, input: Array, other: Array) -> Array:
    """log(exp(input) + exp(other)) without overflow."""
    if is_complex(input):
        return _log_add_complex(xp, input, other)
    return _log_of_sum(xp, input, other, xp.exp, 1.0)


@elementwise(
    vjp(
        "input: g / (1 + 2^(other - input)); other: g / (1 + 2^(input - other))",
        input=lambda g, input, other, input_spec, other_spec: (
            g / (exp2(_away(input, other, input_spec, other_spec)) + 1)
        ),
        other=lambda g, input, other, input_spec, other_spec: (
            g / (exp2(_away(other, input, input_spec, other_spec)) + 1)
        ),
    ),
    takes=FLOAT_ONLY,
    inplace=False,
    numbers=(),
)
@swept
def logaddexp2(xp: Any, input: Array, other: Array) -> Array:
    """log2(2^input + 2^other) without overflow."""
    return _log_of_sum(xp, input, other, xp.exp2, 1 / LN2)


def _log_of_sum(xp: Any, a: Array, b: Array, power: Any, unit: float) -> Array:
    """The larger one and what the other adds; equal infinities make no NaN."""
    top = xp.maximum(a, b)
    more = xp.log1p(power(xp.subtract(xp.minimum(a, b), top)))
    more = chosen(xp, xp.equal(a, b), more.dtype.type(LN2), more)
    return xp.add(top, xp.multiply(more, unit))


def _log_add_complex(xp: Any, a: Array, b: Array) -> Array:
    """The larger real part taken out of the sum."""
    swap = xp.less(a.real, b.real)
    top, low = chosen(xp, swap, b, a), chosen(xp, swap, a, b)
    out = xp.add(top, log1p_complex(xp, xp.exp(xp.subtract(low, top))))
    return chosen(xp, xp.equal(top.real, -xp.inf), top, out)


def logistic(xp: Any, x: Array) -> Array:
    """1 / (1 + exp(-x)) as a fresh array."""
    out = xp.negative(x)
    xp.exp(out, out=out)
    out += 1
    return xp.divide(1, out, out=out)


@in_floats(
    vjp("g conj(out (1 - out))", input=lambda g, out: sigmoid_backward(g, out)),
    aliases=("special.expit", "nn.functional.sigmoid"),
)
@swept
def sigmoid(xp: Any, input: Array) -> Array:
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""
    return logistic(xp, input)


@elementwise(
    vjp(
        grad_output=lambda g, output: sigmoid_backward(g, conj(output)),
        output=lambda g, grad_output, output: conj(g) * grad_output * conj(1 - output * 2),
    ),
    holomorphic=False,
    public=False,
)
@swept
def sigmoid_backward(xp: Any, grad_output: Array, output: Array) -> Array:
    """The gradient that goes through sigmoid."""
    out = xp.subtract(1, output)
    out *= output
    if out.dtype.kind == "c":
        xp.conjugate(out, out=out)
    return multiplied(xp, out, grad_output)


def _by_probability(g: Any, input: Any, eps: float | None) -> Any:
    low = 0.0 if eps is None else eps
    inside = (input >= low) & (input <= 1 - low)
    return where(inside, g / (input * (1 - input)), float("nan") if eps is None else 0.0)


@in_real_floats(
    vjp(input=_by_probability),
    aliases=("special.logit",),
    domain=(0.2, 0.8),
    formula="g / (input (1 - input)); 0 where eps limits, NaN outside 0..1",
)
def logit(xp: Any, input: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), the inverse of sigmoid; x is first limited to eps..1 - eps if given."""
    if eps is not None:
        input = xp.minimum(xp.maximum(input, eps), 1 - eps)
    return xp.log(xp.divide(input, xp.subtract(1, input)))


def as_floats(value: Any, out: Spec) -> Any:
    """Whole numbers in the dtype of the result: of small ones NumPy makes halves."""
    whole = hasattr(value, "dtype") and kind(value) in "biu"
    return to_dtype(value, out.dtype) if whole else value


def by_numbers(node: str) -> Callable[[dict[str, Any]], str]:
    """Torch has a node for two tensors, and others for a number as the first or the second."""

    def name(named: dict[str, Any]) -> str:
        number = 2 if isinstance(named["other"], Weak) else int(isinstance(named["input"], Weak))
        return f"{node}Backward{number}"

    return name


@in_real_floats(
    vjp(
        "input: g log other; other: g input / other",
        input=lambda g, input, other, out_spec: where(
            (input == 0) & (other <= 0), 0, xlogy(g, as_floats(other, out_spec))
        ),
        other=lambda g, input, other: g * (input / other),
    ),
    aliases=("special.xlogy",),
    domain=(0.2, 3.0),
    grad_name=by_numbers("Xlogy"),
)
def xlogy(xp: Any, input: Array, other: Array) -> Array:
    """input log(other), which is 0 where input is 0, unless other is NaN."""
    out = xp.multiply(input, xp.log(other))
    return chosen(xp, xp.logical_and(xp.equal(input, 0), xp.equal(other, other)), 0, out)
