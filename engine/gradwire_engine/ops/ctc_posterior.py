"""How likely each class is at each time, given the target: the heart of ctc_loss's gradient."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.samples import as_samples
from gradwire_engine.families import internal
from gradwire_engine.kernels import ctc
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.accumulate import summed
from gradwire_engine.ops.arithmetic import mul, sub
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.exponential import exp, logaddexp
from gradwire_engine.ops.gather import gather, gather_sum, spread
from gradwire_engine.ops.join import stack
from gradwire_engine.ops.pad import constant_pad_nd
from gradwire_engine.ops.softmax import softmax
from gradwire_engine.ops.views import narrow, select
from gradwire_engine.spec import Spec, bool_, int64

NEVER = -1e30
"""Stands for log 0 where rules are recorded: its own derivatives are numbers."""


def _states(count: int, width: int) -> tuple[int, int]:
    return count, 2 * width + 1


@internal(
    spec=lambda targets, lengths, width: Spec(_states(lengths.shape[0], width), int64, ""),
    batch=as_samples(),
)
def target_states(xp: Any, targets: Array, lengths: Array, width: int, blank: int) -> Array:
    """The class of each state of each target, for targets of up to `width` classes."""
    return ctc.states_of(xp, targets, lengths, lengths, blank, width).classes


@internal(spec=lambda classes: classes.with_(dtype=bool_), batch=as_samples())
def skipping(xp: Any, classes: Array, blank: int) -> Array:
    """Whether each state is reached from two states before."""
    return ctc.skips_of(xp, classes, blank)


@internal(
    spec=lambda inputs, width: Spec(_states(inputs.shape[0], width), bool_, ""),
    batch=as_samples(),
)
def ending(xp: Any, inputs: Array, lengths: Array, t: int, width: int) -> Array:
    """Whether a path may end in each state at this time."""
    ends = ctc.ends_of(xp, lengths, 2 * width + 1)
    return ends & (inputs - 1 == t)[:, None]


@internal(
    spec=lambda inputs, times: Spec((times, inputs.size, 1), bool_, ""),
    batch=as_samples(out=1),
)
def before_end(xp: Any, inputs: Array, times: int) -> Array:
    """Whether a time belongs to each sample."""
    return (xp.arange(times)[:, None] < inputs)[:, :, None]


def _moved(x: Any, by: int) -> Any:
    return constant_pad_nd(x, (by, -by), NEVER)


def _step(x: Any, skips: Any, by: int) -> Any:
    near = logaddexp(x, _moved(x, by))
    return logaddexp(near, where(skips, _moved(x, 2 * by), NEVER))


def _paths(emission: Any, classes: Any, inputs: Any, lengths: Any, blank: int) -> Any:
    """In ops: the log probabilities of all paths through each state at each time, up to a term."""
    times, width = emission.shape[0], (emission.shape[2] - 1) // 2
    skips = skipping(classes, blank)
    ahead = constant_pad_nd(skips, (-2, 2), False) if width else skips
    at = [select(emission, 0, t) for t in range(times)]
    first, rest = narrow(at[0], 1, 0, min(2, 2 * width + 1)), max(2 * width - 1, 0)
    alpha = [constant_pad_nd(first, (0, rest), NEVER)]
    for t in range(1, times):
        alpha.append(_step(alpha[-1], skips, 1) + at[t])
    beta: Any = alpha[0] * 0 + NEVER
    found = []
    for t in reversed(range(times)):
        following = where(ending(inputs, lengths, t, width), 0.0, _step(beta, ahead, -1))
        beta = following + at[t]
        found.append(alpha[t] + following)
    return stack(tuple(reversed(found)), 0)


def _recorded(
    g: Any, log_probs: Any, targets: Any, inputs: Any, lengths: Any, impossible: Any, blank: int,
    fill: float,
) -> Any:  # fmt: skip
    width = targets.shape[-1]  # as many as it can be, where targets are one vector
    classes = target_states(targets, lengths, width, blank)
    places = expand(unsqueeze(classes, 0), (log_probs.shape[0], *classes.shape))
    paths = _paths(gather(log_probs, 2, places), classes, inputs, lengths, blank)
    posterior = gather_sum(softmax(paths, 2), places, 2, tuple(log_probs.shape))
    found = mul(reshape(g, (1, g.shape[0], 1)), sub(exp(log_probs), posterior))
    found = where(reshape(impossible, (1, g.shape[0], 1)), fill, found)
    return where(before_end(inputs, log_probs.shape[0]), found, 0.0)


@one_pass(_recorded)
def classes_gradient(
    xp: Any, g: Array, log_probs: Array, targets: Array, inputs: Array, lengths: Array,
    impossible: Array, blank: int, fill: float,
) -> Array:  # fmt: skip
    """g (exp(log_probs) - posterior); `fill` for samples whose target is impossible."""
    states = ctc.states_of(xp, targets, inputs, lengths, blank)
    share = ctc.posterior(xp, ctc.emitted(xp, log_probs, states), states)
    places = xp.broadcast_to(states.classes, share.shape)
    flat = spread(xp, places, 2, log_probs.shape)
    posterior = summed(xp, flat, share, prod(log_probs.shape)).reshape(log_probs.shape)
    found = (xp.exp(log_probs) - posterior) * g[:, None]
    found = xp.where(impossible[:, None], xp.asarray(fill, log_probs.dtype), found)
    inside = before_end.kernel(xp, inputs, log_probs.shape[0])
    return xp.where(inside, found, xp.zeros((), log_probs.dtype))
