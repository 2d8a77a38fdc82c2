"""What the store has of one session, and the rows that the next change of it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

import orjson
from sqlalchemy import Table

from gradwire_service.host.durable.refusals import refused
from gradwire_service.host.sessions import Session
from gradwire_service.store.rows import Buffer, Entry, Record, SessionRow, Unavailable, values
from gradwire_service.store.schema import log, sessions
from gradwire_service.store.statements import removed, replaced, undone
from gradwire_service.store.store import Store
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

    def add(self, record: Record, body: Buffer, seconds: float) -> None:
        """One more change, which took so many seconds."""
        self.changes += 1
        self.bytes += len(body)
        self.seconds += seconds
        if record.file is not None:
            self.files.append(record.file)


class SessionLog:
    """The session's row, and the number of its last change. tenant: whose it is, by name.

    row: None where it has none yet. began: by the clock, when the change under way began, if one
    is. damaged: why it can't be read back, if so. foreign: changes of another machine were run
    again, so that a snapshot is due. snapping: a snapshot is under way. machine: the name of this
    one's facts.
    """

    __slots__ = (
        "began", "cost", "damaged", "foreign", "gone", "machine", "names", "number", "row", "since",
        "size", "snapping", "store", "tenant",
    )  # fmt: skip

    def __init__(
        self, store: Store, tenant: str, machine: str, row: SessionRow | None = None
    ) -> None:
        self.store, self.tenant, self.machine, self.row = store, tenant, machine, row
        self.number = self.names = self.size = 0
        self.cost = 0.0
        self.foreign = self.snapping = self.gone = False
        self.began: float | None = None
        self.damaged: str | None = None
        self.since = Since()

    def record(self, session: Session, about: Mapping[str, Any], body: Buffer) -> Record:
        """The next change. Raises storage_unavailable or storage_full, where it is a file."""
        assert self.began is not None
        number = self.number + 1
        text = orjson.dumps({**about, "by": VERSION, "on": self.machine}).decode()
        file, inline, check = self._placed(session.id, number, [body])
        names = len(session.tensors)
        return Record(session.id, number, self.began, names, text, file, inline, check)

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
        session, number = record.session, record.number
        undo = undone(session, number)
        return Entry(((log, values(record)),), (), self._head(session, number), undo)

    def _head(self, session: str, number: int | None) -> tuple[tuple[str, str, int | None], ...]:
        return ((session, self.tenant, number),)

    def written(self, record: Record, seconds: float) -> None:
        """A change is in the log; it took so many seconds."""
        self.number, self.names = record.number, record.names
        self.since.add(record, record.body or b"", seconds)

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
        if self.row is None:
            rows: Sequence[tuple[Table, dict[str, Any]]] = ((sessions, values(row)),)
            return row, Entry(rows, (), heads, removed(session.id))
        before = replaced(row, self.number, snapshot=True)
        return row, Entry((), before, heads, before, self.files)

    def replace(self, row: SessionRow) -> None:
        """The row is written."""
        self.row, self.foreign = row, False
        self.since = Since()

    def renewed(self, session: Session, entry: Entry) -> tuple[Entry, SessionRow]:
        """The entry, which also has the row say what the session now says of itself; that row."""
        assert self.row is not None
        row = self.row._replace(about=orjson.dumps(about_of(session)).decode(), body=None)
        before = replaced(row, 0, snapshot=False)
        undo = replaced(self.row, 0, snapshot=False)
        return entry.also(Entry((), before, (), undo)), row

    def removal(self, session: str) -> Entry:
        """What is written where the session is gone."""
        return Entry((), removed(session), self._head(session, None), files=self.files)

    def forget(self, session: str) -> None:
        """The session is gone from memory: from the store too, with nobody waiting for that."""
        if not self.gone:
            self.gone = True
            self.store.forget(self.removal(session))

    @property
    def files(self) -> list[str]:
        """All files that it has."""
        own = [] if self.row is None or self.row.file is None else [self.row.file]
        return [*own, *self.since.files]


def about_of(session: Session) -> dict[str, Any]:
    """What has to be known of a session while it isn't in memory."""
    names, answered = len(session.tensors), session.answered
    return {**session.settings, "created": session.created, "names": names, "answered": answered}
