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
    read,
)
from gradwire_service.host.sessions import Session
from gradwire_service.http.call import Answer, Call, answer
from gradwire_service.http.codec import Buffer, read_request, wanted, write_reply

DATA = ("nested", "none", "base64")
SMALL = 2**15
"""Bytes of a body that are read on the event loop."""


async def steps(call: Call) -> Answer:
    """Run steps in order, all or nothing, and answer what `return` names."""
    return await _run(call, StepsRequest)


async def ops(call: Call) -> Answer:
    """Apply ops in order, given as data or as source text."""
    return await _run(call, OpsRequest)


async def grad(call: Call) -> Answer:
    """Compute gradients, as torch.autograd.grad does; they are answered in the order of inputs."""
    return await _run(call, GradRequest)


async def backward(call: Call) -> Answer:
    """Accumulate gradients into `.grad`, as torch.autograd.backward does."""
    return await _run(call, BackwardRequest)


async def _run(call: Call, kind: type[Any]) -> Answer:
    call.session_id = call.path["id"]
    host, executor = call.service.host, call.service.executor
    body = await call.body()
    session = host.session(call.session_id)
    accept, data = call.header(b"accept"), call.option("data", DATA, "nested")
    wanted(accept)
    content_type = call.header(b"content-type")
    if len(body) > SMALL:
        request = partial(_read, kind, content_type, body, host.limits.depth)
        return await executor.run(session, partial(_work, call, session, request, accept, data))
    known = _read(kind, content_type, body, host.limits.depth)
    work = partial(_work, call, session, lambda: known, accept, data)
    if estimate(session, known[0]) > HOP:
        return await executor.run(session, work)
    return await executor.run(session, work, partial(work, ALLOWANCE))


def _read(
    kind: type[Any], content_type: str | None, body: Buffer, depth: int
) -> tuple[Any, Mapping[str, Array]]:
    value, arrays = read_request(content_type, body, depth=depth)
    return read(kind, value), arrays


def _work(
    call: Call, session: Session, read_: Any, accept: str | None, data: Any,
    allowance: int | None = None,
) -> Answer:  # fmt: skip
    request, arrays = read_()
    reply = call.service.host.run(session, request, arrays, allowance)
    return answer(write_reply(reply, accept, data))
