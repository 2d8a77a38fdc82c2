"""Programs run in one call: /v1/evaluate and /v1/value_and_grad."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gradwire_service.host.cost import ALLOWANCE
from gradwire_service.host.elements import Array
from gradwire_service.host.once import Reference, references
from gradwire_service.host.protocol.requests import EvaluateRequest, ValueAndGradRequest
from gradwire_service.host.reply import Reply
from gradwire_service.http.answer import Answer
from gradwire_service.http.body import SMALL
from gradwire_service.http.call import Call


async def evaluate(call: Call) -> Answer:
    """Run a program on inputs and answer its outputs; nothing is kept."""
    return await _run(call, EvaluateRequest)


async def value_and_grad(call: Call) -> Answer:
    """Run a program and differentiate its outputs by its inputs; nothing is kept."""
    return await _run(call, ValueAndGradRequest)


async def _run(call: Call, kind: type[EvaluateRequest]) -> Answer:
    body = await call.body()
    call.form()
    executor = call.executor
    if len(body) > SMALL:
        request, arrays = await executor.apart(lambda: call.read(kind, body))
    else:
        request, arrays = call.read(kind, body)
    found = {r: await fetched(call, r) for r in dict.fromkeys(references(request))}
    work = partial(_work, call, request, arrays, found)
    small = partial(work, ALLOWANCE) if len(body) <= SMALL and not found else None
    return await call.replied(await executor.apart(work, small))


async def fetched(call: Call, wanted: Reference) -> Array:
    """The elements of a tensor of a session, after all that came before in it."""
    host = call.host
    session = host.session(wanted.session)
    fetch = partial(host.fetch, wanted)
    return await call.executor.run(session, fetch, fetch)


def _work(
    call: Call,
    request: EvaluateRequest,
    arrays: Mapping[str, Array],
    found: Mapping[Reference, Array],
    allowance: int | None = None,
) -> Reply:
    return call.host.once.run(request, arrays, found.__getitem__, allowance, call.until())
