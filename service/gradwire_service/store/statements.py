"""Statements that change what there is; rows are inserted by entries."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Executable, and_, delete, update

from gradwire_service.store import faults
from gradwire_service.store.rows import SessionRow
from gradwire_service.store.schema import log, programs, replies, sessions


def replaced(row: SessionRow, last: int, *, snapshot: bool) -> list[Executable]:
    """Statements that put a session's row in the place of the old one.

    With `snapshot` it has a new snapshot, which makes the changes before it needless.
    """
    values = row.values()
    if not snapshot:
        for name in ("id", "file", "body"):
            del values[name]
        return [update(sessions).where(sessions.c.id == row.id).values(**values)]
    faults.point("snapshot")
    return [
        update(sessions).where(sessions.c.id == row.id).values(**values),
        delete(log).where(log.c.session == row.id, log.c.number <= last),
    ]


def removed(session: str) -> list[Executable]:
    """Statements that forget a session."""
    return [
        delete(log).where(log.c.session == session),
        delete(sessions).where(sessions.c.id == session),
    ]


def undone(session: str, number: int) -> list[Executable]:
    """Statements that take back changes from this number on, of whose writing nothing is known."""
    return [delete(log).where(log.c.session == session, log.c.number >= number)]


def without_program(tenant: str, keys: Sequence[str]) -> list[Executable]:
    """Statements that forget programs."""
    return [delete(programs).where(programs.c.tenant == tenant, programs.c.id.in_(keys))]


def without_deleted(tenant: str, keys: Sequence[str]) -> list[Executable]:
    """Statements that forget programs unless they were posted again."""
    return [delete(programs).where(
        programs.c.tenant == tenant, programs.c.id.in_(keys), programs.c.gone.is_not(None)
    )]  # fmt: skip


def marked_gone(tenant: str, key: str, at: float | None) -> list[Executable]:
    """Statements that note when a program was deleted; None takes it back."""
    here = and_(programs.c.tenant == tenant, programs.c.id == key)
    return [update(programs).where(here).values(gone=at)]


def without_reply(place: bytes, until: float) -> list[Executable]:
    """Statements that forget the reply of a place, if it is no newer than that."""
    return [delete(replies).where(replies.c.place == place, replies.c.at <= until)]
