"""Clearing gradients, of modules and of optimizers: one step for all, whatever their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from gradwire.tensor import Tensor
from gradwire_engine.journal import assign
from gradwire_engine.zero_grad import zero_grad as mirrored


def zero_grad(tensors: Iterable[Tensor], set_to_none: bool) -> None:
    """Remove the gradients of these tensors, or fill them with zeros.

    No gradient is given a name for it, as a look at `.grad` would.
    """
    found: defaultdict[Any, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        if tensor._meta.grad is not None:
            found[tensor.session].append(tensor)
    for session, own in found.items():
        with session.recording(own[0]) as mark:
            for tensor in own:
                mirrored(tensor._meta, set_to_none)
                if set_to_none and tensor._grad is not None:
                    assign(tensor, "_grad", None)
            if session.runs_here:
                session.through()
                continue
            step: dict[str, Any] = {"zero_grad": [tensor._name for tensor in own]}
            if not set_to_none:
                step["set_to_none"] = False
            session.record(step, mark=mark)


__all__ = ["zero_grad"]
