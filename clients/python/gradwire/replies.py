"""Replies of HTTP/1.1 as they come on one connection, parsed by httptools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from json import loads
from socket import socket
from types import SimpleNamespace
from typing import Any

from httptools import HttpParserError, HttpResponseParser

_READ = 2**16
"""Bytes that are read from a socket at a time. A longer body is read into its own memory."""
_HEAD = 2**18
"""Bytes of status line and headers at most: a reply with more is refused."""


class Answer:
    """A reply: status, headers with names in lower case, and body; over HTTP or by a stream."""

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


class Replies:
    """The replies on one connection, one after the other.

    The parser calls functions of C alone: it puts an exception of its own in the place of what a
    function of Python raises, and an interrupt that came in one would be lost.
    """

    def __init__(self) -> None:
        self._fields: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._begins: list[None] = []
        self._heads: list[tuple[int, bool]] = []  # statuses, and whether more may follow
        self._ends: list[None] = []
        self._parser = self._new_parser()

    def _new_parser(self) -> HttpResponseParser:
        soon: list[Iterator[tuple[int, bool]]] = []
        noted = map(self._heads.append, chain.from_iterable(soon))
        made = HttpResponseParser(
            SimpleNamespace(
                on_message_begin=partial(self._begins.append, None),
                on_header=self._fields.__setitem__,
                on_headers_complete=partial(next, noted),
                on_body=self._body.append,
                on_message_complete=partial(self._ends.append, None),
            )
        )
        # both are asked as a head is whole: once a reply is through, they tell of none
        told = zip(iter(made.get_status_code, -1), iter(made.should_keep_alive, None), strict=True)
        soon.append(told)
        return made

    def read(self, connection: socket) -> tuple[Answer, bool]:
        """Read the next reply; return it, and whether the connection ends with it.

        Raises HttpParserError or HttpParserUpgrade where it is none, and what a socket raises.
        """
        size = 0
        while not (self._heads and self._heads[-1][0] >= 200):  # those below are interim
            part = connection.recv(_READ)
            size += len(part)
            if not part or size > _HEAD:
                raise _cut_short("its head was whole")
            self._parser.feed_data(part)
        status, more = self._heads[-1]
        fields = self._fields.items()
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in fields}
        length = int(headers.get("content-length", 0))
        if self._is_through or length <= _READ:
            body: bytes | bytearray = self._rest(connection, bool(length), headers)
        else:
            body = self._rest_of_many(connection, length)
            self._parser = self._new_parser()  # which has not seen its end
        if len(self._begins) != len(self._heads) or any(s >= 200 for s, _ in self._heads[:-1]):
            raise HttpParserError("the server replied twice")
        for kept in (self._fields, self._body, self._begins, self._heads, self._ends):
            kept.clear()
        return Answer(status, headers, body), not more

    @property
    def _is_through(self) -> bool:
        return len(self._ends) == len(self._heads)

    def _rest(self, connection: socket, counted: bool, headers: Mapping[str, str]) -> bytes:
        """Read until the parser sees the body's end, or the connection ends; return the body."""
        while not self._is_through:
            part = connection.recv(_READ)
            if not part and (counted or "transfer-encoding" in headers):
                raise _cut_short("its body was there")
            if not part:
                break
            self._parser.feed_data(part)
        return b"".join(self._body)

    def _rest_of_many(self, connection: socket, length: int) -> bytearray:
        """Read a body of a known length into memory of its own, and return it."""
        try:
            body = bytearray(length)
        except (MemoryError, OverflowError):
            raise HttpParserError(f"there is no room for a body of {length} bytes") from None
        begun = b"".join(self._body)
        body[: len(begun)] = begun
        view = memoryview(body)[len(begun) :]
        while view:
            count = connection.recv_into(view)
            if not count:
                raise _cut_short("its body was there")
            view = view[count:]
        return body


def _cut_short(before: str) -> HttpParserError:
    return HttpParserError(f"the server's reply ended, or went on, before {before}")


__all__ = ["Answer", "Replies"]
