"""Replies that are kept beyond the process, by a hash of where they belong."""

from __future__ import annotations

import time

from gradwire_service.host.limits import Limits
from gradwire_service.store.rows import Entry, Reply, values
from gradwire_service.store.schema import replies
from gradwire_service.store.statements import without_reply
from gradwire_service.store.store import Store


class StoredReplies:
    """Which there are and since when, in memory; they themselves are in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: dict[bytes, float] = {}

    def start(self) -> None:
        """Know which there are. Raises Unavailable."""
        self._places = self._store.places()

    def entry(self, reply: Reply) -> Entry:
        """What is written for a reply, in the place of an older one."""
        before = without_reply(reply.place, reply.at) if reply.place in self._places else []
        self._places[reply.place] = reply.at
        undo = without_reply(reply.place, reply.at)
        return Entry(((replies, values(reply)),), before, undo=undo)

    def failed(self, entry: Entry) -> None:
        """An entry isn't in the store, or won't be for long; nor is a reply that came with it."""
        for table, row in entry.rows:
            if table is replies:
                self._forget(row["place"], row["at"])

    def _forget(self, place: bytes, until: float) -> None:
        if self._places.get(place, until) <= until:
            self._places.pop(place, None)

    def find(self, place: bytes) -> Reply | None:
        """The reply that was kept, by this process or one before; None where there is none.

        Raises Unavailable.
        """
        return self._store.reply(place) if place in self._places else None

    def expire(self, tenant: str, limits: Limits) -> None:
        """Forget replies that are too old, or too many. Raises Unavailable."""
        oldest = time.time() - limits.idempotency_seconds
        old = self._store.replies_until(tenant, oldest, limits.idempotency_bytes)
        statements = [s for place, at in old for s in without_reply(place, at)]
        for place, at in old:
            self._forget(place, at)
        if statements:
            self._store.submit(Entry((), statements), lambda _: None)
