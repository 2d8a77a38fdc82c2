"""Ops tried here, on zeros in the place of elements that only the host has.

The zeros take no memory; what comes out is of no use but for its number and kind, or for the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
_KEPT = 64
"""Calls at most that are known of one tensor of indices."""


def structure(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What the op gives its results in: a tensor, or so many in some kind of tuple."""
    with within(device="cpu", journal=None, grad=False), np.errstate(all="ignore"):
        return op(*map(_tried, args), **{k: _tried(v) for k, v in kwargs.items()})


def harmless(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an op that may fail on elements can't on these: its indices are known to fit.

    They were sent up from here and are in range, or the host did the same with them before. So a
    step of a loop over them needs no request of its own to be checked.
    """
    operands = list(tensors_in((*args, *kwargs.values())))
    indices = _indices(operands)
    if _passed(op, args, kwargs, indices):
        return True
    if not indices or sum(t.numel() for t in operands) > _SMALL:
        return False
    if any(t._known() is None for t in indices):
        return False
    try:
        structure(op, args, kwargs)
    except GradwireError:
        return False
    return True


def went_well(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """The host did an op that may fail on elements: with these indices it does so again.

    What has several tensors of indices is not kept, since either may change.
    """
    indices = _indices(tensors_in((*args, *kwargs.values())))
    if len(indices) == 1:
        version, calls = indices[0]._meta.version, _calls(indices[0])
        calls.add(_call(op, args, kwargs))
        indices[0]._went_well = version, calls


def _passed(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], indices: Sequence[Tensor]
) -> bool:
    calls = _calls(indices[0]) if len(indices) == 1 else ()
    return bool(calls) and _call(op, args, kwargs) in calls


def _calls(index: Tensor) -> set[Any]:
    """The calls that went well with a tensor's elements as they are."""
    version, calls = getattr(index, "_went_well", (-1, set()))
    return calls if version == index._meta.version and len(calls) < _KEPT else set()


def _call(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """All of a call but the elements of its tensors."""
    return op.name, _plan(list(args)), _plan(list(kwargs.items()))


def _plan(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.shape, value.dtype.name
    if isinstance(value, list | tuple):
        return tuple(map(_plan, value))
    return type(value), repr(value)


def _indices(operands: Iterable[Tensor]) -> list[Tensor]:
    return [t for t in operands if t.dtype.category == INTEGER]


def _tried(value: Any) -> Any:
    if isinstance(value, Tensor):
        known = value._known()
        zeros = np.broadcast_to(np.zeros((), value.dtype.numpy), value.shape)
        return Meta.of(zeros if known is None else known)
    if isinstance(value, list | tuple):
        return rebuilt(value, [_tried(v) for v in value])
    return value


__all__ = ["harmless", "structure", "went_well"]
