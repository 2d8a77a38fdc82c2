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
    """Back to the one before; a forked child has let go of its parent's already."""
    if session in _here.sessions or not session.left:
        _here.sessions.remove(session)


def drop_left() -> None:
    """None of the parent's is in force in a forked child."""
    _here.sessions = [session for session in _here.sessions if not session.left]


__all__ = ["enter", "innermost", "leave"]
