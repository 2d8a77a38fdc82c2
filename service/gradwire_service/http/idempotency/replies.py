"""Replies kept for their Idempotency-Key: who asks again gets the first one, and nothing runs.

A reply is plain data (`Kept`), so that whoever keeps sessions beyond the process can keep it too.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gradwire_engine.errors import error
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits

if TYPE_CHECKING:
    from gradwire_service.http.answer import Answer

_ENTRY = 1024
"""Bytes that a kept reply takes beside its own."""
_PART = 4
"""One reply may be that part of all that are kept."""
LONGEST_KEY = 255
UNTOUCHED = frozenset(
    {
        "rate_limited", "overloaded", "shutting_down", "request_timeout", "storage_unavailable",
        "storage_full",
    }
)  # fmt: skip
"""Codes of refusals that leave all as it was before: the next attempt is the first."""


class Place(NamedTuple):
    """What a key belongs to, beside its tenant."""

    method: str
    path: str
    key: str


class Kept(NamedTuple):
    """A reply as it was sent; its body is None where it was too large. at: of time.time()."""

    fingerprint: bytes
    status: int
    media_type: str | None
    body: bytes | None
    headers: tuple[tuple[bytes, bytes], ...]
    at: float

    @property
    def nbytes(self) -> int:
        """What it takes in memory."""
        return _ENTRY + len(self.body or b"")


def kept_of(found: Answer, fingerprint: bytes, most: int) -> Kept:
    """An answer to be kept where all that are kept may have so many bytes."""
    small = sum(map(len, found.buffers)) <= most // _PART
    body = b"".join([bytes(buffer) for buffer in found.buffers]) if small else None
    return Kept(fingerprint, found.status, found.media_type, body, found.headers, time.time())


class _Running:
    """A request under way, and those who wait for its reply."""

    __slots__ = ("done", "fingerprint")

    def __init__(self, fingerprint: bytes) -> None:
        self.fingerprint = fingerprint
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


T = TypeVar("T", Kept, _Running)


class Replies:
    """A tenant's replies, the oldest forgotten first; bounded in bytes and in time."""

    def __init__(self, limits: Limits, ledger: Ledger) -> None:
        self._limits, self._ledger = limits, ledger
        self._kept: OrderedDict[Place, Kept] = OrderedDict()
        self._running: dict[Place, _Running] = {}
        self.waiting: dict[Place, int] = {}
        self.stored: Callable[[Place], Kept | None] | None = None
        self.nbytes = 0

    async def once(
        self, place: Place, fingerprint: bytes, run: Callable[[], Awaitable[Kept | None]]
    ) -> Kept | None:
        """The first reply of this place, or that of `run`, which is None where nothing was done.

        Raises idempotency_conflict where the place had another request.
        """
        while True:
            kept = self._kept.get(place)
            if kept is not None and kept.at + self._limits.idempotency_seconds > time.time():
                return self._same(kept, fingerprint, place)
            running = self._running.get(place)
            if running is None:
                return await self._first(place, fingerprint, run)
            self._same(running, fingerprint, place)
            self.waiting[place] = self.waiting.get(place, 0) + 1
            try:
                await asyncio.shield(running.done)
            finally:
                self.waiting[place] -= 1
                if not self.waiting[place]:
                    del self.waiting[place]

    async def _first(
        self, place: Place, fingerprint: bytes, run: Callable[[], Awaitable[Kept | None]]
    ) -> Kept | None:
        running = self._running[place] = _Running(fingerprint)
        try:
            kept = None if self.stored is None else self.stored(place)
            if kept is not None and kept.at + self._limits.idempotency_seconds > time.time():
                self._keep(place, self._same(kept, fingerprint, place))
                return kept
            found = await run()
            if found is not None:
                self._keep(place, found)
            return found
        finally:
            del self._running[place]
            running.done.set_result(None)

    @staticmethod
    def _same(found: T, fingerprint: bytes, place: Place) -> T:
        if found.fingerprint != fingerprint:
            raise error(
                "idempotency_conflict",
                f"Idempotency-Key {place.key[:80]!r} came before with another request",
                "a key is for one request and its retries; make a new one for each request",
            )
        return found

    def _keep(self, place: Place, found: Kept) -> None:
        self._forget(place)
        size = found.nbytes
        while self._kept and self.nbytes + size > self._limits.idempotency_bytes:
            self._forget(next(iter(self._kept)))
        self._kept[place] = found
        self.nbytes += size
        self._ledger.add(size)

    def _forget(self, place: Place) -> None:
        found = self._kept.pop(place, None)
        if found is not None:
            self.nbytes -= found.nbytes
            self._ledger.add(-found.nbytes)

    def expire(self) -> None:
        """Forget replies whose time is over."""
        oldest = time.time() - self._limits.idempotency_seconds
        while self._kept and next(iter(self._kept.values())).at < oldest:
            self._forget(next(iter(self._kept)))
