"""Binary cross entropy: of probabilities, and of logits without overflow."""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import WHOLE, group, one_dtype, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading, parts
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.laid import ITERATED_BACKWARDS, LIKE_FIRST
from gradwire_engine.op import Inferred
from gradwire_engine.ops.arithmetic import div, mul, neg
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.expand import sum
from gradwire_engine.ops.exponential import exp, log, log1p, sigmoid
from gradwire_engine.ops.limits import clamp
from gradwire_engine.ops.loss import reduced, reduction_of, same_shape
from gradwire_engine.ops.reduce import mean
from gradwire_engine.ops.sign import abs
from gradwire_engine.ops.smooth import log_of_sigmoid
from gradwire_engine.rule import vjp
from gradwire_engine.spec import COMPLEX, FLOAT, Spec

TINY = 1e-12
"""What the gradient of binary cross entropy divides by at least, as in torch."""


def _mean_share(g: Any, reduction: str, spec: Spec) -> Any:
    return div(g, max(1, spec.size)) if reduction == "mean" else g


def _logits_spec(input: Spec, target: Spec, reduction: str) -> Inferred:
    found = _floats("binary_cross_entropy_with_logits", input, target)
    return found if reduction == "none" else Inferred(input.with_(shape=()), found.compute)


@one_pass(lambda g, input, target: mul(g, sigmoid(input) - target))
def _logits_gradient(xp: Any, g: Array, input: Array, target: Array) -> Array:
    out = xp.negative(input if input.ndim else input[None])
    xp.exp(out, out=out)
    out += 1
    xp.divide(1, out, out=out)
    out -= target
    out *= g
    return out.reshape(input.shape)


def _logits_in_parts(input: Any, target: Any, reduction: str) -> Any:
    """The same in ops."""
    over = log1p(exp(neg(abs(input))))
    losses = mul(input, 1 - to_dtype(target, input.dtype)) - clamp(input, None, 0) + over
    if reduction == "none":
        return losses
    return mean(losses) if reduction == "mean" else sum(losses)


@internal(
    vjp(
        "input: g (sigmoid(input) - target); target: -g input",
        input=lambda g, input, target, reduction, input_spec: _logits_gradient(
            _mean_share(g, reduction, input_spec), input, target
        ),
        target=lambda g, input, target, reduction, input_spec: mul(
            _mean_share(g, reduction, input_spec), neg(input)
        ),
    ),
    spec=_logits_spec,
    grad_name="BinaryCrossEntropyWithLogitsBackward0",
    batch=parts(_logits_in_parts),
    lies=ITERATED_BACKWARDS,
)
def logits_loss(xp: Any, input: Array, target: Array, reduction: str) -> Array:
    """x (1 - t) - min(x, 0) + log(1 + exp(-|x|)), which never overflows, reduced."""
    x, target = (input, target) if input.ndim else (input[None], target[None])
    out = xp.abs(x)
    xp.negative(out, out=out)
    xp.exp(out, out=out)
    xp.log1p(out, out=out)
    lack = xp.subtract(1, target)
    lack *= x
    low = xp.zeros(x.shape, x.dtype)
    xp.minimum(x, low, out=low)  # of an array and a number NumPy takes each by itself
    lack -= low
    out += lack
    if reduction == "none":
        return out.reshape(input.shape)
    total = out.sum()
    return total / (out.size or xp.nan) if reduction == "mean" else total


def _floats(asked: str, input: Spec, target: Spec) -> Inferred:
    if input.dtype.category != FLOAT or target.dtype.category == COMPLEX:
        raise dtype_mismatch(
            f"{asked}: input is {input.dtype.name}, target is {target.dtype.name}",
            "they are floating tensors",
        )
    return Inferred(input, input.dtype)


def _in_unit_interval(xp: Any, input: Array) -> None:
    if input.size and not bool(xp.all((input >= 0) & (input <= 1))):
        raise invalid_argument(
            "binary_cross_entropy: all elements of input must lie between 0 and 1",
            "apply sigmoid first, or use binary_cross_entropy_with_logits",
        )


@internal(
    vjp(
        "input: g (input - target) / (input (1 - input)); target: g log((1 - input) / input)",
        input=lambda g, input, target: g * (input - target) / clamp(input * (1 - input), TINY),
        target=lambda g, input: g * (log(1 - input) - log(input)),
    ),
    spec=lambda input, target: _floats("binary_cross_entropy", input, target),
    fallible=True,
    grad_name="BinaryCrossEntropyBackward0",
    batch=leading,
    lies=LIKE_FIRST,
)
def probability_loss(xp: Any, input: Array, target: Array) -> Array:
    """-t log x - (1 - t) log(1 - x), with logarithms cut off at -100."""
    _in_unit_interval(xp, input)
    yes = xp.maximum(xp.log(input), -100)
    no = xp.maximum(xp.log1p(-input), -100)
    return (target - 1) * no - target * yes


@composite(
    space=F,
    grad_name="BinaryCrossEntropyWithLogitsBackward0",
    settled=("weight", "pos_weight"),
)
def binary_cross_entropy_with_logits(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Array | None = None,
) -> Array:
    """Cross entropy of probabilities, given as logits: sigmoid is taken here, without overflow."""
    how = reduction_of(size_average, reduce, reduction)
    same_shape("binary_cross_entropy_with_logits", input, target)
    if group(input.dtype) not in WHOLE:
        refuse("binary_cross_entropy_with_logits", WHOLE, target, raised=RuntimeError)
    if weight is None and pos_weight is None and input.dtype == target.dtype:
        return logits_loss(input, target, how)
    if pos_weight is None and input.dtype == target.dtype:
        losses = logits_loss(input, target, "none")
    elif pos_weight is None:  # of what came before, torch writes each step into the target's dtype
        losses = to_dtype((1 - target) * input - log_of_sigmoid(input), target.dtype)
    else:
        positive = (pos_weight - 1) * target + 1
        losses = (1 - target) * input - positive * log_of_sigmoid(input)
    return reduced(losses if weight is None else losses * weight, how)


@composite(space=F, grad_name="BinaryCrossEntropyBackward0", settled=("weight",))
def binary_cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Cross entropy of probabilities between 0 and 1; logarithms are cut off at -100."""
    how = reduction_of(size_average, reduce, reduction)
    same_shape("binary_cross_entropy", input, target)
    one_dtype("binary_cross_entropy", input=input, target=target)
    losses = probability_loss(input, target)
    return reduced(losses if weight is None else losses * weight, how)
