"""Sessions as resources, and the graph of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gradwire_service.host import safetensors
from gradwire_service.host.durable.refusals import not_kept
from gradwire_service.host.protocol.requests import SessionCreate, SessionFork, SessionPatch
from gradwire_service.host.safetensors import Buffer
from gradwire_service.host.sessions import Session
from gradwire_service.host.snapshot import version_of
from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call
from gradwire_service.http.changes import durable, keeper_of, patched, reply_entry
from gradwire_service.http.codec.negotiation import JSON, SAFETENSORS, need_taken, sent
from gradwire_service.http.drawing import asked_format, drawn
from gradwire_service.http.paging import page

if TYPE_CHECKING:
    from gradwire_service.host.durable.keeper import Keeper, New


SNAPSHOT_DATA = ("binary", "none")
"""Whether a snapshot comes with its arrays."""


async def create_session(call: Call) -> Answer:
    """Make a new, empty session; without a body, with every default. Of a snapshot: restore it."""
    body = await call.body()
    if body and sent(call.header(b"content-type")) == SAFETENSORS:
        return await _entered(call, call.executor.apart(partial(_restored, call, body)))
    asked = call.read(SessionCreate, body)[0] if body else SessionCreate()
    return await _answered(call, _created(call, asked))


class _Made(NamedTuple):
    """A session, and what is written of it where it is to outlive the process."""

    session: Session
    new: New | None


def _created(call: Call, asked: SessionCreate) -> _Made:
    keeper = call.service.keeper
    if keeper is None and asked.durable:
        raise not_kept()
    session = call.host.create(asked)
    return _new(call, session, None if asked.durable is False else keeper)


def _new(call: Call, session: Session, keeper: Keeper | None) -> _Made:
    if keeper is None:
        return _Made(session, None)
    try:
        return _Made(session, keeper.new(call.tenant, session))
    except BaseException:
        call.host.delete(session)
        raise


async def _entered(call: Call, making: Awaitable[_Made]) -> Answer:
    """The answer to a session that a thread makes; whoever hangs up meanwhile leaves none."""
    task = asyncio.ensure_future(making)
    try:
        made = await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(partial(_unwanted, call))
        raise
    return await _answered(call, made)


def _unwanted(call: Call, task: asyncio.Future[_Made]) -> None:
    if not task.cancelled() and task.exception() is None:
        made = task.result()
        call.host.delete(made.session)
        if made.new is not None:
            made.new.drop()


async def _answered(call: Call, made: _Made) -> Answer:
    """The answer that shows a new session, once it is kept where it is to be."""
    session, new = made
    call.session_id = session.id
    location = (b"location", f"/v1/sessions/{session.id}".encode())
    found = call.answer(session.describe() | {"durable": new is not None}, 201, (location,))
    if new is not None:
        await keeper_of(call).enter(call.host, session, new, reply_entry(call, found))
        call.kept = True
    return found


def _restored(call: Call, body: Buffer) -> _Made:
    metadata, arrays = safetensors.read(body)
    if version_of(metadata) is None:  # a request like any other, in binary
        return _created(call, call.read(SessionCreate, body)[0])
    return _new(call, call.host.restore(metadata, arrays), call.service.keeper)


async def snapshot_session(call: Call) -> Answer:
    """The whole session as one safetensors file; posted to /v1/sessions it is one again.

    Without its arrays (`?data=none`) it is what such a file says beside them, as JSON.
    """
    session = call.session()
    host = call.host
    if call.option("data", SNAPSHOT_DATA, SNAPSHOT_DATA[0]) == "none":
        text = await call.executor.run(session, partial(host.described, session))
        return call.compressed(Answer(200, JSON, [text.encode()]))
    need_taken(call.header(b"accept"), SAFETENSORS)
    buffers = await call.executor.run(session, partial(host.snapshot, session))
    return Answer(200, SAFETENSORS, buffers)


async def list_sessions(call: Call) -> Answer:
    """Sessions, oldest first; `next` is the cursor of what follows, or null."""
    label = call.query.get("label")
    found = call.host.sessions()
    return call.answer(page(call, [s for s in found if label is None or s.label == label]))


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
    if durable(session):
        return await patched(call, session, asked, body)
    host.patch(session, asked)
    return call.answer(await call.executor.run(session, session.describe))


async def close_session(call: Call) -> Answer:
    """Close a session and free what it held; later calls get 410."""
    session = call.session()
    if not durable(session):
        await call.executor.run(session, partial(call.host.delete, session))
        return Answer(204)

    async def gone(_: None) -> None:
        call.host.check_open(session)
        await keeper_of(call).leave(call.host, session, reply_entry(call, Answer(204)))
        call.kept = True

    await call.executor.run(session, lambda: None, None, gone, wake=False)
    return Answer(204)


async def fork_session(call: Call) -> Answer:
    """Make a second session with the same tensors and graph; neither sees what the other does."""
    body = await call.body()
    asked = call.read(SessionFork, body)[0] if body else SessionFork()
    session = call.session()
    keeper = call.service.keeper
    if keeper is None and asked.durable:
        raise not_kept()
    kept = durable(session) if asked.durable is None else asked.durable

    def work() -> _Made:
        return _new(call, call.host.fork(session, asked), keeper if kept else None)

    return await _entered(call, call.executor.run(session, work))


async def session_graph(call: Call) -> Answer:
    """The graph as data or as a picture; with `tensor` only what leads to it."""
    form = asked_format(call)
    session = call.session()
    return await call.executor.run(session, partial(_drawn, call, form, call.query.get("tensor")))


def _drawn(call: Call, form: str, tensor: str | None) -> Answer:
    from gradwire_service.host import graph  # as late as the pictures: see drawn

    assert call.session_id is not None
    with call.host.using(call.session_id) as held:
        data = graph.graph(held, tensor)
    if form == "json":
        return call.answer(data)
    return drawn(call, form, data)
