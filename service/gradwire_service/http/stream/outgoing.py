"""What is on its way to a stream's client, who may read it more slowly than it is answered."""

from __future__ import annotations

import asyncio
import time


class Outgoing:
    """Bytes that the transport holds. full: so many that nothing more is written or read."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport, self._seconds = transport, seconds
        self._room: asyncio.Future[None] | None = None
        self._since, self._left = 0.0, 0  # since when the client has read nothing, what it has to

    @property
    def full(self) -> bool:
        """Whether the client has to read first."""
        return self._room is not None

    def pause(self) -> None:
        """The client reads too slowly."""
        self._room = asyncio.get_running_loop().create_future()
        self._since, self._left = time.monotonic(), self._transport.get_write_buffer_size()

    def resume(self) -> None:
        """It has read, or nobody is there any more."""
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    async def room(self) -> None:
        """Wait until there is some."""
        if self._room is not None:
            await self._room

    def look(self, now: float) -> None:
        """Leave a client that has read nothing for too long."""
        size = self._transport.get_write_buffer_size()
        if size != self._left:
            self._since, self._left = now, size
        elif now - self._since > self._seconds:
            self._transport.abort()
