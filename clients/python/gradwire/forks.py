"""What a forked child has of its parent's sessions.

Embedded sessions are copies, as arrays are: both go on by themselves. A session on a server stays
the parent's: in the child each use of it is refused, and clients there connect anew. Of the
parent's connections the child closes its copies and says nothing on them, which the parent would
hear.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from gradwire import in_force

if TYPE_CHECKING:
    from gradwire.recorder import Recorder

_WAIT = 5.0
"""Seconds to wait at most for what other threads do in embedded sessions."""

sessions: WeakSet[Recorder] = WeakSet()
"""All sessions of this process."""
transports: WeakSet[Any] = WeakSet()
"""Those to servers: `renew` makes their connections anew."""
_held: list[Any] = []


def _before() -> None:
    """Have no embedded session in the midst of a request of another thread."""
    until = time.monotonic() + _WAIT
    for session in list(sessions):
        wait = max(0.0, until - time.monotonic())
        if session.runs_here and session._lock.acquire(timeout=wait):
            _held.append(session._lock)


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _release()
    parent = os.getppid()
    for session in list(sessions):
        if not session.runs_here:
            session.leave_to(parent)
    in_force.drop_left()
    for transport in list(transports):
        transport.renew()


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)


__all__ = ["sessions", "transports"]
