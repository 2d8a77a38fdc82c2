"""The store: lists what there is, loads it and looks whether it is whole, writes entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Row, Select, and_, func, select
from sqlalchemy.exc import SQLAlchemyError

from gradwire_service.store.opening import opened
from gradwire_service.store.rows import (
    Buffer,
    Damaged,
    Entry,
    Found,
    ProgramRow,
    Record,
    Reply,
    SessionRow,
    Unavailable,
    check_of,
    checksum,
)
from gradwire_service.store.schema import about, log, programs, replies, sessions
from gradwire_service.store.statements import without_about
from gradwire_service.store.writer import Done, Writer

_INLINE = 2**18
"""Bytes of a body that lie in its row; larger ones are files."""
_AT_ONCE = 64
_MACHINE = "machine:"
_REPLY = 1024
"""Bytes that a kept reply takes beside its own."""


class Store:
    """What `--data` names, held against other servers until `close`."""

    def __init__(self, data: str, version: str) -> None:
        found, fence = opened(data, version)
        self._engine, self.files, self._heads = found.engine, found.files, found.heads
        self._unlock, self.where = found.unlock, found.where
        self._writer = Writer(self._engine, fence, self._heads, self.files)
        self._later: list[Entry] = []

    # writing

    def deliver(self, how: Any) -> None:
        """Have `done` called by `how(call)`, for an event loop: its call_soon_threadsafe."""
        self._writer.deliver = how

    def submit(self, entry: Entry, done: Done) -> None:
        """Write an entry, with others that wait; `done` hears of it."""
        self._writer.submit(entry, done)

    def place(self, name: str, buffers: Sequence[Buffer]) -> tuple[str | None, bytes | None, bytes]:
        """Where a row has its body: a file that is written now, or the row; and its checksum.

        Raises Unavailable where the file can't be written.
        """
        check = checksum(buffers)
        if sum(map(len, buffers)) <= _INLINE:
            return None, b"".join(map(bytes, buffers)), check
        try:
            self.files.write(name, buffers)
        except (OSError, SQLAlchemyError) as problem:
            raise Unavailable(_text(problem)) from problem
        return name, None, check

    def remove(self, files: Iterable[str]) -> None:
        """Remove files that no row names any more; what can't be removed now is at the start."""
        try:
            self.files.remove(files)
        except (OSError, SQLAlchemyError):
            return

    # sessions

    def sessions(self) -> list[Found]:
        """All sessions, and which of them are damaged as far as can be seen at once."""
        last = self._last()
        heads = {} if self._heads is None else dict(self._heads.known)
        found = []
        for key, row in self._session_rows().items():
            tenant, acknowledged = heads.pop(key, ("", 0))
            if isinstance(row, str):
                found.append(Found(key, tenant, None, acknowledged, 0, row))
                continue
            number, names = last.pop(key, (row.base, 0))
            number = max(row.base, number)
            lost = f"changes {number + 1} to {acknowledged} are lost"
            damaged = lost if number < acknowledged else None
            found.append(Found(key, row.tenant, row, max(number, acknowledged), names, damaged))
        lost = "what was stored of it is lost"
        found += [Found(key, tenant, None, n, 0, lost) for key, (tenant, n) in heads.items()]
        return found

    def _last(self) -> dict[str, tuple[int, int]]:
        """The number of the last change of each session, and how many names it then had."""
        top = select(log.c.session, func.max(log.c.number).label("number")).group_by(log.c.session)
        last = top.subquery()
        here = and_(log.c.session == last.c.session, log.c.number == last.c.number)
        asked = select(log.c.session, log.c.number, log.c.names).join(last, here)
        try:
            return {key: (number, names) for key, number, names in self._rows(asked)}
        except Unavailable:  # then each session's load finds out
            return {}

    def _session_rows(self) -> dict[str, SessionRow | str]:
        """Each session's row without its body, or what is wrong with it."""
        c = sessions.c
        asked = select(c.id, c.tenant, c.base, c.about, c.file, c.sum, c.check)
        try:
            rows = list(self._rows(asked))
        except Unavailable:
            rows = list(self._salvaged(asked))
        return {row[0]: _session_row(row) for row in rows}

    def _salvaged(self, asked: Select[Any]) -> Iterator[Any]:
        """Row by row what can be read of a broken table, by the ids in its index and in heads."""
        known = set() if self._heads is None else set(self._heads.known)
        try:
            known |= {key for (key,) in self._rows(select(sessions.c.id).order_by(sessions.c.id))}
        except Unavailable:
            if not known:
                raise
        for key in sorted(known):
            try:
                yield from self._rows(asked.where(sessions.c.id == key))
            except Unavailable as problem:
                yield (key, "", 0, "", None, b"", str(problem))

    def load(self, session: str, number: int) -> tuple[bytes, Iterator[tuple[Record, bytes]]]:
        """The snapshot of a session, and the changes since, of which `number` is the last.

        Raises Damaged, also while the changes are read; Unavailable.
        """
        c = sessions.c
        asked = select(c.id, c.tenant, c.base, c.about, c.file, c.sum, c.check, c.body)
        rows = list(self._whole(asked.where(c.id == session)))
        if not rows:
            raise Damaged("its row is gone")
        row = _session_row(rows[0][:7])
        if isinstance(row, str):
            raise Damaged(row)
        body = self._body("the snapshot", row.file, rows[0][7], row.sum)
        return body, self._changes(session, row.base, number)

    def _changes(self, session: str, base: int, last: int) -> Iterator[tuple[Record, bytes]]:
        columns = [column for column in log.c if column.name != "check"]
        asked = select(*columns, log.c.check).where(log.c.session == session)
        number = base
        while number < last:
            after = asked.where(log.c.number > number).order_by(log.c.number).limit(_AT_ONCE)
            rows = list(self._whole(after))
            if not rows:
                raise Damaged(f"changes {number + 1} to {last} are lost")
            for row in rows:
                record, number = Record(*row[:-1]), number + 1
                if record.number != number:
                    raise Damaged(f"change {number} is lost")
                if check_of(record) != row[-1]:
                    raise Damaged(f"change {number} isn't what was written")
                yield record, self._body(f"change {number}", record.file, record.body, record.sum)

    def _body(self, what: str, file: str | None, inline: bytes | None, check: bytes) -> bytes:
        try:
            body = inline if file is None else self.files.read(file)
        except FileNotFoundError:
            raise Damaged(f"the file of {what} is gone: {file}") from None
        except (OSError, SQLAlchemyError) as problem:
            raise Unavailable(_text(problem)) from problem
        if body is None or checksum([body]) != check:
            raise Damaged(f"{what} isn't what was written")
        return body

    def _whole(self, asked: Select[Any]) -> Iterator[Any]:
        """Rows of one session: where they can't be read, it is damaged, unless nothing can be."""
        try:
            yield from self._rows(asked)
        except Unavailable as problem:
            if self._reachable():
                raise Damaged(f"the database can't read it: {problem}") from None
            raise

    def _reachable(self) -> bool:
        try:
            with self._engine.connect() as connection:
                connection.execute(select(1))
        except SQLAlchemyError:
            return False
        return True

    def _rows(self, asked: Select[Any]) -> Iterator[Any]:
        try:
            with self._engine.connect() as connection:
                found: Sequence[Row[Any]] = connection.execute(asked).all()
        except (SQLAlchemyError, UnicodeDecodeError, OSError) as problem:
            raise Unavailable(_text(problem)) from problem
        yield from found

    def sweep_files(self) -> None:
        """Remove files that no row names: of writes that a crash cut off."""
        asked = [select(table.c.file).where(table.c.file.is_not(None)) for table in (sessions, log)]
        try:
            used = {name for query in asked for (name,) in self._rows(query)}
            self.files.remove(set(self.files.names()) - used)
        except (Unavailable, OSError, SQLAlchemyError):
            return  # a broken table may name what it can't say

    # programs and replies

    def programs(self, tenant: str | None = None, key: str | None = None) -> list[ProgramRow]:
        """All programs that are whole, oldest first, deleted ones too; a tenant's, or one.

        Raises Damaged, Unavailable.
        """
        columns = [programs.c[name] for name in ProgramRow._fields]
        asked = select(*columns, programs.c.check).order_by(programs.c.created, programs.c.serial)
        if tenant is not None:
            asked = asked.where(programs.c.tenant == tenant)
        if key is not None:
            asked = asked.where(programs.c.id == key)
        rows = list(self._whole(asked))
        made = [(ProgramRow(*row[:-1]), row[-1]) for row in rows]
        return [row for row, check in made if check_of(row) == check]

    def old_logs(self, tenant: str, until: float) -> bool:
        """Whether a session of this tenant has changes in the log from before that time."""
        here = and_(sessions.c.id == log.c.session, sessions.c.tenant == tenant)
        asked = select(log.c.session).join(sessions, here).where(log.c.at <= until).limit(1)
        return bool(list(self._rows(asked)))

    def latest(self) -> float:
        """When the newest change of a log began; 0 where there is none, or none can be read."""
        try:
            return next(self._rows(select(func.max(log.c.at))))[0] or 0.0
        except Unavailable:
            return 0.0

    def machines(self) -> dict[str, dict[str, Any]]:
        """Facts of the machines that wrote here, by their names."""
        asked = select(about.c.name, about.c.value).where(about.c.name.startswith(_MACHINE))
        try:
            return {n.removeprefix(_MACHINE): json.loads(v) for n, v in self._rows(asked)}
        except (Unavailable, ValueError):
            return {}

    def machine_entry(self, name: str, facts: str) -> Entry:
        """What is written for the facts of a machine, which are JSON."""
        row = {"name": _MACHINE + name, "value": facts}
        return Entry(((about, row),), without_about(_MACHINE + name))

    def places(self) -> dict[bytes, float]:
        """Where replies are kept, and since when. Raises Unavailable."""
        return dict(map(tuple, self._rows(select(replies.c.place, replies.c.at))))

    def reply(self, place: bytes) -> Reply | None:
        """A kept reply; None where it is gone. Raises Unavailable, Damaged."""
        columns = [replies.c[name] for name in Reply._fields]
        asked = select(*columns, replies.c.check).where(replies.c.place == place)
        for row in self._rows(asked):
            found = Reply(*row[:-1])
            if check_of(found) != row[-1]:
                raise Damaged("the reply isn't what was written")
            return found
        return None

    def replies_until(self, tenant: str, oldest: float, most: int) -> list[tuple[bytes, float]]:
        """The places of a tenant's replies that are older, or beyond so many bytes; since when.

        Raises Unavailable.
        """
        c = replies.c
        asked = select(c.place, c.at, func.coalesce(func.length(c.body), 0))
        found, held = [], 0
        for place, at, length in self._rows(asked.where(c.tenant == tenant).order_by(c.at.desc())):
            held += length + _REPLY
            if at < oldest or held > most:
                found.append((place, at))
        return found

    def forget(self, entry: Entry) -> None:
        """Write a removal that nobody waits for; again later where that fails."""

        def done(problem: BaseException | None) -> None:
            if problem is not None:
                self._later.append(entry)

        self.submit(entry, done)

    def retry_removals(self) -> None:
        """Try the removals again that failed."""
        later, self._later = self._later, []
        for entry in later:
            self.forget(entry)

    def close(self) -> None:
        """Write what waits, and let go."""
        self._writer.close()
        if self._heads is not None:
            self._heads.close()
        self._engine.dispose()
        self._unlock()


def _session_row(row: Sequence[Any]) -> SessionRow | str:
    """A row of a session, or what is wrong with it."""
    try:
        found = SessionRow(row[0], row[1], row[2], row[3], row[4], None, row[5])
        json.loads(found.about)
    except (ValueError, TypeError):
        return "its row isn't what was written"
    return found if check_of(found) == row[6] else "its row isn't what was written"


def _text(problem: BaseException) -> str:
    return str(getattr(problem, "orig", None) or problem).strip().partition("\n")[0]
