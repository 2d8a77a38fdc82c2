"""The body of a request: read as it comes, bounded, counted and timed."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.limits import Limits
from gradwire_service.host.safetensors import Buffer
from gradwire_service.http.codec.compression import decompress

if TYPE_CHECKING:
    from gradwire_service.http.call import Call

SMALL = 2**15
"""Bytes that are read from a body, or written to a reply, on the event loop."""
_SMALL_PACKED = 2**10
"""Bytes of a compressed body that is opened on the event loop: they may be 30,000 times as many."""
WHOLE = "gradwire.whole"
"""In the scope of a request whose body has come to its end."""
_NEVER = float("inf")


def too_slow(limits: Limits, what: str, whole: str) -> GradwireError:
    """The error of what a client sends so slowly that nobody waits for it."""
    return error(
        "request_timeout",
        f"{what} came too slowly: nothing for {limits.body_seconds:g} seconds, or less than "
        f"{limits.body_rate} bytes a second",
        f"send the whole {whole} at once",
    )


class Hangup(Exception):
    """The client went away while its request was read."""


class Body:
    """What comes behind the head of a request."""

    __slots__ = ("_call", "_due", "_late")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._due, self._late = _NEVER, False

    async def whole(self) -> Buffer:
        """All of it, without its Content-Encoding; refused as soon as it passes the limit."""
        limit = self._call.host.limits.body_bytes
        if (self._length() or 0) > limit:
            raise self._too_large(limit)
        data, more = await self._piece(0)
        if len(data) > limit:
            raise self._too_large(limit)
        if more:
            data = await self._rest(data, limit)
        name = self._call.header(b"content-encoding")
        if name is None:
            return data
        if len(data) <= _SMALL_PACKED:
            return decompress(data, name, limit)
        opened = partial(decompress, data, name, limit, self._call.lend)
        return await self._call.executor.apart(opened)

    async def _rest(self, first: Buffer, limit: int) -> Buffer:
        """All pieces in one buffer, allocated once where the length is known."""
        buffer = bytearray(self._length() or 0)
        position = len(first)
        buffer[:position] = first
        more, began = True, time.monotonic()
        self._call.lend(position)
        while more:
            piece, more = await self._piece(position, began)
            end = position + len(piece)
            if end > limit:
                raise self._too_large(limit)
            self._call.lend(len(piece))
            buffer[position:end] = piece
            position = end
        return buffer

    async def _piece(self, position: int, began: float | None = None) -> tuple[Buffer, bool]:
        """The next piece of the body, and whether more will come.

        Who sends nothing for long is cut off, and who sends too little: the average counts from
        the first piece on.
        """
        limits, now = self._call.host.limits, time.monotonic()
        self._due = now + limits.body_seconds
        if began is not None:
            slowest = began + limits.body_seconds + position / limits.body_rate
            self._due = min(self._due, slowest)
        self._call.service.patience.watch(self)
        try:
            message = await self._call.receive()
        except asyncio.CancelledError:
            raise self._cut_off() from None
        finally:
            self._call.service.patience.leave(self)
        if message["type"] == "http.disconnect":
            raise Hangup
        return message.get("body", b""), message.get("more_body", False)

    def _cut_off(self) -> BaseException:
        if not self._late:
            return asyncio.CancelledError()
        self._call.task.uncancel()
        self._call.closing = True
        return too_slow(self._call.host.limits, "the body", "body")

    def look(self, now: float) -> None:
        """End the wait for the client if it has taken too long."""
        if now > self._due:
            self._late, self._due = True, _NEVER
            self._call.task.cancel()

    async def leave(self) -> None:
        """Read what little is left of a body that wasn't wanted; the connection ends at more.

        A client that is still sending may lose the answer with the connection, so it is worth that.
        """
        little = (self._length() or SMALL + 1) <= SMALL and b"expect" not in self._call.header_names
        self._call.closing = self._call.closing or not little
        began, more, position = time.monotonic(), True, 0
        try:
            while more and not self._call.closing:
                piece, more = await self._piece(position, began)
                position += len(piece)
        except GradwireError:
            self._call.closing = True

    def _length(self) -> int | None:
        text = self._call.header(b"content-length") or ""
        return int(text) if text.isascii() and text.isdigit() else None

    def _too_large(self, limit: int) -> GradwireError:
        self._call.closing = True
        length = self._length()
        size = f"{length} bytes" if length else "more"
        return error(
            "payload_too_large",
            f"the body has {size}, and the limit is {limit} bytes",
            "send less in one request; GET /v1/info says the limits",
        )
