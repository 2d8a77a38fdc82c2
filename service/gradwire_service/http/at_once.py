"""Requests that are taken up, and answers that are sent, without uvicorn's way around.

A small request is answered in the time that it takes to have a task come to its turn. So it begins
where its last byte is read, and becomes a task only where it has to wait. Its answer is one write:
of a head and a body that are sent apart the client is woken for each.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator, Sequence
from contextvars import copy_context
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gradwire_service.host.safetensors import Buffer

SENDER = "gradwire.sender"
"""In the scope of a request whose answer may be one write: what writes it."""
_JOINED = 2**16
"""Bytes of a body that is copied behind its head; more is worth a write of its own."""


def begin(running: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
    """Run it to its end, or until it waits: a task then goes on with it."""
    context = copy_context()
    try:
        awaited = context.run(running.send, None)
    except StopIteration:
        return None
    loop = asyncio.get_running_loop()
    return loop.create_task(_resumed(running, awaited), context=context)


async def _resumed(running: Coroutine[Any, Any, None], awaited: Any) -> None:
    """The rest of a coroutine that waits for this future. A task takes no generator since 3.12."""
    await _rest(running, awaited)


@types.coroutine
def _rest(running: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    try:
        while True:
            try:
                given = yield awaited
            except BaseException as raised:  # not kept: it leads to this frame
                awaited = running.throw(raised)
            else:
                awaited = running.send(given)
    except StopIteration:
        return


class Sender:
    """Writes the answer of one request."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def send(
        self, status: int, headers: Sequence[tuple[bytes, bytes]], buffers: Sequence[Buffer]
    ) -> bool:
        """Write it all, unless it is large, or uvicorn has to look after it: whether it was."""
        cycle = self._cycle
        if cycle.flow.write_paused or cycle.disconnected or cycle.scope["method"] == "HEAD":
            return False
        if sum(map(len, buffers)) > _JOINED:
            return False
        lines = [b"%s: %s\r\n" % header for header in (*cycle.default_headers, *headers)]
        if not cycle.keep_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != len(lines):  # a value with a line's end: uvicorn says so
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(b"".join((STATUS_LINE[status], head, b"\r\n", *buffers)))
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True
