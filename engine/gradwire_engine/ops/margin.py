"""Losses of margins and rankings, and of distributions given by their parameters."""

from __future__ import annotations

from math import log as log_of
from math import pi
from typing import Any

from gradwire_engine.accepted import COMPLEX, WHOLE, refuse
from gradwire_engine.arrays import Array, copied
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import error, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite, internal
from gradwire_engine.op import needs_tensor
from gradwire_engine.ops.arithmetic import div, mul, neg, sub
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.distance import pairwise_distance
from gradwire_engine.ops.expand import expand, sum
from gradwire_engine.ops.exponential import exp, log, sqrt, xlogy
from gradwire_engine.ops.limits import clamp_min, minimum
from gradwire_engine.ops.loss import reduced, reduction_of
from gradwire_engine.ops.power import square
from gradwire_engine.ops.smooth import log_of_sigmoid
from gradwire_engine.rule import vjp


@composite(space=F, numbers=())
def kl_div(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Array:
    """Kullback-Leibler divergence of target from the distribution whose logarithm is input."""
    refuse("kl_div", (*WHOLE, COMPLEX), input, target, raised=RuntimeError)
    if log_target:
        losses = mul(exp(target), sub(target, input))
    else:
        losses = sub(xlogy(target, target), mul(target, input))
    if reduction == "batchmean" and size_average is None and reduce is None:
        return div(sum(losses), losses.shape[0] if losses.shape else 1)
    return reduced(losses, reduction_of(size_average, reduce, reduction))


@composite(space=F, numbers=())
def poisson_nll_loss(
    input: Array,
    target: Array,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Negative log-likelihood of counts under Poisson rates (their logarithms by default)."""
    how = reduction_of(size_average, reduce, reduction)
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:  # Stirling's formula for log(target!)
        stirling = target * log(target) - target + log(target * (2 * pi)) * 0.5
        losses = losses + where(target <= 1, 0, stirling)
    return reduced(losses, how)


@composite(space=F)
def gaussian_nll_loss(
    input: Array,
    target: Array,
    var: Array,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Array:
    """Negative log-likelihood of target under normal distributions with mean input."""
    how = reduction_of(None, None, reduction)
    floored = _floored_variance(input, var, eps)
    losses = (log(floored) + square(input - target) / floored) * 0.5
    if full:
        losses = losses + 0.5 * log_of(2 * pi)
    return reduced(losses, how)


@internal(
    vjp("g", input=lambda g: g),
    name="checked_variance",
    batch=leading,
    exact=True,
    symmetric=True,
    fallible=True,
)
def _checked_variance(xp: Any, input: Array) -> Array:
    """Variances as they are; an error where one is negative."""
    if bool(xp.any(xp.less(input.real, 0))):
        raise invalid_argument(
            "gaussian_nll_loss: var has negative elements",
            "variances are 0 or more; exp() or softplus() of a tensor is",
            raised=ValueError,
        )
    return copied(input, input.dtype)


def _floored_variance(input: Any, var: Any, eps: float) -> Any:
    """The variance in a shape that broadcasts, at least eps; the floor has no derivative."""
    if isinstance(var, int):  # as in torch, which takes a float there
        raise needs_tensor("gaussian_nll_loss", ["var"])
    if isinstance(var, float):
        var = expand(input * 0 + var, input.shape)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = unsqueeze(var, -1)
        elif input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1:
            raise shape_mismatch(
                f"gaussian_nll_loss: var is {list(var.shape)}, input is {list(input.shape)}",
                "var has input's shape, or lacks its last axis, or has size 1 there",
                raised=ValueError,
            )
    var = _checked_variance(var)
    low = var.detach() if hasattr(var, "detach") else var
    return var + where(low < eps, eps - low, 0)


@composite(space=F, numbers=())
def hinge_embedding_loss(
    input: Array,
    target: Array,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The distance where target is 1, what it lacks to the margin where target is -1."""
    if reduction == "mean":
        refuse("hinge_embedding_loss", WHOLE, input, raised=RuntimeError)
    far = where(target == 1, 0, clamp_min(margin - input, 0))
    near = where(target == -1, 0, input)
    return reduced(far + near, reduction_of(size_average, reduce, reduction))


@composite(space=F)
def margin_ranking_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """What input1 lacks to rank above input2 by a margin (target 1), or below it (target -1)."""
    how = reduction_of(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise shape_mismatch(
            f"margin_ranking_loss: the operands are {list(input1.shape)}, {list(input2.shape)} "
            f"and {list(target.shape)}",
            "they need equally many axes",
        )
    return reduced(clamp_min(neg(target) * (input1 - input2) + margin, 0), how)


@composite(space=F, grad_name="SoftMarginLossBackward0", numbers=(), settled=("target",))
def soft_margin_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """log(1 + exp(-target input)): logistic loss of a score with target 1 or -1."""
    how = reduction_of(size_average, reduce, reduction)
    refuse("soft_margin_loss", WHOLE, input, raised=RuntimeError)
    losses = neg(log_of_sigmoid(mul(input, target)))
    losses = losses if losses.dtype == input.dtype else to_dtype(losses, input.dtype)
    return reduced(losses, how)


@composite(space=F)
def cosine_embedding_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """1 - cosine of the angle where target is 1, the cosine beyond the margin where it is -1."""
    how = reduction_of(size_average, reduce, reduction)
    if target.ndim > 1 or input1.ndim != target.ndim + 1 or input2.ndim != input1.ndim:
        raise shape_mismatch(
            f"cosine_embedding_loss: the inputs are {list(input1.shape)} and "
            f"{list(input2.shape)}, target is {list(target.shape)}",
            "inputs are (N, D) with target (N), or (D) with a target without axes",
        )
    dims, tiny = (target.ndim,), 1e-12
    size = (sum(square(input1), dims) + tiny) * (sum(square(input2), dims) + tiny)
    cosine = sum(input1 * input2, dims) / sqrt(size)
    like = where(target == 1, 1 - cosine, 0)
    unlike = where(target == -1, clamp_min(cosine - margin, 0), 0)
    return reduced(like + unlike, how)


@composite(space=F)
def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """How much nearer the positive should be to the anchor than the negative, by a margin."""
    how = reduction_of(size_average, reduce, reduction)
    if margin <= 0 or not anchor.ndim == positive.ndim == negative.ndim:
        raise error(
            "invalid_argument" if margin <= 0 else "shape_mismatch",
            f"triplet_margin_loss: margin is {margin}, the operands are {list(anchor.shape)}, "
            f"{list(positive.shape)} and {list(negative.shape)}",
            "the margin must be positive, and the operands need equally many axes",
            raised=ValueError if margin <= 0 else RuntimeError,
        )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(clamp_min(near - far + margin, 0), how)


@composite(space=F)
def triplet_margin_with_distance_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    *,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Array:
    """triplet_margin_loss with the Euclidean distance, which is torch's default there."""
    return triplet_margin_loss(anchor, positive, negative, margin, swap=swap, reduction=reduction)
