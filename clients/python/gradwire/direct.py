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
from os import close
from socket import SHUT_RDWR, socket
from ssl import SSLContext
from typing import NamedTuple

import httpx
from httptools import HttpParserError, HttpParserUpgrade

from gradwire.replies import Answer, Replies

_JOINED = 2**16
"""Bytes of a body that is copied behind its head."""
_PART = 2**18
"""Bytes that are sent within one timeout."""
_KEPT = 8
"""Connections that wait for their next use: as many as threads ask at a time."""


Reply = httpx.Response | Answer


class _Line(NamedTuple):
    connection: HTTPConnection
    replies: Replies


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
        self._idle: deque[_Line] = deque()

    def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> Answer:
        """The reply to a body. Raises httpx.TransportError, or what a signal's handler raises."""
        first = f"POST {self._path}{path} HTTP/1.1\r\nContent-Length: {len(content)}\r\n"
        head = f"{first}{self._head}{_lines(headers)}\r\n".encode("latin-1")
        line = self._line()
        try:
            if line.connection.sock is None:
                self._open(line.connection)
            reply, last = _exchange(line, head, content)
        except BaseException:  # its reply may still come: to nobody
            _break_off(line.connection)
            raise
        if last or len(self._idle) >= _KEPT:
            line.connection.close()
        else:
            self._idle.append(line)
        return reply

    def _line(self) -> _Line:
        """One that waits and that the server has not closed, else a new one, not open yet."""
        while self._idle:
            try:
                found = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if not _is_readable(found.connection.sock):
                return found
            found.connection.close()
        if not self._secure:
            made = HTTPConnection(self._host, self._port, timeout=self._timeout)
        else:
            made = HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=self._context
            )
        return _Line(made, Replies())

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
                self._idle.pop().connection.close()


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


def _exchange(line: _Line, head: bytes, content: bytes) -> tuple[Answer, bool]:
    """Send a request and read its reply; whether it is the last one on the connection."""
    connection, broken = line.connection.sock, False
    try:
        try:
            send_all(connection, head + content if len(content) <= _JOINED else head)
            if len(content) > _JOINED:
                send_all(connection, content)
        except (BrokenPipeError, ConnectionResetError):
            broken = True  # a server that refuses the head answers before it has read the body
        found, last = line.replies.read(connection)
    except TimeoutError as problem:
        raise httpx.ReadTimeout(str(problem)) from problem
    except HttpParserUpgrade as problem:
        raise httpx.RemoteProtocolError("the server changed to another protocol") from problem
    except HttpParserError as problem:
        raise httpx.RemoteProtocolError(_said(problem)) from problem
    except OSError as problem:
        raise httpx.ReadError(_said(problem)) from problem
    return found, broken or last


def send_all(connection: socket, data: bytes) -> None:
    """Send it all; the connection's timeout is for each part, so that what gets on may go on."""
    view = memoryview(data)
    for start in range(0, len(view), _PART):
        connection.sendall(view[start : start + _PART])


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


def _said(problem: Exception) -> str:
    return str(problem) or type(problem).__name__


__all__ = ["Direct", "Reply", "send_all"]
