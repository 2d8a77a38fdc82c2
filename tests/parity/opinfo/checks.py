"""What is held against torch for one sample of an entry: results, gradients, their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from tests.parity.opinfo.deviations import excused
from tests.parity.opinfo.left_out import draws
from tests.parity.opinfo.numbers import to_numpy, to_ours
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

from gradwire_engine.errors import GradwireError

Found = Iterator[str]

UNDEFINED = ("empty", "empty_like", "new_empty")
"""Entries whose elements are whatever was there."""


def undefined(op: Any, sample: Any) -> bool:
    """Whether the elements of a result are anything: uninitialised, or drawn for this sample."""
    if op.name in UNDEFINED:
        return True
    if not draws(op):
        return False
    drawn = []
    with patch.object(torch, "manual_seed"):  # which entries of random ops call with one seed
        for seed in range(8):
            torch.default_generator.manual_seed(seed)
            found = op.op(sample.input, *sample.args, **sample.kwargs)
            drawn.append([to_numpy(y).copy() for y in flat(found) if is_tensor(y)])
    same = partial(np.array_equal, equal_nan=True)
    return not all(all(map(same, drawn[0], other)) for other in drawn[1:])


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
    if told or undefined(op, sample):
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
        told = list(_walked(walk, twice=orders > 1 and bool(op.supports_gradgrad)))
        if told and not excused(op, sample, told, xs, make):
            yield from told


def _walked(walk: Walk, *, twice: bool) -> Found:
    if not walk.theirs:
        return
    found = _both(walk, 1, twice)
    if found is None:
        return
    wanted, mine, deeper = found
    told = list(compare_gradients(wanted, mine, "gradient"))
    yield from told
    if told or not twice or not deeper.theirs:
        return
    found = _both(deeper, 2, create_graph=False)
    if found is not None:
        yield from compare_gradients(found[0], found[1], "second", size_of(wanted))


def _both(walk: Walk, seed: int, create_graph: bool) -> tuple[list[Any], list[Any], Walk] | None:
    """The gradients of both sides; None where torch has none for these arguments."""
    try:
        return walk.grads(seed, create_graph)
    except RuntimeError as problem:
        if not isinstance(problem, GradwireError) and "not implemented" in str(problem):
            return None
        raise
