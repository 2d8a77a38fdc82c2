"""Rounding, and division with a rounded quotient or its rest."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array, copied
from gradwire_engine.errors import error, invalid_argument
from gradwire_engine.families import FLOAT_ONLY, REAL_NUMERIC, composite, elementwise
from gradwire_engine.op import Primitive
from gradwire_engine.ops.arithmetic import div
from gradwire_engine.ops.choose import zero_of
from gradwire_engine.promote import Weak
from gradwire_engine.rule import NOT_IMPLEMENTED, unknown, vjp


def _whole(value: Any) -> bool:
    """Whether an operand, an array or a number, holds integers."""
    return isinstance(value, int) or (type(value) is not float and value.dtype.kind in "iu")


def _rounding(name: str, function: str, doc: str, *aliases: str) -> Primitive:
    """Declare a way to round, which is a function of the array library; integers stay."""

    def kernel(xp: Any, input: Array) -> Array:
        return copied(input, input.dtype) if _whole(input) else getattr(xp, function)(input)

    kernel.__doc__ = doc
    rule = vjp("0", input=lambda g: zero_of(g))
    return elementwise(rule, name=name, aliases=aliases, takes=REAL_NUMERIC)(kernel)


floor = _rounding("floor", "floor", "The largest integer that is not above each element.")
ceil = _rounding("ceil", "ceil", "The smallest integer that is not below each element.")
trunc = _rounding("trunc", "trunc", "Each element without its fraction.", "fix")
round = _rounding("round", "rint", "The nearest integer; the even one of two as near.")


@elementwise(
    vjp("0", input=lambda g: zero_of(g)),
    name="round",
    aliases=("special.round",),
    takes=FLOAT_ONLY,
    grad_name="RoundBackward1",
)
def round_to(xp: Any, input: Array, *, decimals: int) -> Array:
    """The nearest number with so many decimals; negative ones round to tens and hundreds."""
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    if decimals > 0:
        return xp.divide(xp.rint(xp.multiply(input, scale)), scale)
    return xp.multiply(xp.rint(xp.divide(input, scale)), scale)


@elementwise(vjp("g", input=lambda g: g), takes=FLOAT_ONLY)
def frac(xp: Any, input: Array) -> Array:
    """The fraction of each element, with its sign."""
    return xp.subtract(input, xp.trunc(input))


def _refuse_zero(xp: Any, asked: str, input: Any, divisor: Any) -> None:
    """Integers have no infinity to give: torch raises here too."""
    if 0 in getattr(input, "shape", ()):
        return
    if _whole(input) and _whole(divisor) and not bool(xp.all(xp.asarray(divisor))):
        raise error(
            "numerical_error", f"{asked}: an integer was divided by 0", "use a floating dtype"
        )


def _truncated(xp: Any, input: Array, other: Array) -> Array:
    quotient = xp.floor_divide(input, other)
    rest = xp.subtract(input, xp.multiply(quotient, other))
    opposite = xp.not_equal(xp.less(input, 0), xp.less(other, 0))
    up = xp.logical_and(xp.not_equal(rest, 0), opposite)
    return xp.where(up, xp.add(quotient, 1), quotient)


@elementwise(
    vjp(input=lambda g, other: zero_of(g), other=lambda g, input, other: zero_of(g)),
    takes=REAL_NUMERIC,
    grad_name="DivBackward2",
    public=False,
)
def rounded_div(xp: Any, input: Array, other: Array, rounding_mode: str) -> Array:
    """The quotient rounded down ("floor") or towards zero ("trunc")."""
    _refuse_zero(xp, "div", input, other)
    if rounding_mode == "floor":
        return xp.floor_divide(input, other)
    whole = _whole(input) and _whole(other)
    return _truncated(xp, input, other) if whole else xp.trunc(xp.divide(input, other))


@composite("div", inplace=True, alone=True)
def div_with_rounding(input: Array, other: Array, *, rounding_mode: str | None) -> Array:
    """Divide input by other; rounding_mode "floor" or "trunc" rounds the quotient."""
    if rounding_mode is None:
        return div(input, other)
    if rounding_mode not in ("floor", "trunc"):
        raise invalid_argument(
            f"div: rounding_mode is {rounding_mode!r}", 'it must be None, "floor" or "trunc"'
        )
    return rounded_div(input, other, rounding_mode)


@elementwise(
    unknown("floor_divide", "input", "other"),
    aliases=("__floordiv__",),
    takes=REAL_NUMERIC,
    alone=True,
    grad_name=NOT_IMPLEMENTED,
)
def floor_divide(xp: Any, input: Array, other: Array) -> Array:
    """The quotient rounded down; it has no derivative."""
    _refuse_zero(xp, "floor_divide", input, other)
    return xp.floor_divide(input, other)


def _by_kind(name: str) -> Any:
    """Torch has a node for a number as divisor, and one for a tensor."""
    return lambda named: f"{name}Backward{int(not isinstance(named['other'], Weak))}"


_REFUSED = unknown("remainder", "other")["other"]


def _by_divisor(g: Any, input: Any, other: Any) -> Any:
    """A number divided by a tensor is another op of torch's, which has no derivative."""
    if isinstance(input, int | float):
        return _REFUSED(g)
    return -g * rounded_div(input, other, "floor")


@elementwise(
    vjp(
        "input: g; other: -g floor(input / other)",
        input=lambda g: g,
        other=_by_divisor,
    ),
    aliases=("__mod__",),
    takes=REAL_NUMERIC,
    domain=(0.7, 3.0),
    grad_name=lambda named: (
        NOT_IMPLEMENTED if isinstance(named["input"], Weak) else _by_kind("Remainder")(named)
    ),
)
def remainder(xp: Any, input: Array, other: Array) -> Array:
    """The rest of a division, with the sign of the divisor."""
    _refuse_zero(xp, "remainder", input, other)
    rest = xp.remainder(input, other)
    if rest.dtype.kind != "f":
        return rest
    return xp.where(xp.equal(rest, 0), xp.copysign(0.0, input), rest).astype(rest.dtype, copy=False)


@elementwise(
    vjp(
        "input: g; other: -g trunc(input / other)",
        input=lambda g: g,
        other=lambda g, input, other: -g * rounded_div(input, other, "trunc"),
    ),
    takes=REAL_NUMERIC,
    domain=(0.7, 3.0),
    grad_name=_by_kind("Fmod"),
    numbers=("other",),
)
def fmod(xp: Any, input: Array, other: Array) -> Array:
    """The rest of a division, with the sign of the dividend."""
    _refuse_zero(xp, "fmod", input, other)
    return xp.fmod(input, other)
