"""Arithmetic on elements: sums, products, quotients, conjugates."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch
from gradwire_engine.families import INEXACT, NUMERIC, composite, elementwise, in_floats
from gradwire_engine.kernels.shared import product
from gradwire_engine.laid import ITERATED_BACKWARDS
from gradwire_engine.rule import vjp
from gradwire_engine.spec import BOOL, COMPLEX, FLOAT, INTEGER, Number, Spec


def of_its_kind(op: str, g: Any, spec: Any, beside: Any) -> Any:
    """A gradient of an operand; refused, as by torch's walk, if it is complex and that is real.

    Beside a complex number, which is no tensor, torch converts the operand before: its real part.
    """
    if is_complex(g) and not spec.dtype.is_complex and isinstance(beside, Spec):
        raise dtype_mismatch(
            f"backward: {op} gives an operand that is {spec.dtype.name} a complex gradient",
            "make the operand complex before",
        )
    return g


def is_complex(value: Any) -> bool:
    """Whether an array, a tensor or a number is complex."""
    dtype = getattr(value, "dtype", None)
    return type(value) is complex if dtype is None else dtype.kind == "c"


@elementwise(
    vjp(input=lambda g: conj(g)), name="conj_kernel", public=False, exact=True, linear=True
)
def _conjugate(xp: Any, input: Array) -> Array:
    """The complex conjugate of each element, as a fresh array."""
    return xp.conjugate(input)


@composite(name="conj", grad_name="ConjBackward0")
def _conj(input: Array) -> Array:
    """The complex conjugate of each element; the tensor itself where real."""
    return conj(input)


def conj(value: Any) -> Any:
    """conj for rules, which must not pay for it where everything is real."""
    try:
        real = value.dtype.kind != "c"
    except AttributeError:  # a Python number
        return value.conjugate()
    return value if real else _conjugate(value)


@composite()
def resolve_conj(input: Array) -> Array:
    """The tensor itself: a conjugate is made of numbers here, there is none left to work out."""
    return input


@composite(grad_name="ConjPhysicalBackward0", inplace=True)
def conj_physical(input: Array) -> Array:
    """The complex conjugate of each element; the tensor itself where real."""
    return conj(input)


def need_factor(name: str, factor: Number, *operands: Any) -> None:
    """A factor of a higher category than the operands' result is refused, as in torch."""
    category = max(x.dtype.category for x in operands)
    kind = {bool: BOOL, int: INTEGER, float: FLOAT, complex: COMPLEX}[type(factor)]
    if kind > max(category, INTEGER) or (kind == BOOL and category != BOOL):
        shown = [str(getattr(x, "spec", x)) for x in operands]
        raise dtype_mismatch(
            f"{name} is {factor!r}, but the operands are {' and '.join(shown)}",
            f"{name} must not be of a higher category (bool, integer, floating, complex)",
        )


def _scales(named: dict[str, Any]) -> None:
    need_factor("alpha", named["alpha"], named["input"], named["other"])


def times(xp: Any, array: Array, alpha: Number) -> Array:
    """An operand times alpha, which wraps around in an integer dtype as torch's does."""
    dtype = getattr(array, "dtype", None)
    if dtype is not None and dtype.kind in "iu":
        alpha = xp.asarray(alpha).astype(dtype)
    return xp.multiply(array, alpha)


def _complex_array(value: Any) -> bool:
    """Whether an operand has elements that torch multiplies by alpha even where that is 1 or -1.

    It leaves them what they are but for the signs of zeros, by which a cut is seen from one side.
    """
    dtype = getattr(value, "dtype", None)
    return dtype is not None and dtype.kind == "c"


def _with_scaled(combine: Any, xp: Any, first: Array, second: Array, alpha: Number) -> Array:
    """combine(first, alpha second): into the array that holds the product where that is alike."""
    scaled = times(xp, second, alpha)
    alike = scaled.shape and getattr(first, "strides", None) == scaled.strides
    if alike and first.shape == scaled.shape and first.dtype == scaled.dtype:
        return combine(first, scaled, out=scaled)
    return combine(first, scaled)


@elementwise(
    vjp(
        "input: g; other: conj(alpha) g",
        input=lambda g: g,
        other=lambda g, alpha: g if alpha == 1 else g * conj(alpha),
    ),
    aliases=("__add__", "__radd__"),
    check=_scales,
    alone=True,
)
def add(xp: Any, input: Array, other: Array, *, alpha: Number = 1) -> Array:
    """Add other, times alpha, to input."""
    if alpha == 1 and not _complex_array(other):
        return xp.add(input, other)
    return _with_scaled(xp.add, xp, input, other, alpha)


def _subtracts(named: dict[str, Any]) -> None:
    """No bool tensor on either side, as in torch."""
    _scales(named)
    for operand in (named["input"], named["other"]):
        if operand.dtype.category == BOOL:
            raise dtype_mismatch("sub: not defined for bool tensors", "use ~ or logical_not")


@elementwise(
    vjp(
        "input: g; other: -conj(alpha) g",
        input=lambda g: g,
        other=lambda g, alpha: -g if alpha == 1 else g * -conj(alpha),
    ),
    aliases=("subtract", "__sub__"),
    takes=NUMERIC,
    refusal=RuntimeError,
    check=_subtracts,
    alone=True,
)
def sub(xp: Any, input: Array, other: Array, *, alpha: Number = 1) -> Array:
    """Subtract other, times alpha, from input."""
    if _complex_array(other):
        return _with_scaled(xp.add, xp, input, other, -alpha)
    if alpha == 1:
        if _complex_array(input):
            return xp.add(input, xp.multiply(input.dtype.type(other), -1))
        return xp.subtract(input, other)
    return _with_scaled(xp.subtract, xp, input, other, alpha)


@elementwise(
    vjp(
        "input: -conj(alpha) g; other: g",
        input=lambda g, alpha: -g if alpha == 1 else g * -conj(alpha),
        other=lambda g: g,
    ),
    aliases=("__rsub__",),
    takes=NUMERIC,
    refusal=RuntimeError,
    check=_subtracts,
    grad_name=lambda named: f"RsubBackward{int(not hasattr(named['other'], 'device'))}",
    numbers=("other",),
    lies=ITERATED_BACKWARDS,
)
def rsub(xp: Any, input: Array, other: Array, *, alpha: Number = 1) -> Array:
    """Subtract input, times alpha, from other."""
    if _complex_array(input):
        return _with_scaled(xp.add, xp, other, input, -alpha)
    if alpha == 1:
        return xp.subtract(other, input)
    return _with_scaled(xp.subtract, xp, other, input, alpha)


@elementwise(
    vjp(
        "input: g conj(other); other: g conj(input)",
        input=lambda g, other: product(g, conj(other)),
        other=lambda g, input: product(g, conj(input)),
    ),
    aliases=("multiply", "__mul__", "__rmul__"),
    alone=True,
)
def mul(xp: Any, input: Array, other: Array) -> Array:
    """Multiply input by other."""
    return xp.multiply(input, other)


@in_floats(
    vjp(
        "input: g / conj(other); other: -g conj(input / other²)",
        input=lambda g, other: g / conj(other),
        other=lambda g, input, other: -g * conj(input / other / other),
    ),
    aliases=("divide", "true_divide", "__div__", "__truediv__"),
    domain=(0.4, 3.0),
    alone=True,
)
def div(xp: Any, input: Array, other: Array) -> Array:
    """Divide input by other; ints give floats."""
    return xp.divide(input, other)


@elementwise(
    vjp(input=lambda g, by: scaled(g, conj(by))),
    public=False,
    grad_name="MulBackward1",
    linear=True,
)
def scaled(xp: Any, input: Array, by: Number = 1) -> Array:
    """Multiply by a number that belongs to the op: nothing is kept of it that could be freed."""
    return xp.multiply(input, by)


@elementwise(
    vjp(input=lambda g, by: shared_out(g, by)),
    public=False,
    grad_name="DivBackward1",
    linear=True,
)
def shared_out(xp: Any, input: Array, by: float = 1) -> Array:
    """Divide by such a number."""
    return xp.divide(input, by)


@elementwise(
    vjp("-g", input=lambda g: -g),
    aliases=("negative", "__neg__"),
    takes=NUMERIC,
    refusal=RuntimeError,
)
def neg(xp: Any, input: Array) -> Array:
    """Negate each element."""
    return xp.negative(input)


@composite(aliases=("__pos__",))
def positive(input: Array) -> Array:
    """The tensor itself; not defined for bools."""
    if input.dtype.kind == "b":
        raise dtype_mismatch("positive: not defined for bool", "convert it first")
    return input


@in_floats(vjp("-g conj(out²)", input=lambda g, out: -g * conj(out * out)), domain=(0.4, 3.0))
def reciprocal(xp: Any, input: Array) -> Array:
    """One over each element."""
    return xp.divide(1, input)


@elementwise(
    vjp(
        "input: g; tensor1: g conj(value tensor2); tensor2: g conj(value tensor1)",
        input=lambda g: g,
        tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
        tensor2=lambda g, tensor1, value: g * conj(tensor1 * value),
    ),
    takes=NUMERIC,
    numbers=(),
)
def addcmul(xp: Any, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """Add the product of two tensors, times value, to input."""
    if input.dtype.kind in "iu" and tensor1.dtype.kind in "iu" and tensor2.dtype.kind in "iu":
        value = int(value)  # type: ignore[arg-type]  # of integers it is cut to one, as in torch
    first = tensor1 if value == 1 else times(xp, tensor1, value)
    return xp.add(input, xp.multiply(first, tensor2))


def _by_dividend(g: Any, tensor2: Any, value: Number, tensor2_spec: Spec) -> Any:
    """Torch writes a quotient into the divisor here, which whole numbers don't hold."""
    if tensor2_spec.dtype.category < FLOAT:
        raise dtype_mismatch(
            f"backward: addcdiv by a {tensor2_spec.dtype.name} tensor has no derivative by tensor1",
            "convert tensor2 to floats first",
        )
    return g * conj(value / tensor2)


def _no_whole_quotient(named: dict[str, Any]) -> None:
    """Torch divided integers here otherwise once, and refuses them now."""
    pair = [named["tensor1"], named["tensor2"]]
    if all(isinstance(x, Spec) and x.dtype.category < FLOAT for x in pair):
        raise dtype_mismatch(
            "addcdiv: there is no quotient of two integer tensors here",
            "convert one of them, or write input + value * tensor1 / tensor2",
        )


@elementwise(
    vjp(
        "input: g; tensor1: g conj(value / tensor2); tensor2: -g conj(value tensor1 / tensor2²)",
        input=lambda g: g,
        tensor1=_by_dividend,
        tensor2=lambda g, tensor1, tensor2, value: -g * conj(tensor1 * value / (tensor2 * tensor2)),
    ),
    takes=INEXACT,
    refusal=RuntimeError,
    domain=(0.4, 3.0),
    numbers=(),
    check=_no_whole_quotient,
)
def addcdiv(xp: Any, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """Add the quotient of two tensors, times value, to input."""
    first = tensor1 if value == 1 else xp.multiply(tensor1, value)
    return xp.add(input, xp.divide(first, tensor2))


def refuse_bools(asked: str, *specs: Any) -> None:
    """A derivative that subtracts has none where an operand is a bool tensor, as in torch."""
    for spec in specs:
        if isinstance(spec, Spec) and spec.dtype.category == BOOL:
            raise dtype_mismatch(
                f"{asked}: its derivative subtracts, which a bool tensor does not do",
                "convert the bool tensor to floats first",
            )


def _one_dtype(named: dict[str, Any]) -> None:
    """Lerp converts nothing but a weight without axes."""
    wanted = named["input"].dtype
    for name in ("end", "weight"):
        spec = named[name]
        if isinstance(spec, Spec) and spec.dtype is not wanted and (name == "end" or spec.shape):
            raise dtype_mismatch(
                f"lerp: input is {wanted.name}, {name} is {spec.dtype.name}", "convert one of them"
            )


def nearer_end(weight: Any) -> Any:
    """Whether lerp is better counted from `end`: it is exact at both ends then."""
    return abs(weight) >= 0.5


@elementwise(
    vjp(
        "input: g conj(1 - weight); end: g conj(weight)",
        input=lambda g, weight: scaled(g, conj(1 - weight)),
        end=lambda g, weight: scaled(g, conj(weight)),
    ),
    takes=INEXACT,
    check=_one_dtype,
    numbers=(),
)
def lerp(xp: Any, input: Array, end: Array, weight: Number) -> Array:
    """Go from input to end by a weight: input + weight (end - input)."""
    way = xp.subtract(end, input)
    if nearer_end(weight):
        return xp.subtract(end, xp.multiply(way, 1 - weight))
    return xp.add(input, xp.multiply(way, weight))


def _by_start(g: Any, weight: Any, weight_spec: Spec) -> Any:
    refuse_bools("backward: lerp", weight_spec)
    return g * conj(1 - weight)


def _by_weight(g: Any, input: Any, end: Any, input_spec: Spec) -> Any:
    refuse_bools("backward: lerp", input_spec)
    return g * conj(end - input)


@elementwise(
    vjp(
        "input: g conj(1 - weight); end: g conj(weight); weight: g conj(end - input)",
        input=_by_start,
        end=lambda g, weight: g * conj(weight),
        weight=_by_weight,
    ),
    name="lerp",
    takes=INEXACT,
    check=_one_dtype,
    grad_name="LerpBackward1",
    numbers=(),
)
def lerp_by_tensor(xp: Any, input: Array, end: Array, weight: Array) -> Array:
    """Go from input to end by a weight each: input + weight (end - input)."""
    way = xp.subtract(end, input)
    far = xp.subtract(end, xp.multiply(way, xp.subtract(1, weight)))
    return xp.where(nearer_end(weight), far, xp.add(input, xp.multiply(way, weight)))
