"""Tensors of a session as resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_service.host import tensors
from gradwire_service.host.protocol import TensorBody, read
from gradwire_service.host.reply import Reply
from gradwire_service.host.sessions import Session
from gradwire_service.http.call import SMALL, Answer, Call
from gradwire_service.http.codec import JSON, Buffer, read_request, sent, weight_of

_FEW = 100
"""Names that are looked through on the event loop."""
_FLAGS = {"true": True, "false": False}


async def list_tensors(call: Call) -> Answer:
    """What tensors there are, without their elements."""

    def listed(session: Session) -> Answer:
        return call.answer(tensors.listed(session))

    found: Answer = await _done(call, listed)
    return found


async def read_tensor(call: Call) -> Answer:
    """One tensor; as `application/x-npy` or safetensors if the caller accepts that."""
    return await _held(call, lambda session: tensors.one(session, call.path["name"]))


async def write_tensor(call: Call) -> Answer:
    """Make a leaf under this name; the reply shows it without its elements."""
    body = await call.body()
    session = call.session()
    call.form()

    def work(allowance: int | None = None) -> Reply:
        asked, arrays = _tensor_body(call, body)
        with call.host.using(session.id) as held:
            return tensors.put(held, call.path["name"], asked, arrays, allowance)

    small = (lambda: work(SMALL * 8)) if len(body) <= SMALL else None
    return call.answer(await call.executor.run(session, work, small))


def _tensor_body(call: Call, body: Buffer) -> tuple[TensorBody, Any]:
    """The request of a body; where that is one array, the query says the rest."""
    limits = call.host.limits
    if len(body) > SMALL and sent(call.header(b"content-type")) == JSON:
        call.lend(weight_of(body))
    value, arrays = read_request(call.header(b"content-type"), body, depth=limits.depth, lone=True)
    query = call.query
    if "dtype" in query:
        value.setdefault("dtype", query["dtype"])
    if "requires_grad" in query:
        flag = call.option("requires_grad", tuple(_FLAGS), "false")
        value.setdefault("requires_grad", _FLAGS[flag])
    return read(TensorBody, value), arrays


async def free_tensor(call: Call) -> Answer:
    """Forget a name; the tensor lives on as long as the graph needs it."""
    await _done(call, lambda session: tensors.free(session, call.path["name"]))
    return Answer(204)


async def read_grad(call: Call) -> Answer:
    """The accumulated gradient of a tensor; 404 where there is none."""
    return await _held(call, lambda session: tensors.grad(session, call.path["name"]))


async def clear_grad(call: Call) -> Answer:
    """Remove the gradient of a tensor, if it has one."""
    await _done(call, lambda session: tensors.clear_grad(session, call.path["name"]))
    return Answer(204)


async def _held(call: Call, read_: Callable[[Session], Reply]) -> Answer:
    return await call.replied(await _done(call, read_))


async def _done(call: Call, work: Callable[[Session], Any]) -> Any:
    """Do something short on the session, after all that came before."""
    session = call.session()
    call.form()

    def held() -> Any:
        with call.host.using(session.id) as found:
            return work(found)

    few = len(session.tensors) <= _FEW
    return await call.executor.run(session, held, held if few else None)
