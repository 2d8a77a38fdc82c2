"""A connection, with bounds on what isn't body: the head's size and time, the size of trailers."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from gradwire_engine.errors import CODES, GradwireError, error
from gradwire_service.host.limits import Limits
from gradwire_service.http import problem
from gradwire_service.http.at_once import SENDER, Sender, begin
from gradwire_service.http.body import WHOLE
from gradwire_service.http.crowd import TurnedAway
from gradwire_service.http.request_id import request_id
from gradwire_service.http.service import HEALTH, NO_ROUTE, Service

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

_PER_HEADER = 4
"""Bytes of a header beside its name and value."""
_AUTHORITY_END = re.compile(rb"[/?#]")
_DECIDES = (
    rb"(?i:content-length|expect|transfer-encoding|upgrade|x-request-id):"
    rb"|(?i:proxy-)?(?i:connection):(?! ?(?i:keep-alive)\r)"
)
_FIELDS = rb"(?:(?!%s)[A-Za-z-]+:[ -~]*\r\n)*+" % _DECIDES
ONE_REQUEST = re.compile(
    rb"POST /v1/[!-~]* HTTP/1\.1\r\n%s(?i:content-length): ?([0-9]{1,9})\r\n%s\r\n"
    % (_FIELDS, _FIELDS)
)
"""The head of a request of which nothing is to be known but that a body of this length follows.

No part of it can be matched in two ways: it takes time in proportion to the head's length.
"""
_DROPPED = 2**21
"""Bytes of a refused body that are read for the connection's sake: a new one costs more."""


class _Dropped(list[tuple[bytes, bytes]]):
    """Headers behind a body, which mean nothing here: none is kept."""

    def append(self, _: tuple[bytes, bytes]) -> None:
        """Drop it."""


_TRAILERS = _Dropped()


class Refused(Exception):
    """Ends the parser's work on a connection."""


class Connection(HttpToolsProtocol):
    """uvicorn's, made by it for each connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._service = cast(Service, config.app)
        self._limits: Limits = self._service.limits
        self._refusal: GradwireError | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._count = 0  # bytes received of a head, or in a body since its last piece
        self._inside = False  # a body
        self._heading = False  # a head was read right now
        self._held: tuple[RequestResponseCycle, ASGI3Application] | None = None
        self._away: tuple[TurnedAway, str, float] | None = None  # what is read, by which method
        self._dropped = 0  # bytes of its body
        self._answered = 0.0  # when a request that wasn't parsed was refused last

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock: a request has to come."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self._refuse(error(
                "overloaded", "there are too many connections", "connect again a little later"
            ))  # fmt: skip
        else:
            self._clock = self.loop.call_later(self._limits.header_seconds, self._late)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the connection is given up."""
        if self._refusal is not None or self._is_turned_away(data):
            return
        self._count += len(data)
        super().data_received(data)
        if self._held is not None:  # more of its body has to come
            (cycle, app), self._held = self._held, None
            super()._start_asgi_task(cycle, app)
        if self._count > self._limits.header_bytes and self._refusal is None:
            self._refuse(self._too_long())
        elif self._clock is None and (self._away or (self._count > 0 and not self._inside)):
            self._clock = self.loop.call_later(self._limits.header_seconds, self._late)

    def _is_turned_away(self, data: bytes) -> bool:
        """Refuse one whole request for which there is no place to wait, without parsing it.

        To parse it takes twice as long, and that time is taken from those who are served. A request
        in another form, or the first one of a connection, is parsed and then refused.
        """
        if not self._service.turns_away(b"/v1/") or not self._lies_idle():
            return False
        head = ONE_REQUEST.match(data)
        if head is None or len(data) != head.end() + int(head[1]):
            return False
        if head.end() > self._limits.header_bytes:
            return False
        self._answered = time.monotonic()
        refused = self._service.crowd.turn_away(request_id(()))
        self._tell(refused, "POST", self._answered)
        self.server_state.total_requests += 1
        return True

    def _lies_idle(self) -> bool:
        """Whether no request is being received or answered on this connection."""
        return (
            self.timeout_keep_alive_task is not None
            and not (self._count or self._inside or self.pipeline)
            and (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
        )

    def timeout_keep_alive_handler(self) -> None:
        """Close what lies idle; a refusal that was not parsed counts as use."""
        left = self._answered + self.timeout_keep_alive - time.monotonic()
        if left <= 0:
            super().timeout_keep_alive_handler()
            return
        self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        """A head begins, perhaps behind another request's body in the same data.

        Then the reply to that one may have set the time after which an idle connection is closed.
        """
        self._unset_keepalive_if_required()
        super().on_message_begin()
        self._count = max(self._count, 1)

    def on_headers_complete(self) -> None:
        """The head is there: it may be too long even so, where all of it came at once."""
        if self._count > self._limits.header_bytes:
            sizes = [len(name) + len(value) + _PER_HEADER for name, value in self.headers]
            if len(self.url) + sum(sizes) > self._limits.header_bytes:
                self._refusal = self._too_long()
                raise Refused
        self._count, self._inside = 0, True
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        if self._service.turns_away(self.url) and self._plain():
            refused = self._service.crowd.turn_away(request_id(self.headers))
            method = self.parser.get_method().decode("ascii")
            self._away, self._dropped = (refused, method, time.monotonic()), 0
        else:
            self._heading = True
            if not self.url.startswith(b"/"):
                self._take_authority()
            super().on_headers_complete()
            self._heading = False
        self.headers = _TRAILERS  # the scope has those of the head

    def _take_authority(self) -> None:
        """Have the host of an absolute target stand for the header Host, as RFC 9112 3.2.2 says."""
        _, absolute, rest = self.url.partition(b"://")
        if absolute:
            authority = _AUTHORITY_END.split(rest, maxsplit=1)[0]
            others = [pair for pair in self.headers if pair[0] != b"host"]
            self.headers[:] = [(b"host", authority), *others]

    def _plain(self) -> bool:
        """Whether nothing but a body can follow the head, and nothing waits for its reply."""
        parser, cycle = self.parser, self.cycle
        return (
            (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
            and not self.expect_100_continue
            and not parser.should_upgrade()
            and parser.should_keep_alive()
            and parser.get_method() != b"HEAD"
        )

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """As uvicorn's, but what may need no turn of the event loop is held back for its body.

        Health never waits for one: many may. What is posted is mostly done in less time.
        """
        scope = cast(Any, cycle.scope)
        scope[SENDER] = Sender(cycle)
        if self._heading and (scope["method"] == "POST" or scope["path"].startswith(HEALTH)):
            self._held = cycle, app  # until the body is there, if it came with the head
        else:
            super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """A piece of the body: what is no body is counted anew."""
        self._count = 0
        if self._away is None:
            super().on_body(body)
            return
        self._dropped += len(body)
        if self._dropped > _DROPPED:
            self._turn_away(closing=True)
            raise Refused

    def on_message_complete(self) -> None:
        """The request is there with all of its body; that the client goes has to be noticed."""
        self._count, self._inside = 0, False
        if self._away is not None:
            self._turn_away()
            return
        cast(Any, self.scope)[WHOLE] = True
        super().on_message_complete()
        if self._held is not None:
            (cycle, app), self._held = self._held, None
            self._answer_at_once(cycle, app)
        if not self.pipeline:  # else uvicorn has reading wait until the one before is answered
            self.flow.resume_reading()

    def _turn_away(self, closing: bool = False) -> None:
        """Answer a request for which there was no place to wait when its head came."""
        assert self._away is not None
        (refused, method, began), self._away = self._away, None
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        self._tell(refused, method, began, closing)
        if closing:
            self.transport.close()
        else:
            self.on_response_complete()

    def _tell(self, refused: TurnedAway, method: str, began: float, closing: bool = False) -> None:
        """Write a refusal to the client, and have it counted and logged."""
        self.transport.write(refused.reply(closing))
        seconds = time.monotonic() - began
        self._service.note(refused, method, NO_ROUTE, refused.status, seconds)

    def _answer_at_once(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Begin now, where the client takes its reply and others haven't had this turn already."""
        scope = cast(Any, cycle.scope)
        health = scope["path"].startswith(HEALTH)
        if self.flow.write_paused or not (health or self._service.may_begin()):
            super()._start_asgi_task(cycle, app)
            return
        task = begin(cycle.run_asgi(app))
        if task is not None:
            call = scope.get("gradwire.call")  # none where it waits to be sent
            if call is not None:
                call.task = task
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)

    def _should_upgrade(self) -> bool:
        """Whether the head asks for a WebSocket."""
        asked = dict(self.scope["headers"])
        kinds = [kind.strip().lower() for kind in asked.get(b"connection", b"").split(b",")]
        return b"upgrade" in kinds and asked.get(b"upgrade", b"").lower() == b"websocket"

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over; what that takes is imported when the first one asks for it."""
        from gradwire_service.http.stream.socket import Socket

        self.ws_protocol_class = Socket
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """What the parser refused, as a problem document."""
        raised = self._refusal or error(
            "invalid_body", "what came is no HTTP request", "is the client meant for this port?"
        )
        self._refuse(raised)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone: nobody waits for its request's work any more."""
        if self._clock is not None:
            self._clock.cancel()
        if self.cycle is not None and not self.cycle.response_complete:
            call = cast(Any, self.cycle.scope).get("gradwire.call")
            if call is not None:
                call.hang_up()
        super().connection_lost(exc)

    def _late(self) -> None:
        self._clock = None
        if self._away is not None:
            self._turn_away(closing=True)
            return
        self._refuse(error(
            "request_timeout",
            f"no request came within {self._limits.header_seconds:g} seconds",
            "send the whole head at once",
        ))  # fmt: skip

    def _too_long(self) -> GradwireError:
        return error(
            "limit_exceeded",
            f"the request's head, or what comes between pieces of its body, has more than "
            f"{self._limits.header_bytes} bytes",
            "send fewer and shorter headers, and a shorter path",
        )

    def _refuse(self, raised: GradwireError) -> None:
        """Say why, and close."""
        self._refusal = raised
        if self.transport.is_closing():
            return
        body = problem.encoded(raised, request_id(()))
        seconds = problem.retry_after(raised)
        lines = [
            b"content-type: " + problem.PROBLEM_JSON.encode(),
            b"content-length: %d" % len(body),
            b"connection: close",
        ]
        if seconds is not None:
            lines.append(b"retry-after: %d" % seconds)
        head = STATUS_LINE[CODES[raised.code].status] + b"\r\n".join(lines)
        self.transport.write(head + b"\r\n\r\n" + body)
        self.transport.close()
