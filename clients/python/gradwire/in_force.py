"""The sessions that `with` put in force on this thread, innermost last."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

from gradwire.thread import threads

if TYPE_CHECKING:
    from gradwire.session import Session


def innermost() -> Session | None:
    """The session in force, if `with` put one there."""
    entries: list[tuple[Session, FrameType | None]] = threads.here.entries
    while entries:
        session, frame = entries[-1]
        if frame is None or is_running(frame):
            return session
        entries.pop()  # an interrupt came before the block's end could begin
    return None


def enter(session: Session, frame: FrameType | None = None) -> None:
    """Make a session the one in force; with a frame, at most until that has returned."""
    threads.here.entries.append((session, frame))


def leave(session: Session) -> None:
    """Back to the one before; one that is not in force any more has been left already."""
    for place in reversed(range(len(threads.here.entries))):
        if threads.here.entries[place][0] is session:
            del threads.here.entries[place]
            return


def drop_left() -> None:
    """None of the parent's is in force in a forked child."""
    threads.here.entries = [entry for entry in threads.here.entries if not entry[0].left]


def is_running(frame: FrameType | None) -> bool:
    """Whether a function of this thread has not returned yet."""
    running: FrameType | None = sys._getframe(1)
    while running is not None:
        if running is frame:
            return True
        running = running.f_back
    return False


__all__ = ["drop_left", "enter", "innermost", "is_running", "leave"]
