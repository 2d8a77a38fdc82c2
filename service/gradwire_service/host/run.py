"""One request that runs steps: in the session's modes, all or nothing, errors naming the step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.journal import transaction
from gradwire_engine.mode import GRAD_MODES, local
from gradwire_service.host import source
from gradwire_service.host.elements import Array
from gradwire_service.host.protocol import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    StepPart,
    StepsRequest,
    limit_steps,
)
from gradwire_service.host.reply import Reply
from gradwire_service.host.sessions import Session, shown
from gradwire_service.host.steps import Steps

RunRequest = StepsRequest | OpsRequest | GradRequest | BackwardRequest


@contextmanager
def modes(session: Session, grad_mode: str | None = None) -> Iterator[None]:
    """This thread in the modes of a session: its default dtype, meter, random numbers, origins."""
    state = local.state
    before = state.meter, state.generator, state.origin, state.default_dtype
    state.meter, state.generator = session.meter, session.generator
    state.origin = session.origins.where
    state.set_default_dtype(session.dtype)
    try:
        with np.errstate(all="ignore"), _grad_mode(grad_mode or "enable_grad"):
            yield
    finally:
        state.meter, state.generator, state.origin, dtype = before
        state.set_default_dtype(dtype)


def _grad_mode(name: str | None):  # type: ignore[no-untyped-def]
    return nullcontext() if name is None else GRAD_MODES[name]()


def run(
    session: Session,
    request: RunRequest,
    arrays: Mapping[str, Array],
    seconds: float,
    allowance: int | None = None,
) -> Reply:
    """Run a request in a session that the caller holds, and answer it.

    `seconds` is how long it may compute. With an `allowance` of bytes it raises TooMuchHere when it
    would need more, and nothing has happened.
    """
    meter = session.meter
    meter.begin(seconds, allowance)
    try:
        with modes(session, request.grad_mode):
            return _answer(Steps(session, arrays), request)
    finally:
        meter.settle()


def _answer(steps: Steps, request: RunRequest) -> Reply:
    if isinstance(request, GradRequest):
        return _grads(steps, request)
    if isinstance(request, BackwardRequest):
        with transaction():
            steps.run_backward(request)
            return _values(steps, request.returns)
    wanted = _steps_of(request, steps)
    if not request.atomic:
        return _one_by_one(steps, wanted, request.returns)
    with transaction():
        try:
            for index, step in enumerate(wanted):
                do(steps, index, step)
            return _values(steps, request.returns)
        finally:
            steps.drop_temporaries()


def _one_by_one(steps: Steps, wanted: Sequence[StepPart], returns: Sequence[str]) -> Reply:
    """Each step all or nothing by itself: those before one that fails are kept."""
    try:
        for index, step in enumerate(wanted):
            with transaction():
                do(steps, index, step)
        return _values(steps, returns)
    finally:
        steps.drop_temporaries()


def _steps_of(request: StepsRequest | OpsRequest, steps: Steps) -> Sequence[StepPart]:
    limits = steps.session.limits
    if isinstance(request, StepsRequest):
        limit_steps(len(request.steps), limits.steps)
        return request.steps
    if request.source is None:
        limit_steps(len(request.ops or ()), limits.steps)
        return request.ops or ()
    return steps.written(request.source, limits.steps)


def do(steps: Steps, index: int, step: StepPart) -> None:
    """Do a step; what goes wrong in it says which one it was."""
    try:
        if step.grad_mode is None:
            steps.do(index, step)
        else:
            with GRAD_MODES[step.grad_mode]():
                steps.do(index, step)
    except GradwireError as problem:
        _name(problem, index, step, steps.lines)
        raise
    except MemoryError as problem:
        raised = error(
            "memory_limit",
            f"step {index}: the machine has no memory left",
            "work on smaller tensors",
        )
        _name(raised, index, step, steps.lines)
        raise raised from problem


def _name(problem: GradwireError, index: int, step: StepPart, lines: Sequence[int]) -> None:
    if lines:
        source.name_line(problem, lines[index])
    problem.step = index
    problem.op = getattr(step, "op", None)


def _values(steps: Steps, returns: Sequence[str]) -> Reply:
    absent, reply = steps.absent, steps.session.reply
    return {"values": {name: None if name in absent else reply(name) for name in returns}}


def _grads(steps: Steps, request: GradRequest) -> Reply:
    with transaction():
        gradients = steps.gradients(request)
        names = request.out or [None] * len(gradients)
        steps.name_gradients(names, gradients)
        answer: Reply = {
            "grads": [
                None if g is None else shown(name, g)
                for name, g in zip(names, gradients, strict=True)
            ]
        }
        if request.returns:
            answer |= _values(steps, request.returns)
        return answer
