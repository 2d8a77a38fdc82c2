"""Tensors of a session as resources, and its optimisers to be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gradwire_service.host import optimizers, tensors
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import TensorBody
from gradwire_service.host.reply import Reply
from gradwire_service.host.safetensors import Buffer
from gradwire_service.host.sessions import Session
from gradwire_service.http.answer import Answer
from gradwire_service.http.body import SMALL
from gradwire_service.http.call import Call
from gradwire_service.http.changes import changed, durable
from gradwire_service.http.codec.json import weight as weight_of
from gradwire_service.http.codec.negotiation import JSON, sent
from gradwire_service.http.codec.request import read_request

Done = TypeVar("Done")
_FEW = 100
"""Names that are looked through on the event loop."""
_FLAGS = {"true": True, "false": False}


async def list_tensors(call: Call) -> Answer:
    """What tensors there are, without their elements."""
    return await _done(call, lambda session: call.answer(tensors.listed(session)))


async def list_optimizers(call: Call) -> Answer:
    """Every optimiser: its kind, its settings, and what it keeps of each parameter."""
    return await _done(call, lambda held: call.answer(optimizers.listed(held)), short=False)


async def read_tensor(call: Call) -> Answer:
    """One tensor; as `application/x-npy` or safetensors if the caller accepts that."""
    return await _held(call, lambda session: tensors.one(session, call.path["name"]))


async def write_tensor(call: Call) -> Answer:
    """Make a leaf under this name; the reply shows it without its elements."""
    body = await call.body()
    session = call.session()
    call.form()
    query = _query(call)

    def work(allowance: int | None = None) -> Reply:
        asked, arrays = _tensor_body(call, body, query)
        with call.host.using(session.id) as held:
            return tensors.put(held, call.path["name"], asked, arrays, allowance)

    if durable(session):
        about = {"what": "put", "name": call.path["name"], "query": query}
        return await changed(call, session, about, body, work)
    small = (lambda: work(SMALL * 8)) if len(body) <= SMALL else None
    return call.answer(await call.executor.run(session, work, small))


def _query(call: Call) -> dict[str, Any]:
    """What the query says beside a body that is one array."""
    found: dict[str, Any] = {}
    if "dtype" in call.query:
        found["dtype"] = call.query["dtype"]
    if "requires_grad" in call.query:
        found["requires_grad"] = _FLAGS[call.option("requires_grad", tuple(_FLAGS), "false")]
    return found


def _tensor_body(call: Call, body: Buffer, query: dict[str, Any]) -> tuple[TensorBody, Any]:
    """The request of a body; where that is one array, the query says the rest."""
    limits = call.host.limits
    if len(body) > SMALL and sent(call.header(b"content-type")) == JSON:
        call.lend(weight_of(body))
    value, arrays = read_request(call.header(b"content-type"), body, depth=limits.depth, lone=True)
    for field, given in query.items():
        value.setdefault(field, given)
    return read(TensorBody, value), arrays


async def free_tensor(call: Call) -> Answer:
    """Forget a name; the tensor lives on as long as the graph needs it."""
    return await _changed(call, "free", tensors.free)


async def read_grad(call: Call) -> Answer:
    """The accumulated gradient of a tensor; 404 where there is none."""
    return await _held(call, lambda session: tensors.grad(session, call.path["name"]))


async def clear_grad(call: Call) -> Answer:
    """Remove the gradient of a tensor, if it has one."""
    return await _changed(call, "clear_grad", tensors.clear_grad)


async def _changed(call: Call, what: str, change: Callable[[Session, str], None]) -> Answer:
    """Do something to the tensor that the path names; there is nothing to answer."""
    session, name = call.session(), call.path["name"]
    if not durable(session):
        await _done(call, lambda held: change(held, name))
        return Answer(204)

    def work(_: int | None) -> None:
        with call.host.using(session.id) as held:
            change(held, name)

    about = {"what": what, "name": name}
    return await changed(call, session, about, b"", work, lambda _: Answer(204))


async def _held(call: Call, read_: Callable[[Session], Reply]) -> Answer:
    return await call.replied(await _done(call, read_))


async def _done(call: Call, work: Callable[[Session], Done], *, short: bool = True) -> Done:
    """Do something on the session, after all that came before. short: where there are few names."""
    session = call.session()
    call.form()

    def held() -> Done:
        with call.host.using(session.id) as found:
            return work(found)

    here = short and len(session.tensors) <= _FEW
    found: Done = await call.executor.run(session, held, held if here else None)
    return found
