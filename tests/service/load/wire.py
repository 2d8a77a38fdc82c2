"""A connection of a client that costs little: a request goes out, its reply's body comes back."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple, cast

_LENGTH, _RETRY = b"\r\ncontent-length:", b"\r\nretry-after:"
_IDLE = 2.0


class Reply(NamedTuple):
    """What came: retry_after as it stands in the head, and the seconds that all of it took."""

    status: int
    body: bytes
    retry_after: int | None
    seconds: float


class Wire(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._came = bytearray()
        self._head = b""
        self._whole = 0
        self._began = self._ended = 0.0
        self._open = True

    @classmethod
    async def to(cls, port: int) -> Wire:
        """A new one to the server on this port."""
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(cls, "127.0.0.1", port))[1]

    async def ask(self, request: bytes) -> Reply:
        """Send it and wait; an OSError where the connection ends first."""
        assert self._transport is not None
        self._reply = asyncio.get_running_loop().create_future()
        self._came.clear()
        self._head, self._began = b"", time.monotonic()
        self._transport.write(request)
        return await self._reply

    @property
    def fresh(self) -> bool:
        """Whether another request may go over it: the server hangs up after some idle seconds."""
        return self._open and time.monotonic() < self._ended + _IDLE

    def close(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Part of a reply came."""
        self._came += data
        if not self._head:
            end = self._came.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head = bytes(self._came[: end + 4]).lower()
            self._whole = end + 4 + (_number(self._head, _LENGTH) or 0)
        if len(self._came) < self._whole or self._reply is None or self._reply.done():
            return
        body = bytes(memoryview(self._came)[len(self._head) :])
        self._open = self._open and b"\r\nconnection: close" not in self._head
        self._ended = time.monotonic()
        status, retry = int(self._head[9:12]), _number(self._head, _RETRY)
        self._reply.set_result(Reply(status, body, retry, self._ended - self._began))

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._open = False
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(exc or ConnectionResetError("the server hung up"))


def _number(head: bytes, name: bytes) -> int | None:
    place = head.find(name)
    if place < 0:
        return None
    start = place + len(name)
    return int(head[start : head.index(b"\r\n", start)])
