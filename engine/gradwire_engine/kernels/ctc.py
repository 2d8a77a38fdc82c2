"""Connectionist temporal classification (Graves et al., 2006): forward and backward in log space.

A target of L classes has 2 L + 1 states: a blank before, between and after its classes. From one
time to the next a state stays, moves on by one, or skips the blank between two unlike classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.arrays import Array


class States(NamedTuple):
    """The states of each target in a batch.

    classes: (N, S) the class of each state. skips: (N, S) whether it is reached from two before.
    inputs, targets: (N,) how many times and classes each sample has.
    """

    classes: Array
    skips: Array
    inputs: Array
    targets: Array


def states_of(
    xp: Any, targets: Array, inputs: Array, lengths: Array, blank: int, width: int | None = None
) -> States:
    """The states of targets, which are the beginnings of a matrix' rows.

    width: for how many classes; None for as many as the longest target has.
    """
    if width is None:
        width = int(lengths.max()) if lengths.size else 0
    columns = xp.arange(width)
    rows = targets[:, :width]
    classes = xp.full((lengths.shape[0], 2 * width + 1), blank, xp.int64)
    classes[:, 1::2] = xp.where(columns < lengths[:, None], rows, blank)
    return States(classes, skips_of(xp, classes, blank), inputs, lengths)


def skips_of(xp: Any, classes: Array, blank: int) -> Array:
    """Whether each state is reached from two states before: of another class, and no blank."""
    skips = xp.zeros(classes.shape, bool)
    skips[:, 2:] = (classes[:, 2:] != blank) & (classes[:, 2:] != classes[:, :-2])
    return skips


def ends_of(xp: Any, lengths: Array, count: int) -> Array:
    """(N, S) whether a path may end in a state: the last class, or the blank after it."""
    number, last = xp.arange(count), 2 * lengths[:, None]
    return (number == last) | ((number == last - 1) & (last > 0))


def emitted(xp: Any, log_probs: Array, states: States) -> Array:
    """The log probability of each state's class at each time: (T, N, S)."""
    places = xp.broadcast_to(states.classes, (log_probs.shape[0], *states.classes.shape))
    return xp.take_along_axis(log_probs, places, 2)


def _step(xp: Any, x: Array, skips: Array, by: int) -> Array:
    """One time further (by = 1) or back (-1): all ways into each state added up."""
    near = xp.full(x.shape, -xp.inf, x.dtype)
    far = near.copy()
    if by > 0:
        near[:, 1:], far[:, 2:] = x[:, :-1], x[:, :-2]
    else:
        near[:, :-1], far[:, :-2] = x[:, 1:], x[:, 2:]
    far[~skips] = -xp.inf
    return xp.logaddexp(xp.logaddexp(x, near), far)


def forward(xp: Any, emission: Array, states: States) -> Array:
    """The log probability of all paths that are in a state at a time: (T, N, S)."""
    alpha = xp.full(emission.shape, -xp.inf, emission.dtype)
    if len(alpha):
        alpha[0, :, :2] = emission[0, :, :2]
    for t in range(1, len(alpha)):
        alpha[t] = _step(xp, alpha[t - 1], states.skips, 1) + emission[t]
    return alpha


def posterior(xp: Any, emission: Array, states: States) -> Array:
    """The probability of being in each state at each time, given the target: (T, N, S)."""
    found = forward(xp, emission, states)
    ends = ends_of(xp, states.targets, emission.shape[2])
    ahead = xp.zeros(states.skips.shape, bool)
    ahead[:, :-2] = states.skips[:, 2:]
    beta = xp.full(emission.shape[1:], -xp.inf, emission.dtype)
    zero = xp.zeros((), emission.dtype)
    for t in reversed(range(len(emission))):
        last = (states.inputs - 1 == t)[:, None] & ends
        following = xp.where(last, zero, _step(xp, beta, ahead, -1))
        found[t] += following
        beta = following + emission[t]
    peak = found.max(2, keepdims=True)
    found -= xp.where(xp.isfinite(peak), peak, zero)
    share = xp.exp(found)
    total = share.sum(2, keepdims=True)
    return share / xp.where(total > 0, total, xp.ones((), emission.dtype))


def likelihood(xp: Any, alpha: Array, states: States) -> Array:
    """The log probability of each sample's target: (N,)."""
    zero, never = xp.zeros((), alpha.dtype), xp.asarray(-xp.inf, alpha.dtype)
    empty = xp.where(states.targets == 0, zero, never)  # where a sample has no times
    if not alpha.size:
        return empty
    last = alpha[xp.maximum(states.inputs - 1, 0), xp.arange(alpha.shape[1])]
    last = xp.where(ends_of(xp, states.targets, alpha.shape[2]), last, never)
    peak = last.max(1)
    level = xp.where(xp.isfinite(peak), peak, zero)
    total = xp.exp(last - level[:, None]).sum(1)
    some = total > 0
    found = xp.where(some, xp.log(xp.where(some, total, xp.ones_like(total))) + level, never)
    return xp.where(states.inputs > 0, found, empty)
