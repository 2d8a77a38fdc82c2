"""Sessions as resources, and the graph of one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradwire_service.host import safetensors
from gradwire_service.host.protocol import SessionCreate, SessionPatch
from gradwire_service.host.sessions import Session
from gradwire_service.host.snapshot import version_of
from gradwire_service.http.call import Answer, Call
from gradwire_service.http.codec import JSON, SAFETENSORS, Buffer, need_taken, sent
from gradwire_service.http.durable import changing, need_store, patched
from gradwire_service.http.paging import page

if TYPE_CHECKING:
    from gradwire_service.http.durable.keeper import Keeper, New

FORMATS = {
    "json": JSON,
    "dot": "text/vnd.graphviz; charset=utf-8",
    "mermaid": "text/vnd.mermaid; charset=utf-8",
    "svg": "image/svg+xml",
}


async def create_session(call: Call) -> Answer:
    """Make a new, empty session; without a body, with every default. Of a snapshot: restore it."""
    body = await call.body()
    if body and sent(call.header(b"content-type")) == SAFETENSORS:
        session, new = await call.executor.apart(partial(_restored, call, body))
    else:
        asked = call.read(SessionCreate, body)[0] if body else SessionCreate()
        session, new = _created(call, asked)
    return await _entered(call, session, new)


def _created(call: Call, asked: SessionCreate) -> tuple[Session, New | None]:
    keeper = need_store(call.service.keeper, asked)
    session = call.host.create(asked)
    return session, _new(call, session, keeper)


def _new(call: Call, session: Session, keeper: Keeper | None) -> New | None:
    """What is written of a session that is to outlive the process."""
    if keeper is None:
        return None
    try:
        return keeper.new(call.tenant, session)
    except BaseException:
        call.host.delete(session)
        raise


async def _entered(call: Call, session: Session, new: New | None) -> Answer:
    """The answer that shows a new session, once it is kept where it is to be."""
    call.session_id = session.id
    location = (b"location", f"/v1/sessions/{session.id}".encode())
    shown = session.describe() | {"durable": new is not None}
    found = call.answer(shown, 201, (location,))
    if new is None:
        return found
    assert call.service.keeper is not None
    return await call.service.keeper.enter(call, session, new, found)


def _restored(call: Call, body: Buffer) -> tuple[Session, New | None]:
    metadata, arrays = safetensors.read(body)
    if version_of(metadata) is None:  # a request like any other, in binary
        return _created(call, call.read(SessionCreate, body)[0])
    session = call.host.restore(metadata, arrays)
    return session, _new(call, session, call.service.keeper)


async def snapshot_session(call: Call) -> Answer:
    """The whole session as one safetensors file; posted to /v1/sessions it is one again."""
    need_taken(call.header(b"accept"), SAFETENSORS)
    session = call.session()
    host = call.host
    buffers = await call.executor.run(session, partial(host.snapshot, session))
    return Answer(200, SAFETENSORS, buffers)


async def list_sessions(call: Call) -> Answer:
    """Sessions, oldest first; `next` is the cursor of what follows, or null."""
    return call.answer(page(call, call.host.sessions()))


async def read_session(call: Call) -> Answer:
    """One session: what it holds, counted exactly, and until when it lives."""
    session = call.session()
    return call.answer(await call.executor.run(session, session.describe))


async def change_session(call: Call) -> Answer:
    """Change label, time to live or memory limit."""
    body = await call.body()
    asked, _ = call.read(SessionPatch, body)
    session = call.session()
    host = call.host
    if changing(session):
        return await patched(call, session, asked, body)
    host.patch(session, asked)
    return call.answer(await call.executor.run(session, session.describe))


async def close_session(call: Call) -> Answer:
    """Close a session and free what it held; later calls get 410."""
    session = call.session()
    delete = partial(call.host.delete, session)
    keeper = call.service.keeper
    if keeper is None or not changing(session):
        await call.executor.run(session, delete)
        return Answer(204)

    async def gone(_: None) -> None:
        call.host.check_open(session)
        await keeper.leave(call, session)
        delete()

    await call.executor.run(session, lambda: None, None, gone, wake=False)
    return Answer(204)


async def fork_session(call: Call) -> Answer:
    """Make a second session with the same tensors and graph; neither sees what the other does."""
    host = call.host
    session = call.session()
    keeper = call.service.keeper if changing(session) else None

    def work() -> tuple[Session, New | None]:
        made = host.fork(session)
        return made, _new(call, made, keeper)

    return await _entered(call, *await call.executor.run(session, work))


async def session_graph(call: Call) -> Answer:
    """The graph as data or as a picture; with `tensor` only what leads to it."""
    form = call.option("format", tuple(FORMATS), "json")
    session = call.session()
    return await call.executor.run(session, partial(_drawn, call, form, call.query.get("tensor")))


def _drawn(call: Call, form: str, tensor: str | None) -> Answer:
    # Imported by the first picture: it would be a twentieth of the server's start.
    from gradwire_service.host import graph, picture

    with call.host.using(call.path["id"]) as held:
        data = graph.graph(held, tensor)
    if form == "json":
        return call.answer(data)
    draw = {"dot": picture.to_dot, "mermaid": picture.to_mermaid, "svg": picture.to_svg}[form]
    return call.compressed(Answer(200, FORMATS[form], [draw(data).encode()]))
