"""Torch's reference inputs, extreme values among them: results, and gradients where it has some.

The table draws these for results alone. A single operand is laid out in a row before it is
differentiated, and held as the edges are, by the rules of docs/adr/extremes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from tests.parity.opinfo.checks import Found, differs
from tests.parity.opinfo.deviations import WRONG_FAR_OUT
from tests.parity.opinfo.edges import held
from tests.parity.opinfo.grid import columns, in_rows, tensors_of
from tests.parity.opinfo.left_out import draws
from tests.parity.opinfo.numbers import to_numpy
from tests.parity.opinfo.precision import imprecise
from torch.testing._internal.opinfo.core import UnaryUfuncInfo

from gradwire_engine.errors import GradwireError

HALVES = (torch.float16, torch.bfloat16)


def referenced(op: Any, dtype: torch.dtype) -> Iterator[Callable[[], Found]]:
    """A check for each of an entry's reference inputs, and for its derivative there."""
    if op.reference_inputs_func is None or dtype not in op.dtypes:
        return
    smooth = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    smooth = smooth and not draws(op) and op.name not in WRONG_FAR_OUT
    for sample in op.reference_inputs("cpu", dtype, requires_grad=False):
        alone = isinstance(op, UnaryUfuncInfo) and len(tensors_of(sample)) == 1
        if alone or not smooth:
            yield partial(differs, op, sample, orders=0)
        if smooth:
            yield partial(_in_a_row if alone else _derived, op, sample, dtype)


def _in_a_row(op: Any, sample: Any, dtype: torch.dtype) -> Found:
    call = columns(op, sample, dtype)
    plain = isinstance(op.op(sample.input, *sample.args, **sample.kwargs), torch.Tensor)
    if not plain or 0 in sample.input.shape:
        yield from _derived(op, sample, dtype)
    elif call.at:
        yield from held(call, in_rows([to_numpy(call.at[0]).reshape(-1)], [], dtype), dtype, 1)


def _derived(op: Any, sample: Any, dtype: torch.dtype) -> Found:
    smooth = _with_leaves(sample)
    half = next((x.dtype for x in tensors_of(sample) if x.dtype in HALVES), None)
    try:
        if half is not None:  # beside a wider one torch rounds on the way
            yield from imprecise(op, smooth, half)
        else:
            yield from differs(op, smooth, orders=1)
    except RuntimeError as problem:
        if isinstance(problem, GradwireError):
            raise
        yield from _stopped(op, sample, str(problem))


def _stopped(op: Any, sample: Any, problem: str) -> Found:
    """Torch has a result, but no derivative by all of these operands, or its walk fails."""
    yield from differs(op, sample, orders=0)
    if "not differentiable with respect to" not in problem:
        full = np.broadcast_shapes(*(tuple(x.shape) for x in tensors_of(sample)))
        same = sample.transform(partial(_expanded, shape=full))
        yield from differs(op, _with_leaves(same), orders=1)


def _expanded(value: Any, shape: tuple[int, ...]) -> Any:
    return value.expand(shape).clone() if isinstance(value, torch.Tensor) else value


def _with_leaves(sample: Any) -> Any:
    """The sample with a leaf for each tensor that could have a gradient."""
    made: dict[int, torch.Tensor] = {}

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        inexact = value.is_floating_point() or value.is_complex()
        return made.setdefault(id(value), value.detach().requires_grad_(inexact))

    return sample.transform(leaf)
