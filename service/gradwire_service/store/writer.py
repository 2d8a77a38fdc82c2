"""Group commit: what waits together is written in one transaction, and answered after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.exc import SQLAlchemyError

from gradwire_service.store import faults
from gradwire_service.store.fence import Fence
from gradwire_service.store.files import Files
from gradwire_service.store.heads import Heads
from gradwire_service.store.rows import Entry, Statement, Unknown

_TOGETHER = 256
"""Entries of one transaction at most."""

Done = Callable[[BaseException | None], None]
_Group = list[tuple[Entry, Done]]


class Writer:
    """A thread that writes entries in order. deliver: who calls what comes of a group."""

    def __init__(self, engine: Engine, fence: Fence, heads: Heads | None, files: Files) -> None:
        self._engine, self._fence, self._heads, self._files = engine, fence, heads, files
        self._undo: list[Statement] = []  # takes back what may have been written and was refused
        self._queue: SimpleQueue[tuple[Entry, Done] | None] = SimpleQueue()
        self.deliver: Callable[[Callable[[], None]], object] = lambda call: call()
        self._thread = Thread(target=self._run, name="gradwire-log", daemon=True)
        self._thread.start()

    def submit(self, entry: Entry, done: Done) -> None:
        """Write the entry; `done` gets None when it is on the disk, or what went wrong.

        That is Unknown where it may be there. It is taken back then, before anything else is
        written.
        """
        self._queue.put((entry, done))

    def close(self) -> None:
        """Write what waits, and end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            group, last = self._waiting()
            problems = self._written([entry for entry, _ in group]) if group else []
            told = [(done, p) for (_, done), p in zip(group, problems, strict=True)]
            with suppress(RuntimeError):  # the event loop has ended: nobody waits any more
                self.deliver(partial(_tell, told))
            self._remove_files(
                [name for (entry, _), p in zip(group, problems, strict=True) if p is None
                 for name in entry.files]
            )  # fmt: skip

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
        except Unknown as problem:
            self._undo += [statement for entry in entries for statement in entry.undo]
            return [problem] * len(entries)
        except Exception as problem:  # whatever it is: those who wait have to hear of it
            if len(entries) == 1:
                return [problem]
            return [found for entry in entries for found in self._written([entry])]
        return [None] * len(entries)

    def _commit(self, entries: Sequence[Entry]) -> None:
        heads = [head for entry in entries for head in entry.heads]
        if self._heads is not None:  # what is gone is so before the database forgets it
            self._heads.add([head for head in heads if head[2] is None])
        lost: Exception | None = None
        with self._engine.connect() as connection:
            place = self._fence.move(connection)
            for statement, values in self._undo:
                connection.execute(statement, values)
            _execute(connection, entries)
            faults.point("before-commit")
            try:
                connection.commit()
                faults.point("after-commit")
            except Exception as problem:  # each driver has errors of its own
                lost = problem
        if lost is not None:
            self._look_after(place, lost)
        self._fence.moved(place)
        self._undo.clear()
        if self._heads is not None:
            last = {head[0]: head for head in heads}
            self._heads.add([head for head in last.values() if head[2] is not None])

    def _look_after(self, place: str, lost: Exception) -> None:
        """Whether a commit took place that wasn't confirmed; raises why it didn't, or Unknown."""
        try:
            reached = self._fence.reached(place)
        except Exception:
            self._fence.doubted(place)
            raise Unknown(str(lost)) from lost
        if not reached:
            raise lost

    def _remove_files(self, names: Sequence[str]) -> None:
        with suppress(OSError, SQLAlchemyError):  # then the next start does it
            if names:
                self._files.remove(names)


def _execute(connection: Connection, entries: Sequence[Entry]) -> None:
    """In their order; rows are inserted together as long as no statement comes between."""
    waiting: dict[Table, list[dict[str, Any]]] = {}
    for entry in entries:
        if entry.before:
            _insert(connection, waiting)
            for statement, values in entry.before:
                connection.execute(statement, values)
        for table, row in entry.rows:
            waiting.setdefault(table, []).append(row)
    _insert(connection, waiting)


def _insert(connection: Connection, waiting: dict[Table, list[dict[str, Any]]]) -> None:
    for table, rows in waiting.items():
        connection.execute(table.insert(), rows)
    waiting.clear()


def _tell(told: Sequence[tuple[Done, BaseException | None]]) -> None:
    for done, problem in told:
        done(problem)
