"""The loss of connectionist temporal classification, with its gradient as torch defines it.

torch's gradient takes log_probs for normalised: exp(log_probs) - P, where P are the posterior
probabilities of the classes. It is the gradient along all changes that leave them normalised, and
log_softmax, which comes before, makes the same of it.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.batch.samples import as_samples
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels import ctc
from gradwire_engine.ops.arithmetic import div
from gradwire_engine.ops.axes import squeeze, unsqueeze
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.ctc_posterior import classes_gradient
from gradwire_engine.ops.expand import reshape, sum
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.limits import clamp_min
from gradwire_engine.ops.reduce import mean
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Spec, float32, float64, int64


def _loss_spec(log_probs: Spec, targets: Spec, inputs: Spec, lengths: Spec) -> Spec:
    count = log_probs.shape[1]
    if inputs.shape != (count,) or lengths.shape != (count,):
        raise shape_mismatch(
            f"ctc_loss: {count} samples, input_lengths {list(inputs.shape)}, "
            f"target_lengths {list(lengths.shape)}",
            "give one length of each kind for each sample",
        )
    if len(targets.shape) != 2 or targets.shape[0] != count:
        raise shape_mismatch(
            f"ctc_loss: {count} samples, targets {list(targets.shape)}",
            "targets are (N, S), or a vector with one target after the other",
        )
    if log_probs.dtype not in (float32, float64):
        raise dtype_mismatch(
            f"ctc_loss: takes float32 and float64, not {log_probs.dtype.name}",
            "convert log_probs",
            raised=NotImplementedError,
        )
    return log_probs.with_(shape=(count,))


def _check_values(log_probs: Array, targets: Array, inputs: Array, lengths: Array) -> None:
    """Lengths must fit what they are lengths of; classes must be there."""
    if not inputs.size:
        return
    negative = int(inputs.min()) < 0 or int(lengths.min()) < 0
    used = int(lengths.max())
    if int(inputs.max()) > log_probs.shape[0] or used > targets.shape[1] or negative:
        raise invalid_argument(
            f"ctc_loss: input_lengths up to {int(inputs.max())}, target_lengths up to "
            f"{int(lengths.max())}, for log_probs of {list(log_probs.shape)} and targets of "
            f"{list(targets.shape)}",
            "no length may be negative, or longer than what there is",
        )
    if targets.size and not 0 <= int(targets.min()) <= int(targets.max()) < log_probs.shape[2]:
        raise invalid_argument(
            f"ctc_loss: targets from {int(targets.min())} to {int(targets.max())}, "
            f"for {log_probs.shape[2]} classes",
            "classes count from 0",
        )


@internal(
    vjp(
        log_probs=lambda g, log_probs, targets, inputs, lengths, out, blank, zero_infinity: (
            classes_gradient(
                g, log_probs, targets, inputs, lengths, out == inf, blank,
                0.0 if zero_infinity else nan,
            )
        )
    ),
    spec=_loss_spec,
    fallible=True,
    batch=as_samples(log_probs=1),
    grad_name="CtcLossBackward0",
    formula="g (exp(log_probs) - posterior probabilities)",
)  # fmt: skip
def sequence_losses(
    xp: Any, log_probs: Array, targets: Array, inputs: Array, lengths: Array, blank: int,
    zero_infinity: bool,
) -> Array:  # fmt: skip
    """For each sample minus the log probability of all alignments of its target."""
    _check_values(log_probs, targets, inputs, lengths)
    states = ctc.states_of(xp, targets, inputs, lengths, blank)
    alpha = ctc.forward(xp, ctc.emitted(xp, log_probs, states), states)
    return -ctc.likelihood(xp, alpha, states)


@internal(
    spec=lambda like, lengths: Spec((len(lengths),), int64, ""),
    batch=lambda b: b.fronted(b.again(like=b.front("like"))),
)
def lengths_beside(xp: Any, like: Array, lengths: Ints) -> Array:
    """Lengths given as numbers, on another tensor's device."""
    return xp.asarray(list(lengths), xp.int64)


@internal(
    spec=lambda targets, lengths: Spec((*lengths.shape, targets.shape[-1]), targets.dtype, ""),
    fallible=True,
    batch=leading,
)
def target_rows(xp: Any, targets: Array, lengths: Array) -> Array:
    """Targets that stand one after the other in a vector as rows, with anything behind them."""
    size = targets.shape[-1]
    ends = xp.cumsum(lengths, -1)
    if lengths.size and bool((ends[..., -1] != size).any()):
        raise invalid_argument(
            f"ctc_loss: target_lengths add up to {int(ends.max())}, there are {size} targets",
            "a vector of targets must hold just them, one after the other",
        )
    places = (ends - lengths)[..., None] + xp.arange(size)
    places = xp.clip(places, 0, max(size - 1, 0)).reshape(*targets.shape[:-1], -1)
    return xp.take_along_axis(targets, places, -1).reshape(*lengths.shape, size)


def _loss(
    log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int, reduction: str,
    zero_infinity: bool,
) -> Any:  # fmt: skip
    if reduction not in ("none", "mean", "sum"):
        raise invalid_argument(
            f"ctc_loss: reduction is {reduction!r}",
            "it is one of none, mean, sum",
            raised=ValueError,
        )
    alone = log_probs.ndim == 2
    if log_probs.ndim not in (2, 3) or any(kind(x) not in "iu" for x in (targets, inputs, lengths)):
        raise invalid_argument(
            f"ctc_loss: log_probs is {list(log_probs.shape)}, targets are {targets.dtype}, "
            f"lengths {inputs.dtype} and {lengths.dtype}",
            "log_probs is (T, N, C) or (T, C); targets and lengths hold integers",
        )
    if not 0 <= blank < log_probs.shape[-1]:
        raise invalid_argument(
            f"ctc_loss: blank is {blank}, there are {log_probs.shape[-1]} classes",
            "it must be one of them",
        )
    batch = unsqueeze(log_probs, 1) if alone else log_probs
    inputs, lengths = reshape(inputs, (-1,)), reshape(lengths, (-1,))
    if targets.ndim == 1:
        targets = target_rows(targets, lengths)
    found = sequence_losses(batch, targets, inputs, lengths, blank, zero_infinity)
    if zero_infinity:
        found = where(found == inf, 0.0, found)
    if reduction == "mean":
        return mean(div(found, to_dtype(clamp_min(lengths, 1), found.dtype)))
    if reduction == "sum":
        return sum(found)
    return squeeze(found, 0) if alone else found


@composite(space=F, aliases=("ctc_loss",))
def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Array:
    """Minus the log probability that sequences of class probabilities spell unaligned targets."""
    return _loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


@composite(name="nn.functional.ctc_loss")
def _ctc_loss_of_numbers(
    log_probs: Array,
    targets: Array,
    input_lengths: Ints,
    target_lengths: Ints,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Array:
    """The same for lengths that are given as numbers."""
    inputs, lengths = (lengths_beside(targets, n) for n in (input_lengths, target_lengths))
    return _loss(log_probs, targets, inputs, lengths, blank, reduction, zero_infinity)
