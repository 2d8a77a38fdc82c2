"""Requests that run steps: …/steps, …/ops, …/grad, …/backward."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gradwire_service.host.cost import ALLOWANCE, HOP, estimate
from gradwire_service.host.elements import Array
from gradwire_service.host.protocol import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    StepsRequest,
)
from gradwire_service.host.reply import Reply
from gradwire_service.host.run import RunRequest
from gradwire_service.host.sessions import Session
from gradwire_service.http.call import SMALL, Answer, Call


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


async def _run(call: Call, kind: type[Any]) -> Answer:
    body = await call.body()
    session = call.session()
    call.form()
    executor = call.service.executor
    if len(body) > SMALL:
        return await executor.run(
            session, lambda: call.answer(_work(call, session, *call.read(kind, body)))
        )
    request, arrays = call.read(kind, body)
    work = partial(_work, call, session, request, arrays)
    small = partial(work, ALLOWANCE) if estimate(session, request) <= HOP else None
    reply = await executor.run(session, work, small)
    return await call.replied(reply, tiny=session.meter.bound <= SMALL)


def _work(
    call: Call,
    session: Session,
    request: RunRequest,
    arrays: Mapping[str, Array],
    allowance: int | None = None,
) -> Reply:
    return call.service.host.run(session, request, arrays, allowance, call.seconds())
