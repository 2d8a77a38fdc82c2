"""Leaves: arrays that go up to the host and become tensors there."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire.grad_fn import note_leaf
from gradwire.session import Session
from gradwire.tensor import Tensor, held_tensor
from gradwire_engine.spec import dtype_of
from gradwire_engine.tensor import Tensor as Meta

_SMALL = 2**16
"""Bytes of an array up to which it is kept here too, so that to look at it costs no request."""


def leaf(session: Session, array: np.ndarray, *, requires_grad: bool = False) -> Tensor:
    """A tensor of these elements, which are not copied: the caller gives them away."""
    array = np.ascontiguousarray(array) if array.ndim else array.reshape(())
    if session.runs_here:
        return _held(session, array, requires_grad)
    with session.recording() as mark:
        meta = Meta.of(array, device="meta")
        if requires_grad:
            meta.requires_grad_()
        made = Tensor(session, meta)
        if array.nbytes <= _SMALL:
            made._elements = (made._meta.version, array)
        value = {"binary": made._name, "dtype": dtype_of(array.dtype).name}
        step: dict[str, Any] = {"tensor": made._name, "value": value}
        if requires_grad:
            step["requires_grad"] = True
            note_leaf(made)
        session.record(step, [made], {made._name: array}, mark=mark)
    return made


def _held(session: Session, array: np.ndarray, requires_grad: bool) -> Tensor:
    """The same in a session that is here."""
    with session.recording():
        if session.meter is not None:
            session.meter.charge(array.nbytes)
        made = held_tensor(session, Meta.of(array, device=session.device))
        if requires_grad:
            made._meta.requires_grad_()
            note_leaf(made)
    return made


__all__ = ["leaf"]
