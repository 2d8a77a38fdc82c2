"""How losses are reduced, and the losses of a distance between input and target."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradwire_engine.accepted import BOOLS, COMPLEX, INTEGERS, WHOLE, group, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import parts
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels.sums import LONGEST
from gradwire_engine.ops.arithmetic import mul, neg, shared_out, sub
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import sum
from gradwire_engine.ops.power import square
from gradwire_engine.ops.reduce import mean
from gradwire_engine.ops.sign import abs
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction asked for, also in the older spelling with two flags."""
    if size_average is not None or reduce is not None:
        if reduce is False:
            return "none"
        return "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise invalid_argument(
            f"{reduction!r} is not a valid value for reduction",
            "it is one of 'none', 'mean' and 'sum'",
            raised=ValueError,
        )
    return reduction


def reduced(losses: Any, reduction: str) -> Any:
    """The losses as they are, their mean or their sum."""
    return mean(losses) if reduction == "mean" else sum(losses) if reduction == "sum" else losses


def same_shape(asked: str, input: Any, target: Any) -> None:
    """Losses that don't broadcast need a target in the input's shape."""
    if input.shape != target.shape:
        raise shape_mismatch(
            f"{asked}: input is {list(input.shape)}, target is {list(target.shape)}",
            "give target the shape of input",
            raised=ValueError,
        )


def _distance(asked: str, input: Any, target: Any) -> Any:
    broadcast_shapes(asked, input.shape, target.shape)
    return sub(input, target)


def _beside(x: Any, other: Any) -> Any:
    """A tensor as it is, but bools beside numbers in these numbers' dtype: they have no sub."""
    alone = group(x.dtype) != BOOLS or group(other.dtype) == BOOLS
    return x if alone else to_dtype(x, other.dtype)


def _smooth_distance(asked: str, input: Any, target: Any) -> Any:
    """The distance for losses that torch has in real floats only."""
    broadcast_shapes(asked, input.shape, target.shape)
    found = sub(_beside(input, target), _beside(target, input))
    refuse(asked, (INTEGERS, COMPLEX), found)
    return found


def _weighted(losses: Any, weight: Any, reduction: str, input: Any) -> Any:
    """Reduced with weights, of which the mean is weighted too."""
    if weight is None:
        return reduced(losses, reduction)
    same_shape("loss, weight", input, weight)
    found = mul(losses, weight)
    return sum(found) / sum(weight) if reduction == "mean" else reduced(found, reduction)


def _distances(g: Any, input: Any, target: Any, count: int) -> Any:
    return mul(sub(input, target), g * (2 / count))


@internal(
    vjp(
        "input: 2 g (input - target) / count; target: its negation",
        input=lambda g, input, target, count: _distances(g, input, target, count),
        target=lambda g, input, target, count: neg(_distances(g, input, target, count)),
    ),
    spec=lambda input, target: input.with_(shape=()),
    grad_name="MseLossBackward0",
    batch=parts(lambda input, target, count: shared_out(sum(square(sub(input, target))), count)),
)
def mean_squared(xp: Any, input: Array, target: Array, count: int) -> Array:
    """The sum of squared distances of operands of one shape and dtype, divided by a number."""
    away = xp.subtract(input, target)
    if type(away) is np.ndarray and 0 < away.size <= LONGEST:
        away = away.reshape(-1)
        return xp.divide(away.dot(away), away.dtype.type(count))
    return xp.divide(xp.multiply(away, away).sum(), count)


def _squares_alone(input: Any, target: Any, weight: Any, reduction: str) -> bool:
    """Whether a loss is a sum or mean of squared distances, and nothing else."""
    alike = input.dtype == target.dtype and tuple(input.shape) == tuple(target.shape)
    real = input.dtype.kind == "f" and input.dtype.itemsize > 2
    return alike and real and weight is None and reduction != "none" and 0 not in input.shape


@composite(space=F, grad_name="MseLossBackward0")
def mse_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array | None = None,
) -> Array:
    """Squared distances of input and target."""
    how = reduction_of(size_average, reduce, reduction)
    if _squares_alone(input, target, weight, how):
        return mean_squared(input, target, prod(input.shape) if how == "mean" else 1)
    losses = square(_smooth_distance("mse_loss", input, target))
    return beside(_weighted(losses, weight, how, input), input, target)


@composite(space=F)
def l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array | None = None,
) -> Array:
    """Absolute distances of input and target."""
    how = reduction_of(size_average, reduce, reduction)
    return _weighted(abs(_distance("l1_loss", input, target)), weight, how, input)


def _huber(distance: Any, delta: float) -> Any:
    """Quadratic up to delta, linear beyond, with the same slope there."""
    size = abs(distance)
    far = size >= delta  # there the square, which may be infinite, has no part in the gradient
    return where(far, (size - 0.5 * delta) * delta, square(where(far, 0, distance)) * 0.5)


@composite(space=F, grad_name="HuberLossBackward0")
def huber_loss(
    input: Array,
    target: Array,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Array | None = None,
) -> Array:
    """Squared distances up to delta, delta times the absolute ones beyond."""
    if delta <= 0:
        raise invalid_argument(
            f"huber_loss: delta must be positive, got {delta}", "for delta near 0 use l1_loss"
        )
    losses = _huber(_smooth_distance("huber_loss", input, target), delta)
    refuse("huber_loss", WHOLE, input, raised=RuntimeError)
    if losses.dtype != input.dtype:
        losses = to_dtype(losses, input.dtype)
    how = reduction_of(None, None, reduction)
    if weight is not None:  # its mean is one of so many elements, as torch's is, unlike mse_loss's
        same_shape("huber_loss, weight", input, weight)
        losses = mul(losses, weight)
    return beside(reduced(losses, how), input, target)


@composite(space=F, grad_name="SmoothL1LossBackward0")
def smooth_l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Array:
    """Squared distances up to beta, over beta, and absolute ones beyond."""
    if beta < 0:
        raise invalid_argument(
            f"smooth_l1_loss: beta must not be negative, got {beta}", "beta=0 is l1_loss"
        )
    if beta == 0:
        losses = abs(_distance("smooth_l1_loss", input, target))
    else:
        losses = _huber(_smooth_distance("smooth_l1_loss", input, target), beta) / beta
    found = reduced(losses, reduction_of(size_average, reduce, reduction))
    return found if beta == 0 else beside(found, input, target)
