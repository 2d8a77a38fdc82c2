"""The sessions that `with` put in force on this thread, innermost last."""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.session import Session


class _Here(local):
    def __init__(self) -> None:
        self.sessions: list[Session] = []


_here = _Here()


def innermost() -> Session | None:
    """The session in force, if `with` put one there."""
    return _here.sessions[-1] if _here.sessions else None


def enter(session: Session) -> None:
    """Make a session the one in force."""
    _here.sessions.append(session)


def leave(session: Session) -> None:
    """Back to the one before."""
    _here.sessions.remove(session)


__all__ = ["enter", "innermost", "leave"]
