"""A WebSocket connection: bytes to frames and back by `websockets`, in ASGI's events.

What it adds to that: what comes is counted against the memory of whose it is, and has to come fast
enough; nothing more is read while what was sent isn't, or while enough waits to be answered; and a
client that hangs up ends the work on its message. A message that comes alone, where none before it
is still to be answered, is answered where it is read, as posted requests are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State

from gradwire_engine.errors import GradwireError
from gradwire_service.host.safetensors import Buffer
from gradwire_service.http.at_once import begin
from gradwire_service.http.service import Service
from gradwire_service.http.stream.alive import Alive
from gradwire_service.http.stream.frames import in_pieces
from gradwire_service.http.stream.handshake import no_handshake, response_of, scope_of
from gradwire_service.http.stream.incoming import Incoming
from gradwire_service.http.stream.outgoing import Outgoing
from gradwire_service.http.stream.wire import Message, Wire, framed

_CLOSING = 10.0
"""Seconds in which a client has to answer a close, at most."""
Event = dict[str, Any]


class Socket(asyncio.Protocol):
    """Made for each connection that asks for a WebSocket; the app is told of it by ASGI."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        self._service = cast(Service, config.app)
        self._limits = self._service.limits
        self._state, self._app_state = server_state, app_state
        self._loop = asyncio.get_running_loop()
        self._frames = Wire(self._limits.body_bytes)
        self._incoming = Incoming(self._limits)
        self._scope: Event = {}
        self._events: deque[Event] = deque()
        self._wanted: asyncio.Future[None] | None = None
        self._answered: Response | None = None
        self._answering: asyncio.Task[None] | None = None  # of a message that began at once
        self._open = self._reading = True

    # what uvicorn and the loop say

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection was another protocol's until now."""
        self._transport = cast(asyncio.Transport, transport)
        self._outgoing = Outgoing(self._transport, self._limits.body_seconds)
        self._alive = Alive(
            self._limits.ping_seconds, self._ping, self._transport.abort, lambda: self._reading
        )
        self._state.connections.add(cast(Any, self))

    def data_received(self, data: bytes) -> None:
        """Frames, whole or in part."""
        self._alive.heard()
        alone = self._frames.alone(data) if self._incoming.between_messages else None
        if alone is not None:
            self._message_came(alone)
            return
        self._frames.receive_data(data)
        refused = self._incoming.came(len(data))
        for event in self._frames.events_received():
            self._take(event)
        if not self._scope:  # what HTTP's parser let pass, this one may not
            assert self._frames.handshake_exc is not None
            self._respond(no_handshake(self._frames.handshake_exc))
            return
        self._write()
        if not self._open:
            return
        if self._frames.parser_exc is not None:
            self._ended(1006)
            self._hang_up()
        elif refused is not None and self._incoming.nbytes:
            self._refuse(refused)
        elif self._incoming.nbytes:
            self._service.patience.watch(self)
        elif not self._outgoing.full:
            self._service.patience.leave(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Nobody is there any more."""
        self._state.connections.discard(cast(Any, self))
        self._ended(1006)
        self._alive.stop()
        self._outgoing.resume()

    def pause_writing(self) -> None:
        """The client reads more slowly than it is answered."""
        self._outgoing.pause()
        self._service.patience.watch(self)
        self._flow()

    def resume_writing(self) -> None:
        """It has read."""
        self._outgoing.resume()
        self._flow()

    def shutdown(self) -> None:
        """The server ends: what is under way is answered first."""
        if self._frames.state is State.OPEN:
            self._put({"type": "websocket.disconnect", "code": 1012, "gradwire.ends": True})
        else:
            self._transport.close()

    # frames

    def _take(self, event: Any) -> None:
        if isinstance(event, Request):
            self._connect(event)
        elif event.opcode is Opcode.CLOSE:
            assert self._frames.close_rcvd is not None
            self._ended(int(self._frames.close_rcvd.code))
            self._loop.call_soon(self._leave)
        elif event.opcode in (Opcode.PING, Opcode.PONG):
            self._alive.answered()
            self._incoming.between()
        else:
            self._piece(event)

    def _piece(self, frame: Frame) -> None:
        whole = self._incoming.piece(frame)
        if whole is None or not self._open:
            return
        data, binary, lent = whole
        kind = "bytes" if binary else "text"
        self._put({"type": "websocket.receive", kind: data, "gradwire.lent": lent})

    def _message_came(self, message: Message) -> None:
        """Answer it now, where the app waits for it; else it waits as others do."""
        kind = "bytes" if message.binary else "text"
        event = {"type": "websocket.receive", kind: message.data}
        idle = self._wanted is not None and not self._wanted.done() and self._answering is None
        if idle and not self._outgoing.full and self._service.may_begin():
            self._answer_at_once(event)
        else:
            self._incoming.waits(len(message.data))
            self._put(event)

    def _answer_at_once(self, event: Event) -> None:
        """Begin; where it has to wait, what comes next waits for it."""
        task = begin(self._scope["gradwire.answer"](event))
        if task is None:
            return
        call = self._scope.get("gradwire.call")  # none where it waits to be sent
        if call is not None:
            call.task = task
        self._answering = task
        self._state.tasks.add(task)
        task.add_done_callback(self._goes_on)

    def _goes_on(self, task: asyncio.Task[None]) -> None:
        """The message that began at once is answered, or nobody is there any more."""
        self._answering = None
        self._state.tasks.discard(task)
        self._wake()

    def _connect(self, request: Request) -> None:
        """The head, which has been through the parser of HTTP before."""
        self._incoming.between()
        self._answered = self._frames.accept(request)
        self._scope = scope_of(request, self._app_state.copy())
        self._put({"type": "websocket.connect"})
        task = self._loop.create_task(self._run())
        self._state.tasks.add(task)
        task.add_done_callback(self._state.tasks.discard)

    async def _run(self) -> None:
        if self._frames.handshake_exc is not None:
            self._respond(no_handshake(self._frames.handshake_exc))
            return
        try:
            await self._service(cast(Any, self._scope), cast(Any, self.receive), self.send)
        except Exception as raised:
            self._service.log.failure("(stream)", self._scope["path"], raised)
        finally:
            if self._frames.state is not State.CLOSING:
                self._leave()

    # what the app says

    async def receive(self) -> Event:
        """The next event."""
        while not self._events or self._answering is not None:
            self._wanted = self._loop.create_future()
            await self._wanted
        event = self._events.popleft()
        if not self._reading:
            self._flow()
        return event

    async def send(self, message: Any) -> None:
        """Do what the app says; raises ClientDisconnected where nobody is there any more."""
        if self._outgoing.full:
            await self._outgoing.room()
        if self._transport.is_closing():
            raise ClientDisconnected
        kind = message["type"]
        if kind == "websocket.send":
            if self._frames.state is not State.OPEN:  # who asked says good-bye
                raise ClientDisconnected
            buffers, binary = message["gradwire.buffers"], message["gradwire.binary"]
            if not self._short(buffers, binary):
                await self._message(buffers, binary)
        elif kind == "websocket.accept":
            self._accept(message)
        elif kind == "websocket.close":
            self._close(message["code"], message.get("reason", ""))
        elif kind == "websocket.http.response.start":
            self._answered = response_of(message)
        elif self._answered is not None:
            self._answered.body = message["body"]
            self._respond(self._answered)

    def _accept(self, message: Any) -> None:
        assert self._answered is not None
        for name, value in message["headers"]:
            self._answered.headers[name.decode("latin-1")] = value.decode("latin-1")
        self._frames.send_response(self._answered)
        self._write()
        self._incoming.ledger = self._scope["gradwire.ledger"]
        self._alive.begin()

    def _respond(self, response: Response) -> None:
        """Refuse the handshake."""
        self._transport.write(response.serialize())
        self._leave()

    def _short(self, buffers: list[Buffer], binary: bool) -> bool:
        """Send a short message: whether it was one."""
        frame = framed(buffers, sum(map(len, buffers)), binary)
        if frame is not None:
            self._transport.write(frame)
        return frame is not None

    async def _message(self, buffers: list[Buffer], binary: bool) -> None:
        """A longer one as a frame, a long one as several: each sent when the one before it left."""
        send: Any = self._frames.send_binary if binary else self._frames.send_text
        for piece, last in in_pieces(buffers):
            send(piece, fin=last)
            self._write()
            send = self._frames.send_continuation
            if not last:
                await self._outgoing.room()
            if not last and self._frames.state is not State.OPEN:
                raise ClientDisconnected

    def _close(self, code: int, reason: str) -> None:
        """In order; or, where something was refused, with no regard to what else is sent."""
        if self._incoming.shut:
            self._frames.fail(code, reason)
            self._write()
            self._hang_up()
            return
        if self._frames.state is State.OPEN:  # else the client closes already
            self._frames.send_close(code, reason)
            self._write()
        self._last_wait()

    def _hang_up(self) -> None:
        """Say no more, and drop what still comes: to close at once might lose what was said."""
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()
        self._last_wait()

    def _leave(self) -> None:
        """Close once all is sent, or soon."""
        if not self._transport.is_closing():
            self._transport.close()
            self._last_wait()

    def _last_wait(self) -> None:
        self._flow()
        self._alive.close(min(_CLOSING, self._limits.body_seconds))

    # waiting

    def _put(self, event: Event) -> None:
        self._events.append(event)
        self._wake()
        self._flow()

    def _wake(self) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    def _flow(self) -> None:
        """Read on, or not, as there is work waiting and replies unread."""
        closing = self._frames.state is State.CLOSING
        reading = closing or (not self._outgoing.full and self._incoming.room(self._events))
        if reading != self._reading and not self._transport.is_closing():
            self._reading = reading
            (self._transport.resume_reading if reading else self._transport.pause_reading)()

    def _write(self) -> None:
        written = b"".join(self._frames.data_to_send())
        if written and not self._transport.is_closing():
            self._transport.write(written)

    def _ended(self, code: int) -> None:
        """No more will come, and nobody waits for what came."""
        if not self._open:
            return
        self._open = False
        self._service.patience.leave(self)
        self._alive.stop()
        for event in self._events:
            self._incoming.back(event.get("gradwire.lent", 0))
        self._incoming.end()
        self._events.clear()
        self._put({"type": "websocket.disconnect", "code": code})
        call = self._scope.get("gradwire.call")
        if call is not None:
            call.hang_up()

    def _refuse(self, raised: GradwireError) -> None:
        """Read no more; the app says why, after what it has to say of what came before."""
        self._service.patience.leave(self)
        self._incoming.stop()
        self._put({"type": "websocket.receive", "gradwire.refused": raised})

    def look(self, now: float) -> None:
        """End what takes the client too long: to read replies, or to send a message."""
        if self._outgoing.full:
            self._outgoing.look(now)
        if self._incoming.nbytes:
            refused = self._incoming.look(now, self._reading)
            if refused is not None:
                self._refuse(refused)
        elif not self._outgoing.full:
            self._service.patience.leave(self)

    def _ping(self) -> None:
        self._frames.send_ping(b"")
        self._write()
