"""One request that runs steps: in the session's modes, all or nothing, errors naming the step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar, cast

import numpy as np

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.journal import transaction
from gradwire_engine.mode import GRAD_MODES, local
from gradwire_engine.profile import Profile
from gradwire_service.host import running
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.elements import Array
from gradwire_service.host.long_calls.watch import watching
from gradwire_service.host.protocol import limit_steps
from gradwire_service.host.protocol.hooks import Anomaly
from gradwire_service.host.protocol.requests import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    StepsRequest,
)
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.reply import Reply
from gradwire_service.host.sessions import Session, shown
from gradwire_service.host.steps import Steps, named
from gradwire_service.host.ways import Ways, go, ways_of

T = TypeVar("T")
_NO_MEMORY = ("memory_limit", "the machine has no memory left", "work on smaller tensors")
_FAULT = ("internal", "the server failed; nothing was changed", "report it with the request id")
RunRequest = StepsRequest | OpsRequest | GradRequest | BackwardRequest


class modes:
    """This thread in the modes of a session: grad mode, default dtype, meter, random numbers."""

    __slots__ = ("_anomaly", "_before", "_errors", "_inner", "_profile", "_running", "_session")

    def __init__(
        self,
        session: Session,
        grad_mode: str | None = None,
        anomaly: bool | Anomaly | None = None,
        profile: Profile | None = None,
    ) -> None:
        self._session, self._profile = session, profile
        self._anomaly = session.anomaly if anomaly is None else anomaly
        self._errors = np.errstate(all="ignore")
        self._inner = None if grad_mode is None else GRAD_MODES[grad_mode]()

    def __enter__(self) -> None:
        state, session = local.state, self._session
        self._before = (
            state.grad, state.inference, state.meter, state.generator, state.origin, state.device,
            state.default_dtype, state.anomaly, state.check_nan, state.profile, state.watch,
        )  # fmt: skip
        state.profile = self._profile
        self._running = running.enter(session)
        anomaly = self._anomaly
        state.anomaly = anomaly is not False
        state.check_nan = anomaly.check_nan if isinstance(anomaly, Anomaly) else anomaly
        state.grad, state.inference = True, False
        state.meter, state.generator = session.meter, session.generator
        state.watch = watching(session.meter, session.device)
        state.origin, state.device = session.origins.where, session.device
        if state.default_dtype is not session.dtype:
            state.set_default_dtype(session.dtype)
        self._errors.__enter__()
        if self._inner is not None:
            self._inner.__enter__()

    def __exit__(self, *exc: Any) -> None:
        if self._inner is not None:
            self._inner.__exit__(*exc)
        self._errors.__exit__(*exc)
        running.enter(self._running)
        state = local.state
        (
            state.grad, state.inference, state.meter, state.generator, state.origin, state.device,
            dtype, state.anomaly, state.check_nan, state.profile, state.watch,
        ) = self._before  # fmt: skip
        if state.default_dtype is not dtype:
            state.set_default_dtype(dtype)


def run(
    session: Session,
    request: RunRequest,
    arrays: Mapping[str, Array],
    until: Deadline,
    allowance: int | None = None,
) -> Reply:
    """Run a request in a session that the caller holds, and answer it.

    `until` says how long it may compute. With an `allowance` of bytes it raises TooMuchHere when it
    would need more, and nothing has happened.
    """
    meter = session.meter
    meter.begin(until, allowance)
    again = allowance is not None
    profile = Profile(lambda: meter.asked) if request.profile else None
    try:
        with modes(session, request.grad_mode, request.anomaly, profile):
            if profile is None:
                return _answer(Steps(session, arrays), request, again)
            began = perf_counter()
            reply = _answer(Steps(session, arrays), request, again)
            return {**reply, "profile": profile.table(perf_counter() - began)}
    finally:
        meter.settle()


def _answer(steps: Steps, request: RunRequest, again: bool) -> Reply:
    if isinstance(request, GradRequest):
        return _grads(steps, request)
    if isinstance(request, BackwardRequest):
        with transaction():
            _walked(steps, "backward", steps.run_backward, request)
            return _values(steps, request.returns)
    wanted = steps_of(request, steps)
    if not request.atomic:
        return _one_by_one(steps, wanted, request.returns, again)
    ways = ways_of(steps, wanted)
    with transaction():
        try:
            for index, step in enumerate(wanted):
                do(steps, index, step, ways)
            return _values(steps, request.returns)
        finally:
            steps.drop_temporaries()


def _one_by_one(
    steps: Steps, wanted: Sequence[StepPart], returns: Sequence[str], again: bool
) -> Reply:
    """Each step all or nothing by itself: those before one that fails are kept."""
    failed: GradwireError | None = None
    ways = ways_of(steps, wanted)
    keep = again or local.state.journal is not None  # somebody may have to undo all of it
    try:
        with transaction() as journal:
            mark = len(journal.entries)
            try:
                for index, step in enumerate(wanted):
                    mark = journal.next_part(keep=keep)
                    do(steps, index, step, ways)
                mark = journal.next_part(keep=keep)
                return _values_after(steps, len(wanted), returns)
            except GradwireError as problem:
                journal.rollback(mark)
                failed = problem
    finally:
        steps.drop_temporaries()  # of steps that are kept too, whatever ends it
    try:
        raise failed
    finally:
        failed = None  # which leads to this frame


def _values_after(steps: Steps, count: int, returns: Sequence[str]) -> Reply:
    """Read tensors; what fails here fails after all the steps, which were done."""
    try:
        return _values(steps, returns)
    except GradwireError as problem:
        problem.step = count
        raise


def steps_of(request: StepsRequest | OpsRequest, steps: Steps) -> Sequence[StepPart]:
    """The steps of a request, no more than it may have."""
    limits = steps.session.limits
    if isinstance(request, StepsRequest):
        limit_steps(len(request.steps), limits.steps)
        return request.steps
    if request.source is None:
        limit_steps(len(request.ops or ()), limits.steps)
        return request.ops or ()
    return steps.written(request.source, limits.steps)


def do(steps: Steps, index: int, step: StepPart, ways: Ways | None = None) -> None:
    """Do a step; what goes wrong in it says which one it was."""
    try:
        way = None if ways is None else ways[index]
        if way is not None:  # the commonest
            steps.index = index
            steps.session.meter.tick()
            way(steps, step)
        elif ways is not None:
            go(steps, index, step, ways)
        elif step.grad_mode is None:
            steps.do(index, step)
        else:
            with GRAD_MODES[step.grad_mode]():
                steps.do(index, step)
    except GradwireError as problem:
        named(problem, index, step, steps.lines)
        raise
    except Exception as problem:  # a fault of ours: the step is undone like any that fails
        code, why, hint = _NO_MEMORY if isinstance(problem, MemoryError) else _FAULT
        raised = error(code, f"step {index}: {why}", hint)
        raise named(raised, index, step, steps.lines) from problem


def _values(steps: Steps, returns: Sequence[str]) -> Reply:
    absent, reply = steps.absent, cast(Session, steps.session).reply
    return {"values": {name: None if name in absent else reply(name) for name in returns}}


def _walked(steps: Steps, word: str, walk: Callable[[Any], T], request: Any) -> T:
    """What a walk gives that is a request of its own; timed as the step of that word."""
    if steps.profile is None:
        return walk(request)
    found: T = steps.profile.timed("step", word, walk, request)
    return found


def _grads(steps: Steps, request: GradRequest) -> Reply:
    with transaction():
        gradients = _walked(steps, "grad", steps.gradients, request)
        names = [None] * len(gradients) if request.out is None else request.out
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
