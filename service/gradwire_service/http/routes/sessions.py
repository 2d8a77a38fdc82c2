"""Sessions as resources."""

from __future__ import annotations

from gradwire_service.host.protocol import SessionCreate, SessionPatch, read
from gradwire_service.http.call import Answer, Call, answer
from gradwire_service.http.codec import read_request, write_reply


async def create_session(call: Call) -> Answer:
    """Make a new, empty session."""
    body = await call.body()
    host = call.service.host
    value, _ = read_request(call.header(b"content-type"), body, depth=host.limits.depth)
    session = host.create(read(SessionCreate, value))
    call.session_id = session.id
    location = (b"location", f"/v1/sessions/{session.id}".encode())
    return answer(write_reply(session.describe(), call.header(b"accept")), 201, location)


async def read_session(call: Call) -> Answer:
    """One session: what it holds, and until when it lives."""
    session = call.service.host.session(call.path["id"])
    call.session_id = session.id
    accept = call.header(b"accept")
    return await call.service.executor.run(
        session, lambda: answer(write_reply(session.describe(), accept))
    )


async def change_session(call: Call) -> Answer:
    """Change label, time to live or memory limit."""
    host = call.service.host
    body = await call.body()
    session = host.session(call.path["id"])
    call.session_id = session.id
    value, _ = read_request(call.header(b"content-type"), body, depth=host.limits.depth)
    host.patch(session, read(SessionPatch, value))
    return await read_session(call)


async def close_session(call: Call) -> Answer:
    """Close a session and free what it held."""
    host = call.service.host
    session = host.session(call.path["id"])
    call.session_id = session.id
    await call.service.executor.run(session, lambda: host.delete(session))
    return Answer(204)
