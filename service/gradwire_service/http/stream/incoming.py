"""What comes over a WebSocket: pieces put together, counted, and timed."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.safetensors import Buffer
from gradwire_service.http.body import SMALL, too_slow

if TYPE_CHECKING:
    from websockets.frames import Frame

_WAITING = 16
"""Messages that may wait while another one is answered."""
_TEXT = 1


class Whole(NamedTuple):
    """A message; `lent` bytes of the ledger's go with it."""

    data: Buffer
    binary: bool
    lent: int


class Incoming:
    """The message that is coming. nbytes: what came of it, at most about, frames' heads too.

    shut: nothing more is wanted.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.ledger: Ledger | None = None
        self.nbytes = self._lent = self._waiting = 0
        self._began = self._last = 0.0
        self._data: bytearray | None = None
        self._binary = False
        self.shut = False

    @property
    def between_messages(self) -> bool:
        """Whether the next frame may begin a message."""
        return self._data is None and not self.shut

    def waits(self, nbytes: int) -> None:
        """A message of so many bytes came that has to wait."""
        self._waiting += nbytes

    def came(self, nbytes: int) -> GradwireError | None:
        """Count bytes; the error if they are too many."""
        now = self._last = time.monotonic()
        if not self.nbytes:
            self._began = now
        self.nbytes += nbytes
        if self.nbytes <= SMALL or self.ledger is None:
            return None
        if self.nbytes > self._limits.body_bytes + self._limits.header_bytes:
            return error(
                "payload_too_large",
                f"a message has more than {self._limits.body_bytes} bytes, and that is the limit",
                "send less in one message; GET /v1/info says the limits",
            )
        if not self.ledger.take(nbytes):
            return self.ledger.refusal(nbytes)
        self._lent += nbytes
        return None

    def piece(self, frame: Frame) -> Whole | None:
        """The message, where this frame is its last."""
        if self.shut:
            return None
        if self._data is None:
            self._binary = frame.opcode != _TEXT
            if frame.fin:
                return self._whole(frame.data)
            self._data = bytearray()
        self._data += frame.data
        if not frame.fin:
            return None
        data, self._data = self._data, None
        return self._whole(data)

    def _whole(self, data: Buffer) -> Whole:
        lent, self._lent, self.nbytes = self._lent, 0, 0
        self.waits(len(data))
        return Whole(data, self._binary, lent)

    def room(self, events: Collection[Any]) -> bool:
        """Whether more may come while these wait to be answered."""
        if not events:
            self._waiting = 0
        return not self.shut and len(events) <= _WAITING and self._waiting <= 2 * SMALL

    def look(self, now: float, reading: bool) -> GradwireError | None:
        """The error if what comes takes too long; not where nothing was read."""
        if not reading:
            self._last = self._began = now
            return None
        limits = self._limits
        slowest = self._began + limits.body_seconds + self.nbytes / limits.body_rate
        if now <= min(self._last + limits.body_seconds, slowest):
            return None
        return too_slow(limits, "a message", "message")

    def between(self) -> None:
        """What came was no part of a message, unless one has begun before."""
        if self._data is None:
            self.end()

    def stop(self) -> None:
        """Nothing more is wanted."""
        self.shut = True
        self.end()

    def end(self) -> None:
        """Nothing more comes: what is there of a message is dropped."""
        self.back(self._lent)
        self._data, self._lent, self.nbytes = None, 0, 0

    def back(self, nbytes: int) -> None:
        """Give lent bytes back."""
        if nbytes and self.ledger is not None:
            self.ledger.add(-nbytes)
