"""Requests that run steps: …/steps, …/ops, …/grad, …/backward."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import thread_time
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError
from gradwire_service.host.answered import check_new, noted
from gradwire_service.host.cost import ALLOWANCE, BRIEF, HOP, estimate
from gradwire_service.host.durable.replay import RUN
from gradwire_service.host.elements import Array
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.protocol.requests import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    StepsRequest,
)
from gradwire_service.host.reply import Reply
from gradwire_service.host.run import RunRequest
from gradwire_service.host.safetensors import Buffer
from gradwire_service.host.sessions import Session
from gradwire_service.http.answer import Answer, weight
from gradwire_service.http.body import SMALL
from gradwire_service.http.call import Call
from gradwire_service.http.changes import changed, durable


async def steps(call: Call) -> Answer:
    """Run steps in order, all or nothing, and answer what `return` names."""
    return await _run(call, StepsRequest)


async def ops(call: Call) -> Answer:
    """Apply ops in order, given as data or as source text."""
    return await _run(call, OpsRequest)


async def grad(call: Call) -> Answer:
    """Compute gradients, as torch.autograd.grad does, answered in the order of `inputs`."""
    return await _run(call, GradRequest)


async def backward(call: Call) -> Answer:
    """Accumulate gradients into `.grad`, as torch.autograd.backward does."""
    return await _run(call, BackwardRequest)


class Pace(NamedTuple):
    """What a session's last request with arrays was, and what it took: the next may be its like."""

    request: RunRequest
    length: int
    seconds: float
    nbytes: int


_LONGEST = 2**20
"""Bytes of a body that may be worked on where the event loop runs."""


async def _run(call: Call, kind: type[Any]) -> Answer:
    body = await call.body()
    session = call.session()
    call.form()
    if durable(session):
        return await _kept(call, session, kind, body)
    executor = call.executor
    if len(body) > SMALL:
        here = partial(_again, call, session, kind, body) if _brief(call, session, body) else None
        return await executor.run(session, partial(_large, call, session, kind, body), here)
    request, arrays = call.read(kind, body)
    work = partial(_work, call, session, request, arrays)
    small = partial(work, ALLOWANCE) if estimate(session, request) <= HOP else None
    reply = await executor.run(session, work, small)
    return await call.replied(reply, tiny=session.meter.bound <= SMALL)


_WHAT = {kind: name for name, kind in RUN.items()}


async def _kept(call: Call, session: Session, kind: type[Any], body: Buffer) -> Answer:
    """The same where the session outlives the process."""

    def work(allowance: int | None) -> Reply:
        request, arrays = call.read(kind, body)
        if allowance is not None and estimate(session, request) > HOP:
            raise TooMuchHere
        return _work(call, session, request, arrays, allowance)

    return await changed(call, session, {"what": _WHAT[kind]}, body, work)


def _brief(call: Call, session: Session, body: Buffer) -> bool:
    """Whether it is cheaper to work here than to hand the work to a thread and back.

    So it is for the step of a training loop that took little the last time, if nobody else waits.
    """
    pace: Pace | None = session.pace
    alike = pace is not None and pace.length == len(body) <= _LONGEST
    return alike and pace.seconds <= BRIEF and call.service.underway == 1  # type: ignore[union-attr]


def _large(call: Call, session: Session, kind: type[Any], body: Buffer) -> Answer:
    """In a thread: read, work and answer, and note what that took."""
    began, session.pace = thread_time(), None
    request, arrays = call.read(kind, body)
    reply = _work(call, session, request, arrays)
    if weight(reply) <= SMALL:
        seconds = thread_time() - began
        session.pace = Pace(request, len(body), seconds, session.meter.asked)
    return call.answer(reply)


def _again(call: Call, session: Session, kind: type[Any], body: Buffer) -> Answer:
    """On the event loop: the same request as the last one; any other is for a thread."""
    began, pace = thread_time(), session.pace
    request, arrays = call.read(kind, body)
    if pace is None or request is not pace.request:
        raise TooMuchHere
    reply = _work(call, session, request, arrays, pace.nbytes + ALLOWANCE)
    session.pace = pace._replace(seconds=thread_time() - began)
    return call.answer(reply)


def _work(
    call: Call,
    session: Session,
    request: RunRequest,
    arrays: Mapping[str, Array],
    allowance: int | None = None,
) -> Reply:
    key = call.key
    run = partial(call.host.run, session, request, arrays, allowance, call.until())
    if key is None or durable(session):  # there the change notes it
        return run()
    check_new(session, key)
    try:
        reply = run()
    except GradwireError as problem:
        if problem.step and not getattr(request, "atomic", True):  # those before it are kept
            session.answered = noted(session.answered, key, problem.step)
        raise
    if getattr(request, "steps", None) != []:
        session.answered = noted(session.answered, key, None)
    return reply
