"""What a request will cost, roughly: enough to tell work that is cheaper than a hop to a thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gradwire_engine.catalogue import find, inplace_twin
from gradwire_engine.op import Primitive
from gradwire_engine.tensor import Tensor
from gradwire_service.host.protocol.requests import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    StepsRequest,
)
from gradwire_service.host.protocol.steps import BackwardStep, GradStep, OpStep
from gradwire_service.host.sessions import Session

HOP = 240e-6
"""Seconds that handing work to a thread and back costs."""

BRIEF = 3e-3
"""Seconds of the last request of a loop up to which the next one is worked on at once."""

ALLOWANCE = 2**16
"""Bytes that work on the event loop may allocate before it is stopped and handed to a thread."""

_STEP, _NODE, _BYTE, _STEEP, _RESULT = 6e-6, 6e-6, 1e-9, 4e-9, 5e-6
_TINY = 2**11
"""Bytes so few that no op on them takes long."""
_LINEAR = frozenset({"elementwise", "view", "reduction"})


def estimate(session: Session, request: Any) -> float:
    """Seconds that a request may take, from the sizes of what it names; infinite if unknown."""
    meter = session.meter
    if isinstance(request, GradRequest | BackwardRequest):
        return _walk(session, 0)
    steps: Sequence[Any] | None = None
    if isinstance(request, StepsRequest):
        steps = request.steps
    elif isinstance(request, OpsRequest):
        steps = request.ops
    if steps is None or len(steps) * _STEP > HOP:
        return float("inf")
    if meter.bound <= _TINY and (meter.nodes + 2 * len(steps)) * _NODE <= HOP:
        return 0.0
    seconds = 0.0
    for step in steps:
        kind = type(step)
        if kind is OpStep:
            seconds += _op(session, step)
        elif kind is BackwardStep or kind is GradStep:
            seconds += _walk(session, len(steps))
        else:
            seconds += _STEP
    return seconds


def _op(session: Session, step: OpStep) -> float:
    op = inplace_twin(step.op) or find(step.op)
    if op is None:
        return _STEP
    linear = all(type(o) is Primitive and o.family in _LINEAR for o in op.overloads)
    nbytes = sum(_sizes(session.tensors, step.args))
    if any(type(o) is Primitive and o.many for o in op.overloads):
        return _STEP + nbytes * _RESULT
    return _STEP + (nbytes * _BYTE if linear else (nbytes / 4) ** 1.5 * _STEEP)


def _sizes(tensors: dict[str, Tensor], args: Iterable[Any]) -> Iterable[int]:
    for arg in args:
        if type(arg) is str:
            found = tensors.get(arg)
            if found is not None:
                yield found.spec.nbytes
        elif type(arg) is list:
            yield from _sizes(tensors, arg)


def _walk(session: Session, new: int) -> float:
    meter = session.meter
    return _STEP + (meter.nodes + new) * _NODE + meter.bound * _BYTE
