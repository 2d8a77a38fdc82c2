"""Rows of replies and programs: what else outlives the process."""

from __future__ import annotations

import time
from hashlib import sha256

import orjson

from gradwire_service.host.limits import Limits
from gradwire_service.http.idempotency.replies import Kept, Place
from gradwire_service.store import Entry, Reply, Store, Unavailable
from gradwire_service.store.rows import ProgramRow
from gradwire_service.store.schema import programs, replies
from gradwire_service.store.store import marked_gone, without_program, without_reply


class Keeping:
    """Replies by a hash of their place, and rows of programs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places = store.places()

    def reply_added(self, entry: Entry, tenant: str, place: Place, kept: Kept) -> Entry:
        """The entry with the row of a reply, in the place of an older one."""
        key = _key(tenant, place)
        before = without_reply([key]) if key in self._places else []
        self._places.add(key)
        headers = [
            [name.decode("latin-1"), value.decode("latin-1")] for name, value in kept.headers
        ]
        about = [kept.fingerprint.hex(), kept.status, kept.media_type, headers]
        row = Reply(key, tenant, kept.at, orjson.dumps(about).decode(), kept.body)
        return entry._replace(
            rows=(*entry.rows, (replies, row.values())), before=[*entry.before, *before]
        )

    def reply(self, tenant: str, place: Place) -> Kept | None:
        """The reply that was kept, by this process or one before; None where there is none."""
        key = _key(tenant, place)
        if key not in self._places:
            return None
        try:
            found = self._store.reply(key)
        except Unavailable:
            found = None
        if found is None:
            return None
        fingerprint, status, media_type, headers = orjson.loads(found.about)
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return Kept(
            bytes.fromhex(fingerprint), status, media_type, found.body, tuple(pairs), found.at
        )

    def expire(self, tenant: str, limits: Limits) -> None:
        """Forget replies that are too old, or too many."""
        oldest = time.time() - limits.idempotency_seconds
        before = self._store.replies_until(tenant, oldest, limits.idempotency_bytes)
        if before:
            self._places.difference_update(before)
            self._store.submit(Entry((), without_reply(before)), lambda _: None)

    def program(self, row: ProgramRow) -> Entry:
        """What is written for a program."""
        before = without_program(row.tenant, [row.id])
        return Entry(((programs, row.values()),), before)

    def deletion(self, tenant: str, key: str) -> Entry:
        """What is written where a program is deleted."""
        return Entry((), marked_gone(tenant, key, time.time()))


def _key(tenant: str, place: Place) -> bytes:
    return sha256(repr((tenant, *place)).encode()).digest()
