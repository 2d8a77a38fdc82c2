"""Losses of several classes at once: margins between them, several right ones."""

from __future__ import annotations

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.ops.arithmetic import div, mul, neg
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import eq, ne
from gradwire_engine.ops.cumulative import cumprod
from gradwire_engine.ops.expand import reshape, sum
from gradwire_engine.ops.gather import gather
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.limits import clamp_min
from gradwire_engine.ops.logical import logical_not
from gradwire_engine.ops.loss import reduced, reduction_of
from gradwire_engine.ops.power import square
from gradwire_engine.ops.reduce import any
from gradwire_engine.ops.sequences import arange_from
from gradwire_engine.ops.smooth import log_of_sigmoid


@composite(space=F, grad_name="MultiMarginLossBackward0", settled=("weight",))
def multi_margin_loss(
    input: Array,
    target: Array,
    p: int = 1,
    margin: float = 1.0,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """What the target's score lacks to lead every other class's by a margin, over the classes."""
    how = reduction_of(size_average, reduce, reduction)
    input = input if input.ndim else reshape(input, (1,))
    alone = input.ndim == 1 and target.shape == (1,)  # the result keeps that axis
    target = reshape(target, ()) if alone else target
    fits = weight is None or weight.shape == (input.shape[-1],)
    if p in (1, 2) and (kind(target) != "i" or not fits):
        shown = None if weight is None else list(weight.shape)
        raise invalid_argument(
            f"multi_margin_loss: target is {target.dtype}, input {list(input.shape)}, "
            f"weight {shown}",
            "targets are int64, weight has a number for each class",
            raised=ValueError if weight is not None and weight.ndim != 1 else RuntimeError,
        )
    if p not in (1, 2) or input.ndim not in (1, 2) or target.shape != input.shape[:-1]:
        raise error(
            "shape_mismatch" if p in (1, 2) else "invalid_argument",
            f"multi_margin_loss: p is {p}, input is {list(input.shape)}, "
            f"target is {list(target.shape)}",
            "p is 1 or 2; input is (N, C) with target (N), or (C) with a target without axes",
            raised=RuntimeError if p in (1, 2) else ValueError,
        )
    classes, dim = input.shape[-1], input.ndim - 1
    places = unsqueeze(target, dim)
    lacks = clamp_min(margin - gather(input, dim, places) + input, 0)
    lacks = lacks if p == 1 else square(lacks)
    if weight is not None:
        lacks = mul(lacks, reshape(gather(weight, 0, reshape(target, (-1,))), places.shape))
    others = ne(places, arange_from(0, classes, device=input.device))
    found = div(sum(where(others, lacks, 0), (dim,)), classes)
    return reduced(reshape(found, (1,)) if alone else found, how)


@composite(space=F, grad_name="MultilabelMarginLossBackward0")
def multilabel_margin_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """What right classes' scores lack to lead all wrong ones by 1; targets end at the first -1."""
    how = reduction_of(size_average, reduce, reduction)
    if not input.ndim and not target.ndim:
        input, target = reshape(input, (1,)), reshape(target, (1,))
    if input.ndim not in (1, 2) or target.shape != input.shape or not input.shape[-1]:
        raise shape_mismatch(
            f"multilabel_margin_loss: input is {list(input.shape)}, target {list(target.shape)}",
            "both are (N, C) or (C), with at least one class",
        )
    dim, classes = input.ndim - 1, input.shape[-1]
    valid = unsqueeze(cumprod(target >= 0, dim) > 0, -1)  # before the first negative one
    chosen = unsqueeze(where(target >= 0, target, 0), -1)
    right = any(eq(chosen, arange_from(0, classes, device=input.device)) & valid, (dim,), True)
    right_scores = unsqueeze(gather(input, dim, reshape(chosen, target.shape)), -1)
    lacks = clamp_min(1 - right_scores + unsqueeze(input, dim), 0)
    counted = where(valid & logical_not(right), lacks, 0)
    return reduced(div(sum(counted, (dim, dim + 1)), classes), how)


@composite(space=F)
def multilabel_soft_margin_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The mean over the classes of each one's binary cross entropy with logits."""
    how = reduction_of(size_average, reduce, reduction)
    if not input.ndim:
        raise shape_mismatch(
            "multilabel_soft_margin_loss: the input is a scalar",
            "its last axis is that of the classes",
            raised=IndexError,
        )
    losses = neg(target * log_of_sigmoid(input) + (1 - target) * log_of_sigmoid(neg(input)))
    if weight is not None:
        losses = mul(losses, weight)
    dim = input.ndim - 1
    return reduced(div(sum(losses, (dim,)), input.shape[dim]), how)
