"""Stored programs that outlive the process, and deleted ones that a log still names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from gradwire_engine.errors import GradwireError
from gradwire_service.host.host import Host
from gradwire_service.host.programs import Program, Stored, build
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import Program as Model
from gradwire_service.host.sessions import Session
from gradwire_service.host.snapshot.programs import program_row
from gradwire_service.store.rows import Entry, ProgramRow, values
from gradwire_service.store.schema import programs
from gradwire_service.store.statements import marked_gone, without_deleted, without_program
from gradwire_service.store.store import Store


def row_of(tenant: str, stored: Stored) -> ProgramRow:
    """A stored program as it is kept."""
    text = json.dumps(program_row(stored.program), separators=(",", ":"))
    return ProgramRow(tenant, stored.program.id, stored.serial, stored.created, None, text)


def posting(row: ProgramRow, at: float) -> Entry:
    """What is written for a program; if that is taken back, it is one that was deleted."""
    before = without_program(row.tenant, row.id)
    undo = marked_gone(row.tenant, row.id, at)
    return Entry(((programs, values(row)),), before, undo=undo)


def deletion(tenant: str, key: str, at: float) -> Entry:
    """What is written where a program is deleted at that time."""
    return Entry((), marked_gone(tenant, key, at), undo=marked_gone(tenant, key, None))


def model_of(row: ProgramRow) -> Model:
    """The request that a kept program was."""
    data = json.loads(row.text)
    del data["id"]
    return read(Model, data)


@contextmanager
def with_deleted(host: Host, session: Session, store: Store, tenant: str) -> Iterator[None]:
    """Within it the session finds programs also that were deleted after its changes used them."""
    before = session.program

    def find(key: str) -> Any:
        try:
            return before(key)
        except GradwireError:
            return gone(store, tenant, key, host)

    session.program = find
    try:
        yield
    finally:
        session.program = before


def gone(store: Store, tenant: str, key: str, host: Host) -> Program:
    """A program that was deleted, built anew; program_not_found where it was never there."""

    def find(called: str) -> Program:
        try:
            return host.programs.find(called)
        except GradwireError:
            return gone(store, tenant, called, host)

    for row in store.programs(tenant, key):
        return build(model_of(row), {}, find, host.limits)
    return host.programs.find(key)


def forget_needless(store: Store, tenant: str, host: Host, floor: float) -> None:
    """Forget deleted programs that no log names any more, and nothing that is kept calls.

    floor: when the oldest change under way began, which is in no log yet. Raises Damaged,
    Unavailable.
    """
    deleted = [row for row in store.programs(tenant) if row.gone is not None]
    if not deleted:
        return
    named = [
        row.id
        for row in deleted
        if row.gone is None or row.gone >= floor or store.old_logs(tenant, row.gone)
    ]
    kept: list[Any] = [stored.program for stored in host.programs.all()]
    kept += [gone(store, tenant, key, host) for key in named]
    needed = _called(kept).union(named)
    needless = [row.id for row in deleted if row.id not in needed]
    if needless:
        store.submit(Entry((), without_deleted(tenant, needless)), lambda _: None)


def _called(programs: Iterable[Any]) -> set[str]:
    """The ids of all that these programs call, and these call in turn."""
    found: set[str] = set()
    pending: list[Any] = list(programs)
    while pending:
        for key, program in pending.pop().calls.items():
            if key not in found:
                found.add(key)
                pending.append(program)
    return found
