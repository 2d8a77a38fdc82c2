"""Statements that change what there is; rows are inserted by entries.

They are made once: to make one takes SQLAlchemy longer than the database takes to do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, Executable, Table, and_, bindparam, delete, update

from gradwire_service.store import faults
from gradwire_service.store.rows import SessionRow, Statement, values
from gradwire_service.store.schema import about, log, programs, replies, sessions

_SESSION: BindParameter[str] = bindparam("of_session")
_NUMBER: BindParameter[int] = bindparam("of_number")
_TENANT: BindParameter[str] = bindparam("of_tenant")
_KEY: BindParameter[Any] = bindparam("of_key")
_AT: BindParameter[float] = bindparam("until")


def _set(table: Table, where: Any, *names: str) -> Executable:
    """An update of these columns."""
    return update(table).where(where).values({name: bindparam(name) for name in names})


_ABOUT = ("tenant", "base", "about", "sum", "check")
_RENEW = _set(sessions, sessions.c.id == _SESSION, *_ABOUT)
_REPLACE = _set(sessions, sessions.c.id == _SESSION, *_ABOUT, "file", "body")
_REMOVE = delete(sessions).where(sessions.c.id == _SESSION)
_CUT = delete(log).where(log.c.session == _SESSION, log.c.number <= _NUMBER)
_CUT_ALL = delete(log).where(log.c.session == _SESSION)
_UNDO = delete(log).where(log.c.session == _SESSION, log.c.number >= _NUMBER)
_program = and_(programs.c.tenant == _TENANT, programs.c.id == _KEY)
_FORGET_PROGRAM = delete(programs).where(_program)
_FORGET_DELETED = delete(programs).where(_program, programs.c.gone.is_not(None))
_MARK_GONE = _set(programs, _program, "gone")
_FORGET_REPLY = delete(replies).where(replies.c.place == _KEY, replies.c.at <= _AT)
_FORGET_ABOUT = delete(about).where(about.c.name == _KEY)


def replaced(row: SessionRow, last: int, *, snapshot: bool) -> list[Statement]:
    """Statements that put a session's row in the place of the old one.

    With `snapshot` it has a new snapshot, which makes the changes before it needless.
    """
    names = (*_ABOUT, "file", "body") if snapshot else _ABOUT
    given = {"of_session": row.id} | {k: v for k, v in values(row).items() if k in names}
    if not snapshot:
        return [(_RENEW, given)]
    faults.point("snapshot")
    return [(_REPLACE, given), (_CUT, {"of_session": row.id, "of_number": last})]


def removed(session: str) -> list[Statement]:
    """Statements that forget a session."""
    return [(_CUT_ALL, {"of_session": session}), (_REMOVE, {"of_session": session})]


def undone(session: str, number: int) -> list[Statement]:
    """Statements that take back changes from this number on, of whose writing nothing is known."""
    return [(_UNDO, {"of_session": session, "of_number": number})]


def without_program(tenant: str, key: str) -> list[Statement]:
    """Statements that forget a program."""
    return [(_FORGET_PROGRAM, {"of_tenant": tenant, "of_key": key})]


def without_deleted(tenant: str, keys: Sequence[str]) -> list[Statement]:
    """Statements that forget programs unless they were posted again."""
    return [(_FORGET_DELETED, {"of_tenant": tenant, "of_key": key}) for key in keys]


def marked_gone(tenant: str, key: str, at: float | None) -> list[Statement]:
    """Statements that note when a program was deleted; None takes it back."""
    return [(_MARK_GONE, {"of_tenant": tenant, "of_key": key, "gone": at})]


def without_reply(place: bytes, until: float) -> list[Statement]:
    """Statements that forget the reply of a place, if it is no newer than that."""
    return [(_FORGET_REPLY, {"of_key": place, "until": until})]


def without_about(name: str) -> list[Statement]:
    """Statements that forget what is said of all the data under a name."""
    return [(_FORGET_ABOUT, {"of_key": name})]
