"""Ops tried here, on zeros in the place of elements that only the host has.

The zeros take no memory; what comes out is of no use but for its number and kind, or for the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradwire.tensor import Tensor
from gradwire.trace import rebuilt
from gradwire.wire import tensors_in
from gradwire.within import within
from gradwire_engine.errors import GradwireError
from gradwire_engine.op import Op
from gradwire_engine.spec import INTEGER
from gradwire_engine.tensor import Tensor as Meta

_SMALL = 2**16
"""Elements up to which a trial is cheaper than a request."""


def structure(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What the op gives its results in: a tensor, or so many in some kind of tuple."""
    with within(device="cpu", journal=None, grad=False), np.errstate(all="ignore"):
        return op(*map(_tried, args), **{k: _tried(v) for k, v in kwargs.items()})


def harmless(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an op that may fail on elements can't on these: its indices are known, and in range.

    So a step whose classes were sent up with it needs no request of its own to be checked.
    """
    operands = list(tensors_in((*args, *kwargs.values())))
    indices = [t for t in operands if t.dtype.category == INTEGER]
    if not indices or sum(t.numel() for t in operands) > _SMALL:
        return False
    if any(t._known() is None for t in indices):
        return False
    try:
        structure(op, args, kwargs)
    except GradwireError:
        return False
    return True


def _tried(value: Any) -> Any:
    if isinstance(value, Tensor):
        known = value._known()
        zeros = np.broadcast_to(np.zeros((), value.dtype.numpy), value.shape)
        return Meta.of(zeros if known is None else known)
    if isinstance(value, list | tuple):
        return rebuilt(value, [_tried(v) for v in value])
    return value


__all__ = ["harmless", "structure"]
