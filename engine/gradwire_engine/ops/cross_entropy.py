"""Losses of classification: class indices and class probabilities."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.ops.arithmetic import div, mul, neg, shared_out
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import eq
from gradwire_engine.ops.expand import expand, reshape, sum
from gradwire_engine.ops.logical import logical_not
from gradwire_engine.ops.loss import reduced, reduction_of
from gradwire_engine.ops.nll import class_axis, nll
from gradwire_engine.ops.softmax import log_softmax
from gradwire_engine.unrecorded import refuse_settled


@composite(space=F, settled=("weight",))
def nll_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The negated log-probability of each sample's class."""
    how = reduction_of(size_average, reduce, reduction)
    return nll(input, target, weight, ignore_index, how)


@composite(space=F)
def cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """The negated log-probability that softmax of the scores gives each sample's class."""
    how = reduction_of(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise invalid_argument(
            f"cross_entropy: label_smoothing must lie between 0 and 1, got {label_smoothing}",
            "0 leaves the labels as they are",
        )
    if not input.shape:
        raise shape_mismatch(
            "cross_entropy: input has no axis of classes", "input is (C), (N, C) or (N, C, ...)"
        )
    scores = log_softmax(input, class_axis(input.shape))
    if target.shape == input.shape and target.dtype.kind in "fV":
        return _of_probabilities(scores, target, weight, how, label_smoothing)
    refuse_settled("cross_entropy", ("weight",), {"weight": weight})
    loss = nll(scores, target, weight, ignore_index, how)
    if not label_smoothing:
        return loss
    smooth = _over_classes(scores, target, weight, ignore_index, how)
    share = label_smoothing / scores.shape[class_axis(scores.shape)]
    return mul(loss, 1 - label_smoothing) + mul(smooth, share)


def _along_classes(weight: Any, scores: Any) -> Any:
    """Class weights in a shape that broadcasts over the scores."""
    return reshape(weight, (-1, *[1] * (scores.ndim - class_axis(scores.shape) - 1)))


def _of_probabilities(
    scores: Any, target: Any, weight: Any, reduction: str, smoothing: float
) -> Any:
    dim = class_axis(scores.shape)
    classes = scores.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    found = mul(scores, target)
    if weight is not None:
        found = mul(found, _along_classes(weight, scores))
    if reduction == "none":
        return neg(sum(found, (dim,)))
    total = neg(sum(found))
    samples = prod([n for place, n in enumerate(scores.shape) if place != dim])
    return shared_out(total, samples) if reduction == "mean" else total


def _over_classes(scores: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """The loss of a target that is equally likely each class, times the number of classes."""
    dim = class_axis(scores.shape)
    weighted = scores if weight is None else mul(scores, _along_classes(weight, scores))
    ignored = eq(target, ignore_index)
    losses = where(ignored, 0, neg(sum(weighted, (dim,))))
    if reduction != "mean":
        return reduced(losses, reduction)
    if weight is None:
        return div(sum(losses), sum(logical_not(ignored)))
    each = expand(_along_classes(weight, scores), scores.shape)
    return div(sum(losses), nll(neg(each), target, None, ignore_index, "sum"))
