"""The negative log-likelihood of a class index, and the transposed op that is its gradient."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import parts
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import internal
from gradwire_engine.kernels.kept import kept
from gradwire_engine.op import Inferred
from gradwire_engine.ops.accumulate import below
from gradwire_engine.ops.arithmetic import div, mul, neg
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.compare import ne
from gradwire_engine.ops.creation import full, zeros_like
from gradwire_engine.ops.expand import reshape, sum
from gradwire_engine.ops.gather import gather
from gradwire_engine.ops.scatter import scatter_at
from gradwire_engine.rule import vjp
from gradwire_engine.spec import FLOAT, INTEGER, DType, Shape, Spec, int64, uint8


def class_axis(shape: Shape) -> int:
    """Where the classes lie: the only axis of a vector, the second of anything else."""
    return 0 if len(shape) == 1 else 1


def without_classes(shape: Shape) -> Shape:
    """The shape of the targets: an index for each sample and place."""
    return shape[:1] + shape[2:] if len(shape) > 1 else ()


def _in_three_axes(shape: Shape) -> tuple[int, int, int]:
    """Samples, classes, places."""
    if len(shape) == 1:
        return 1, shape[0], 1
    return shape[0], shape[1], prod(shape[2:])


class Picks(NamedTuple):
    """Where the target classes' scores stand among all; what each weighs, and that added up.

    kept: which targets are not ignored; None where all are kept. weight: 0 where one is
    ignored; None where all targets weigh 1.
    """

    where: Array
    kept: Array | None
    weight: Array | None
    total: Any


def _out_of_bounds(target: int, classes: int, ignore_index: int) -> Exception:
    return invalid_argument(
        f"nll_loss: target {target} is out of bounds for {classes} classes",
        f"targets lie between 0 and {classes - 1}, or are ignore_index ({ignore_index})",
        raised=IndexError,
    )


def _picks(
    xp: Any, target: Array, weight: Array | None, ignore_index: int, shape: Shape, dtype: Any
) -> Picks:
    samples, classes, places = _in_three_axes(shape)
    if places == 1 and weight is None and _plain(target, ignore_index, classes):
        return Picks(_starts(samples, classes) + target.reshape(samples), None, None, samples)
    chosen = target.reshape(samples, places)
    low, high = extent(xp, chosen) if chosen.size else (0, -1)
    factor = kept = None
    if low <= ignore_index <= high:
        kept = chosen != ignore_index
        chosen = xp.where(kept, chosen, 0)
        low, high = extent(xp, chosen)
        factor = kept.astype(dtype)
    if low < 0 or high >= classes:
        raise _out_of_bounds(low if low < 0 else high, classes, ignore_index)
    if weight is not None:
        factor = weight[chosen] if factor is None else factor * weight[chosen]
    rows = xp.arange(0, samples * classes, classes)[:, None] + chosen
    where = rows if places == 1 else rows * places + xp.arange(places)
    return Picks(where, kept, factor, chosen.size if factor is None else factor.sum())


def _plain(target: Array, ignore_index: int, classes: int) -> bool:
    """Whether each of some targets is a class, and none of the classes is to be ignored."""
    ignoring = 0 <= ignore_index < classes
    return (
        type(target) is np.ndarray and target.size > 0 and not ignoring and below(target, classes)
    )


@kept(lambda samples, classes: samples)
def _starts(samples: int, classes: int) -> Array:
    """Where each sample's scores begin; to be read only."""
    return np.arange(0, samples * classes, classes)


def extent(xp: Any, array: Array) -> tuple[int, int]:
    """The least and the greatest element of an array that has some."""
    if type(array) is not np.ndarray:
        return int(array.min()), int(array.max())
    return int(xp.minimum.reduce(array, axis=None)), int(xp.maximum.reduce(array, axis=None))


def _of_kept(xp: Any, kept: Array | None, values: Array) -> Array:
    """0 where a target is ignored, whatever stands there."""
    return values if kept is None else xp.where(kept, values, 0).astype(values.dtype)


def _divisor(total: Any, dtype: Any) -> Any:
    """What a mean divides by, in the scores' dtype: of no targets at all the mean is NaN."""
    return dtype.type(total) if type(total) is int else total


def _other_batch(shape: Shape, target: Shape) -> bool:
    """Whether the target fits but for the number of samples, for which torch has another class."""
    wanted = without_classes(shape) if shape else ()
    return len(wanted) == len(target) > 0 and wanted[0] != target[0]


def _spec(input: Spec, target: Spec, weight: Spec | None, reduction: str) -> Inferred:
    shape = input.shape
    if not shape or target.shape != without_classes(shape):
        raise shape_mismatch(
            f"nll_loss: input is {list(shape)}, target is {list(target.shape)}",
            "input is (C), (N, C) or (N, C, ...), target is (), (N) or (N, ...)",
            raised=ValueError if _other_batch(shape, target.shape) else None,
        )
    if target.dtype.category != INTEGER or input.dtype.category != FLOAT:
        raise dtype_mismatch(
            f"nll_loss: input is {input.dtype.name}, target is {target.dtype.name}",
            "input holds floating scores, target holds class indices such as int64",
        )
    if target.dtype not in (int64, uint8):
        raise dtype_mismatch(
            f"nll_loss: expected target dtype to be Long or Byte, but got {target.dtype.name}",
            "convert the target to int64",
        )
    classes = shape[class_axis(shape)]
    if weight is not None and weight.shape != (classes,):
        raise shape_mismatch(
            f"nll_loss: weight is {list(weight.shape)}, there are {classes} classes",
            "give one weight for each class",
        )
    found = Spec(target.shape if reduction == "none" else (), input.dtype, "")
    return Inferred(found, input.dtype, kept=("target",))


def _gradient(
    g: Any, input: Any, target: Any, weight: Any, ignore_index: int, reduction: str
) -> Any:
    others = (input, target, weight, ignore_index, reduction)
    if type(g) is np.ndarray:  # on the walk back, where all are arrays
        return nll_gradient.kernel(np, g, *others)
    return nll_gradient(g, *others)


class _Classes(NamedTuple):
    """In ops: the class of each target along the axis of classes, and its weight."""

    dim: int
    index: Any
    kept: Any
    factor: Any


def _classes_in_parts(
    target: Any, weight: Any, ignore_index: int, shape: Shape, dtype: DType
) -> _Classes:
    dim = class_axis(shape)
    kept = ne(target, ignore_index)
    chosen = where(kept, target, 0)
    factor = to_dtype(kept, dtype)
    if weight is not None:
        picked = gather(weight, 0, reshape(chosen, (-1,)))
        factor = mul(factor, reshape(picked, tuple(target.shape)))
    return _Classes(dim, unsqueeze(chosen, dim), kept, factor)


def _of_classes(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """The losses, where examples have targets of their own."""
    found = _classes_in_parts(target, weight, ignore_index, tuple(input.shape), input.dtype)
    scores = reshape(gather(input, found.dim, found.index), tuple(target.shape))
    losses = where(found.kept, neg(mul(scores, found.factor)), 0)
    if reduction == "none":
        return losses
    return div(sum(losses), sum(found.factor)) if reduction == "mean" else sum(losses)


def _to_classes(
    input: Any, scores: Any, target: Any, weight: Any, ignore_index: int, reduction: str
) -> Any:
    """The gradient of the losses, where examples have cotangents of their own."""
    shape = tuple(scores.shape)
    found = _classes_in_parts(target, weight, ignore_index, shape, input.dtype)
    share = div(found.factor, sum(found.factor)) if reduction == "mean" else found.factor
    values = unsqueeze(where(found.kept, neg(mul(input, share)), 0), found.dim)
    zeros = full(shape, 0, dtype=input.dtype, device=input.device)
    return scatter_at(zeros, found.dim, found.index, values)


@internal(
    vjp(input=_gradient),
    spec=_spec,
    fallible=True,
    grad_name=lambda named: f"NllLoss{'2D' if len(named['input'].shape) > 2 else ''}Backward0",
    batch=parts(_of_classes),
)
def nll(
    xp: Any, input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    """The negated scores of the target classes, weighted and reduced."""
    where, kept, factor, total = _picks(xp, target, weight, ignore_index, input.shape, input.dtype)
    if factor is None and reduction != "none" and type(input) is np.ndarray:
        loss = 0 - np.add.reduce(input.reshape(-1).take(where), axis=None)  # no -0 of zeros
        return loss / _divisor(total, input.dtype) if reduction == "mean" else loss
    losses = -input.reshape(-1).take(where)
    if factor is not None:
        losses = _of_kept(xp, kept, losses * factor)
    if reduction == "none":
        return losses.reshape(target.shape)
    loss = losses.sum()
    return loss / _divisor(total, input.dtype) if reduction == "mean" else loss


@internal(
    vjp(
        input=lambda g, target, weight, ignore_index, reduction: nll(
            g, target, weight, ignore_index, reduction
        ),
        scores=lambda g: zeros_like(g),
    ),
    spec=lambda input, scores: Inferred(
        input.with_(shape=scores.shape), input.dtype, kept=("target", "scores")
    ),
    grad_name="NllLossBackwardBackward0",
    batch=parts(_to_classes),
)
def nll_gradient(
    xp: Any,
    input: Array,
    scores: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    reduction: str,
) -> Array:
    """Zeros, but at the target classes, where the negated and weighted gradient stands.

    Of the scores it takes the shape; by them its derivative is 0, which torch records too.
    """
    shape = scores.shape
    where, kept, factor, total = _picks(xp, target, weight, ignore_index, shape, input.dtype)
    down = -input.reshape(where.shape) if reduction == "none" else -input
    if reduction == "mean":
        down = down / _divisor(total, input.dtype)
    out = xp.zeros(prod(shape), input.dtype)
    out[where] = down if factor is None else _of_kept(xp, kept, down * factor)
    return out.reshape(shape)
