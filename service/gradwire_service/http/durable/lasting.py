"""What the store has of one session, and the rows that the next change of it makes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

import orjson
from sqlalchemy import Table

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.sessions import Session
from gradwire_service.store import Entry, Record, SessionRow, Store, Unavailable
from gradwire_service.store.rows import Buffer
from gradwire_service.store.schema import log, sessions
from gradwire_service.store.store import removed, replaced, undone
from gradwire_service.version import VERSION

_REPLAY_SECONDS, _REPLAY_BYTES = 2.0, 2**26
"""What may have to be run again at most, about, where snapshots are cheap beside it."""
_SECONDS_SHARE, _BYTES_SHARE = 20, 4
"""Else the log may cost so many times what a snapshot does."""


class Since:
    """What came after the snapshot: changes, their bytes and seconds, files that have them."""

    __slots__ = ("bytes", "changes", "files", "seconds")

    def __init__(self) -> None:
        self.changes = self.bytes = 0
        self.seconds = 0.0
        self.files: list[str] = []


class Lasting:
    """The session's row, and the number of its last change.

    doubtful: a write failed, so that rows of a later number may be there. damaged: why it can't be
    read back, if so. snapping: a snapshot of it is under way. fresh: it has no row yet.
    """

    __slots__ = (
        "cost", "damaged", "doubtful", "fresh", "gone", "names", "number", "row", "since", "size",
        "snapping", "store", "tenant",
    )  # fmt: skip

    def __init__(self, store: Store, tenant: str, row: SessionRow | None = None) -> None:
        self.store, self.tenant, self.row = store, tenant, row
        self.fresh = row is None
        self.number = self.names = self.size = 0
        self.cost = 0.0
        self.doubtful = self.snapping = self.gone = False
        self.damaged: str | None = None
        self.since = Since()

    def record(self, session: Session, about: Mapping[str, Any], body: Buffer) -> Record:
        """The next change. Raises storage_unavailable or storage_full, where it is a file."""
        number = self.number + 1
        text = orjson.dumps({**about, "by": VERSION}).decode()
        file, inline, check = self._placed(session.id, number, [body])
        names = len(session.tensors)
        return Record(session.id, number, time.time(), names, text, file, inline, check)

    def _placed(
        self, session: str, number: int, buffers: Sequence[Buffer]
    ) -> tuple[str | None, bytes | None, bytes]:
        name = f"{session}-{number}-{token_hex(4)}.safetensors"
        try:
            return self.store.place(name, buffers)
        except Unavailable as problem:
            raise refused(problem) from problem

    def entry(self, record: Record) -> Entry:
        """What is written for a change."""
        before = undone(record.session, record.number) if self.doubtful else ()
        return Entry(((log, record.values()),), before, self._head(record.session, record.number))

    def _head(self, session: str, number: int | None) -> tuple[tuple[str, str, int | None], ...]:
        return ((session, self.tenant, number),)

    def written(self, record: Record, seconds: float) -> None:
        """A change is in the log; it took so many seconds."""
        self.doubtful = False
        self.number, self.names = record.number, record.names
        since = self.since
        since.changes += 1
        since.bytes += len(record.body or b"")
        since.seconds += seconds
        if record.file is not None:
            since.files.append(record.file)

    def due(self, changes: int) -> bool:
        """Whether so much has come since the last snapshot that another one is worth it."""
        since = self.since
        return not self.snapping and (
            since.seconds > max(_REPLAY_SECONDS, _SECONDS_SHARE * self.cost)
            or since.bytes + 2**18 * len(since.files) > max(_REPLAY_BYTES, _BYTES_SHARE * self.size)
            or since.changes >= changes
        )

    def snapshot(self, session: Session, buffers: Sequence[Buffer]) -> tuple[SessionRow, Entry]:
        """The session's row with this snapshot, and what is written for it."""
        self.size = sum(map(len, buffers))
        file, inline, check = self._placed(session.id, self.number, buffers)
        about = orjson.dumps(about_of(session)).decode()
        row = SessionRow(session.id, self.tenant, self.number, about, file, inline, check)
        heads = self._head(session.id, self.number)
        if self.fresh:
            rows: Sequence[tuple[Table, dict[str, Any]]] = ((sessions, row.values()),)
            return row, Entry(rows, (), heads)
        before = [*(undone(session.id, self.number + 1) if self.doubtful else ())]
        return row, Entry((), [*before, *replaced(row, self.number, snapshot=True)], heads)

    def replace(self, row: SessionRow) -> list[str]:
        """The row is written: the files that nobody needs any more."""
        old = [] if self.row is None or self.row.file is None else [self.row.file]
        found = [*old, *self.since.files]
        self.row, self.fresh, self.doubtful = row, False, False
        self.since = Since()
        return found

    def renewed(self, session: Session, entry: Entry) -> Entry:
        """The entry, which also has the row say what the session now says of itself."""
        assert self.row is not None
        row = self.row._replace(about=orjson.dumps(about_of(session)).decode(), body=None)
        self.row = row
        return entry._replace(before=[*entry.before, *replaced(row, 0, snapshot=False)])

    def removal(self, session: str) -> Entry:
        """What is written where the session is gone."""
        return Entry((), removed(session), self._head(session, None))

    def forget(self, session: str) -> None:
        """The session is gone from memory: from the store too, with nobody waiting for that."""
        if not self.gone:
            self.gone = True
            self.store.forget(self.removal(session), self.files)

    @property
    def files(self) -> list[str]:
        """All files that it has."""
        own = [] if self.row is None or self.row.file is None else [self.row.file]
        return [*own, *self.since.files]


def about_of(session: Session) -> dict[str, Any]:
    """What has to be known of a session while it isn't in memory."""
    return {
        "label": session.label,
        "device": session.device,
        "dtype": session.dtype.name,
        "created": session.created,
        "ttl_seconds": session.ttl,
        "memory_limit_bytes": session.meter.limit,
        "detect_anomaly": session.anomaly,
        "names": len(session.tensors),
    }


_NO_ROOM = ("disk is full", "no space left", "file too large", "quota exceeded", "disk full")


def refused(problem: BaseException) -> GradwireError:
    """The error of a write that failed: there is no room, or who knows what."""
    text = str(getattr(problem, "orig", None) or problem).lower()
    if any(words in text for words in _NO_ROOM):
        return error(
            "storage_full",
            "there is no room left where sessions are kept; the session is as before",
            "delete sessions, or have the server's disk made larger",
        )
    return error(
        "storage_unavailable",
        "the change couldn't be written where sessions are kept; the session is as before",
        "send it again a little later, with the same Idempotency-Key if it has one",
    )


def damaged(session: str, why: str) -> GradwireError:
    """The error of a session that can't be read back."""
    return error(
        "session_damaged",
        f"session {session} can't be read back: {why}",
        "delete it, or have a backup of the server's data restored",
    )
