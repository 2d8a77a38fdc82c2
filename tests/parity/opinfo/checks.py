"""What is held against torch for one sample of an entry: results, gradients, their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from tests.parity.opinfo.numbers import to_ours
from tests.parity.opinfo.sides import (
    Ours,
    Walk,
    apply,
    compare_gradients,
    compare_numbers,
    compare_results,
    flat,
    is_tensor,
    size_of,
)

Found = Iterator[str]

UNDEFINED = ("empty", "empty_like", "new_empty")
"""Entries whose elements are whatever was there."""


def leaves_of(sample: Any) -> list[torch.Tensor]:
    """The tensors that the sample is differentiated by."""
    found: dict[int, torch.Tensor] = {}
    for value in flat((sample.input, sample.args, list(sample.kwargs.values()))):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            found.setdefault(id(value), value)
    return list(found.values())


def differs(
    op: Any, sample: Any, make: Callable[[torch.Tensor], Any] = to_ours, orders: int = 2
) -> Found:
    """All that differs for one sample. make: an SDK tensor of one of torch's."""
    ours = Ours(sample, make)
    wanted = op.op(sample.input, *sample.args, **sample.kwargs)
    found = apply(op, ours)
    told = list(compare_results(found, wanted, "result"))
    if told or op.name in UNDEFINED:
        yield from told
        return
    wanted = sample.output_process_fn_grad(wanted)
    found = sample.output_process_fn_grad(found)
    yield from compare_numbers(found, wanted, "result")
    xs = leaves_of(sample)
    if orders and xs and op.supports_autograd:
        theirs = [y for y in flat(wanted) if is_tensor(y)]
        mine = [y.tensor for y in flat(found) if is_tensor(y)]
        walk = Walk(theirs, mine, xs, [ours.of(x) for x in xs])
        yield from _walked(walk, twice=orders > 1 and bool(op.supports_gradgrad))


def _walked(walk: Walk, *, twice: bool) -> Found:
    if not walk.theirs:
        return
    wanted, found, deeper = walk.grads(1, twice)
    told = list(compare_gradients(wanted, found, "gradient"))
    yield from told
    if told or not twice or not deeper.theirs:
        return
    scale = size_of(wanted)
    try:
        wanted, found, _ = deeper.grads(2, create_graph=False)
    except Exception as problem:
        if "not implemented" in str(problem):  # torch has no second derivative for these arguments
            return
        raise
    yield from compare_gradients(wanted, found, "second", scale)
