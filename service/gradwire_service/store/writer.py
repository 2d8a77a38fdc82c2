"""Group commit: what waits together is written in one transaction, and answered after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from sqlalchemy import Engine, Table
from sqlalchemy.exc import SQLAlchemyError

from gradwire_service.store import faults
from gradwire_service.store.heads import Heads
from gradwire_service.store.rows import Entry

_TOGETHER = 256
"""Entries of one transaction at most."""

Done = Callable[[BaseException | None], None]
_Group = list[tuple[Entry, Done]]


class Writer:
    """A thread that writes entries in order. deliver: who calls what comes of a group."""

    def __init__(self, engine: Engine, heads: Heads | None) -> None:
        self._engine, self._heads = engine, heads
        self._queue: SimpleQueue[tuple[Entry, Done] | None] = SimpleQueue()
        self.deliver: Callable[[Callable[[], None]], object] = lambda call: call()
        self._thread = Thread(target=self._run, name="gradwire-log", daemon=True)
        self._thread.start()

    def submit(self, entry: Entry, done: Done) -> None:
        """Write the entry; `done` gets None when it is on the disk, or what went wrong."""
        self._queue.put((entry, done))

    def close(self) -> None:
        """Write what waits, and end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            group, last = self._waiting()
            problems = self._written([entry for entry, _ in group]) if group else []
            told = [(done, p) for (_, done), p in zip(group, problems, strict=True)]
            if told:
                self.deliver(partial(_tell, told))
            if last:
                return

    def _waiting(self) -> tuple[_Group, bool]:
        """All that waits, at least one; and whether it is the end."""
        first = self._queue.get()
        if first is None:
            return [], True
        group = [first]
        while len(group) < _TOGETHER:
            try:
                found = self._queue.get_nowait()
            except Empty:
                break
            if found is None:
                return group, True
            group.append(found)
        return group, False

    def _written(self, entries: Sequence[Entry]) -> list[BaseException | None]:
        """For each entry None, or why it couldn't be written; one may fail where others don't."""
        try:
            self._commit(entries)
        except (SQLAlchemyError, OSError, ValueError) as problem:
            if len(entries) == 1:
                return [problem]
            return [found for entry in entries for found in self._written([entry])]
        return [None] * len(entries)

    def _commit(self, entries: Sequence[Entry]) -> None:
        heads = [head for entry in entries for head in entry.heads]
        if self._heads is not None:  # what is gone is so before the database forgets it
            self._heads.add([head for head in heads if head[2] is None])
        with self._engine.begin() as connection:
            for statement in [s for entry in entries for s in entry.before]:
                connection.execute(statement)
            for table, rows in _by_table(entries).items():
                connection.execute(table.insert(), rows)
            faults.point("before-commit")
        faults.point("after-commit")
        if self._heads is not None:
            self._heads.add([head for head in heads if head[2] is not None])


def _tell(told: Sequence[tuple[Done, BaseException | None]]) -> None:
    for done, problem in told:
        done(problem)


def _by_table(entries: Sequence[Entry]) -> dict[Table, list[dict[str, Any]]]:
    found: dict[Table, list[dict[str, Any]]] = {}
    for entry in entries:
        for table, row in entry.rows:
            found.setdefault(table, []).append(row)
    return found
