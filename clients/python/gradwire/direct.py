"""Connections for what is asked in every round of a loop: httpx does more.

http.client opens them, and httptools reads replies, in a tenth of the time that http.client takes.

They are to the server itself, so they serve only where no proxy stands before it. What goes wrong
with one is raised as httpx would raise it, and who asks again does so by the same rules.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from json import loads
from os import close
from socket import SHUT_RDWR, socket
from ssl import SSLContext
from typing import Any, NoReturn

import httpx
from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserUpgrade,
    HttpResponseParser,
)

_JOINED = 2**16
"""Bytes of a body that is copied behind its head, and that are read at a time."""
_PART = 2**18
"""Bytes that are sent within one timeout."""
_KEPT = 8
"""Connections that wait for their next use: as many as threads ask at a time."""


class Answer:
    """A reply that came over such a connection, or by a stream."""

    __slots__ = ("content", "headers", "status_code")

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes | bytearray) -> None:
        self.status_code, self.headers, self.content = status, headers, content

    @property
    def text(self) -> str:
        """The body as text; what is none is shown as far as it goes."""
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        """The body as JSON; ValueError where it is none."""
        return loads(self.content)


Reply = httpx.Response | Answer


class Direct:
    """Connections to one server, each for one request at a time.

    context: whom to believe, where the URL is of https. headers: those of each request, of
    printable characters. timeout: seconds to wait for each part of a reply.
    """

    def __init__(
        self, url: httpx.URL, context: SSLContext, headers: Mapping[str, str], timeout: float
    ) -> None:
        self._secure, self._context = url.scheme == "https", context
        self._host = url.raw_host.decode()
        self._port = url.port or (443 if self._secure else 80)
        self._path, self._timeout = url.raw_path.decode().rstrip("/"), timeout
        fixed = {"Host": url.netloc.decode(), "Accept-Encoding": "identity"} | dict(headers)
        self._head = _lines(fixed | {"User-Agent": "gradwire"})
        self._idle: deque[HTTPConnection] = deque()

    def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> Answer:
        """The reply to a body. Raises httpx.TransportError, or what a signal's handler raises."""
        first = f"POST {self._path}{path} HTTP/1.1\r\nContent-Length: {len(content)}\r\n"
        head = f"{first}{self._head}{_lines(headers)}\r\n".encode("latin-1")
        connection = self._connection()
        try:
            if connection.sock is None:
                self._open(connection)
            reply, last = _exchange(connection.sock, head, content)
        except BaseException:  # its reply may still come: to nobody
            _break_off(connection)
            raise
        if last or len(self._idle) >= _KEPT:
            connection.close()
        else:
            self._idle.append(connection)
        return reply

    def _connection(self) -> HTTPConnection:
        """One that waits and that the server has not closed, else a new one, not open yet."""
        while self._idle:
            try:
                found = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if not _is_readable(found.sock):
                return found
            found.close()
        if not self._secure:
            return HTTPConnection(self._host, self._port, timeout=self._timeout)
        return HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)

    def _open(self, connection: HTTPConnection) -> None:
        try:
            connection.connect()
        except TimeoutError as problem:
            raise httpx.ConnectTimeout(str(problem)) from problem
        except OSError as problem:
            raise httpx.ConnectError(str(problem)) from problem

    def close(self) -> None:
        """Close what waits. Those of a forked child are copies, on which nothing is said."""
        while self._idle:
            with suppress(OSError, IndexError):
                self._idle.pop().close()


def _is_readable(connection: socket) -> bool:
    """Whether the server said something that nobody asked for: mostly that it closes."""
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([connection], (), (), 0)[0])
    poll = select.poll()  # of any number, where select stops at 1024
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _break_off(connection: HTTPConnection) -> None:
    """Close it, also where somebody reads there: an exception may lead to who does."""
    opened: socket | None = connection.sock
    if opened is not None:
        with suppress(OSError):
            opened.shutdown(SHUT_RDWR)
        with suppress(OSError):
            close(opened.detach())
    connection.close()


class _Reading:
    """A reply, of which httptools tells part by part.

    status: once its head is there. last: whether the connection ends with it. through: whether all
    of it is there.
    """

    def __init__(self) -> None:
        self.parser = HttpResponseParser(self)
        self.status, self.last, self.through = 0, False, False
        self.headers: dict[str, str] = {}
        self.body: list[bytes] = []

    @property
    def has_head(self) -> bool:
        """Whether its head is there, which is not that of an interim reply."""
        return self.status >= 200

    def feed(self, part: bytes) -> None:
        """Parse what came. An interrupt may come in what the parser calls, which wraps it."""
        try:
            self.parser.feed_data(part)
        except HttpParserCallbackError as problem:
            raise problem.__context__ or problem from None

    def on_message_begin(self) -> None:
        if self.has_head:
            raise HttpParserError("the server replied twice")
        self.headers.clear()  # an interim reply's

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        self.last = not self.parser.should_keep_alive()

    def on_body(self, part: bytes) -> None:
        self.body.append(part)

    def on_message_complete(self) -> None:
        self.through = self.has_head


def _exchange(connection: socket, head: bytes, content: bytes) -> tuple[Answer, bool]:
    """Send a request and read its reply; whether it is the last one on the connection."""
    broken = False
    try:
        try:
            send_all(connection, head + content if len(content) <= _JOINED else head)
            if len(content) > _JOINED:
                send_all(connection, content)
        except (BrokenPipeError, ConnectionResetError):
            broken = True  # a server that refuses the head answers before it has read the body
        found, last = _read(connection)
    except TimeoutError as problem:
        raise httpx.ReadTimeout(str(problem)) from problem
    except (HttpParserError, HttpParserUpgrade) as problem:
        raise httpx.RemoteProtocolError(_said(problem)) from problem
    except OSError as problem:
        raise httpx.ReadError(_said(problem)) from problem
    return found, broken or last


def _read(connection: socket) -> tuple[Answer, bool]:
    """A reply, and whether it is the last one on the connection."""
    reading = _Reading()
    while not reading.has_head:
        reading.feed(_received(connection))
    length = reading.headers.get("content-length")
    while not (reading.through or length):
        part = connection.recv(_JOINED)
        if not part and "transfer-encoding" not in reading.headers:
            break  # it ends with the connection
        reading.feed(part or _received(connection))
    body: bytes | bytearray = b"".join(reading.body)
    if length and len(body) < int(length):  # a long one is read into its place
        begun, body = body, bytearray(int(length))
        body[: len(begun)] = begun
        view = memoryview(body)[len(begun) :]
        while view:
            view = view[connection.recv_into(view) or _ended() :]
    return Answer(reading.status, reading.headers, body), reading.last


def _received(connection: socket) -> bytes:
    return connection.recv(_JOINED) or _ended()


def _ended() -> NoReturn:
    raise HttpParserError("the server closed the connection before its reply was there")


def send_all(connection: socket, data: bytes) -> None:
    """Send it all; the connection's timeout is for each part, so that what gets on may go on."""
    view = memoryview(data)
    for start in range(0, len(view), _PART):
        connection.sendall(view[start : start + _PART])


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


def _said(problem: Exception) -> str:
    return str(problem) or type(problem).__name__


__all__ = ["Answer", "Direct", "Reply", "send_all"]
