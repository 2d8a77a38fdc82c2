"""A server by streams: each session's steps over a WebSocket of its own, all else over HTTP."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import count
from json import loads
from typing import Any
from weakref import finalize

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from gradwire.direct import Reply
from gradwire.http import SAFETENSORS, Http, Part, checked, encoded
from gradwire.messages import Messages, Proxied
from gradwire.replies import Answer
from gradwire.retrying import sent
from gradwire_engine.errors import error
from gradwire_engine.locks import lock

_TOO_BIG = 1009


class Line:
    """The WebSocket of one session: opened with the first message, and again where it broke."""

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout: float, *, proxied: bool
    ) -> None:
        self._url, self._headers, self._timeout = url, headers, timeout
        self._kind = Proxied if proxied else Messages
        self._numbers = count(1)
        self._socket: Messages | Proxied | None = None
        self._lock = lock()

    def exchange(self, part: Part, data: bool) -> Reply:
        """Send a message, and its reply as one of HTTP; errors of the connection as httpx's.

        data: whether elements of what is read are wanted.
        """
        with self._lock:
            number = next(self._numbers)
            try:
                return self._answer(_message(part, number, data), number)
            except BaseException as problem:  # the reply may still come: to nobody
                opened = self._socket is not None
                self._break_off()
                if isinstance(problem, InvalidStatus):
                    return _refusal(problem)
                raised = _as_httpx(problem, opened)
                if raised is None:
                    raise
                try:
                    raise raised from problem
                finally:
                    del raised  # which leads to this frame

    def _answer(self, message: str | bytes, number: int) -> Reply:
        if self._socket is not None and not self._socket.is_open:
            self._drop()
        if self._socket is None:
            self._socket = self._kind(self._url, self._headers, self._timeout)
        self._socket.send(message)
        received = self._socket.receive()
        if isinstance(received, bytes):
            return Answer(200, {"content-type": SAFETENSORS}, received)
        found = loads(received)
        if found["id"] is None:  # the server reads nothing more here
            self._drop()
        elif found["id"] != number:
            raise EOFError(f"the reply to message {found['id']} came to message {number}")
        return _reply(received, found)

    def _drop(self) -> None:
        """Close the connection; what it says to that doesn't matter."""
        left, self._socket = self._socket, None
        if left is not None:
            with suppress(Exception):
                left.close()

    def _break_off(self) -> None:
        """Leave the connection without a goodbye."""
        left, self._socket = self._socket, None
        if left is not None:
            left.break_off()

    def close_copy(self) -> None:
        """In a forked child: close its copy of the parent's socket, on which nothing is said."""
        left, self._socket = self._socket, None
        if left is not None:
            left.close_copy()

    def close(self) -> None:
        """Nothing more is sent."""
        with self._lock:
            self._drop()


class Stream(Http):
    """The transport to a server at a URL, with a stream for each session."""

    def __init__(self, url: str, key: str | None = None, timeout: float = 300.0) -> None:
        self._lines: dict[str, Line] = {}
        super().__init__(url, key, timeout)

    def _begin(self) -> None:
        super()._begin()
        self._lines = {}
        self._idle: deque[str] = deque()
        self._closing = finalize(self, _close, self._lines)
        self._closing.atexit = False

    def end(self) -> None:
        """End the sessions that were forgotten, and close the connections."""
        if self._closing.detach() is not None:
            _close(self._lines)
        super().end()

    def let_go(self, session_id: str) -> None:
        """Close the session's stream with the next request of any."""
        self._idle.append(session_id)

    def renew(self) -> None:
        """In a forked child: begin with connections of its own; the parent's stay as they are."""
        self._closing.detach()
        for line in self._lines.values():
            line.close_copy()
        super().renew()

    def _asked(self, session_id: str, part: Part, data: bool) -> Reply:
        """The reply to a request for steps, over the session's stream."""
        if self._forgotten or self._idle:
            self._drop()
        exchange = partial(self._line(session_id).exchange, part, data)
        return checked(sent(exchange, self.url))

    def _line(self, session_id: str) -> Line:
        found = self._lines.get(session_id)
        if found is None:
            url = f"ws{self.url.removeprefix('http')}/v1/sessions/{session_id}/stream"
            made = Line(url, self._headers, self._timeout, proxied=self._direct is None)
            found = self._lines.setdefault(session_id, made)
        return found

    def _drop(self) -> None:
        """End what was forgotten, and close streams that nobody uses."""
        for session_id in [*self._forgotten, *self._idle]:
            line = self._lines.pop(session_id, None)
            if line is not None:
                line.close()
        self._idle.clear()
        super()._drop()


def _message(part: Part, number: int, data: bool) -> str | bytes:
    """A part of a request as a message: what its head would say stands in it."""
    accept = SAFETENSORS if part.binary else "application/json"
    head: dict[str, Any] = {"id": number, "headers": part.key | {"Accept": accept}}
    content, kind = encoded(head | ({} if data else {"data": "none"}) | part.body, part.arrays)
    return content if kind == SAFETENSORS else content.decode()


def _close(lines: dict[str, Line]) -> None:
    for line in list(lines.values()):
        line.close()


def _reply(text: str, found: dict[str, Any]) -> Reply:
    """A message as the reply over HTTP that it stands for."""
    headers = {"content-type": "application/json"}
    if "retry_after" in found:
        headers["retry-after"] = str(found["retry_after"])
    return Answer(found.get("status", 200), headers, text.encode())


def _refusal(refused: InvalidStatus) -> httpx.Response:
    """The answer to a handshake, which is one over HTTP."""
    found = refused.response
    return httpx.Response(
        found.status_code, headers=list(found.headers.raw_items()), content=bytes(found.body or b"")
    )


def _as_httpx(problem: BaseException, opened: bool) -> Exception | None:
    """What HTTP's connection would have raised; None for what is no matter of a connection."""
    if isinstance(problem, TimeoutError):
        return (httpx.ReadTimeout if opened else httpx.ConnectTimeout)(str(problem))
    if isinstance(problem, ConnectionClosed) and problem.rcvd and problem.rcvd.code == _TOO_BIG:
        return error(
            "payload_too_large",
            f"the message is larger than the server takes: {problem.rcvd.reason}",
            "send less at once; GET /v1/info says the limits",
        )
    if isinstance(problem, WebSocketException | EOFError | OSError):
        raised = httpx.ReadError if opened else httpx.ConnectError
        return raised(str(problem) or type(problem).__name__)
    return None


__all__ = ["Stream"]
