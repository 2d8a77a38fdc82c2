"""Which session this thread runs a request of: what hooks in the graph of several forks ask."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradwire_service.host.sessions import Session


class _Local(threading.local):
    session: Any = None


_local = _Local()


def enter(session: Session | None) -> Session | None:
    """From here on this session runs; the one that ran before."""
    before: Session | None = _local.session
    _local.session = session
    return before


def session_of_this_thread() -> Session:
    """The session that runs here."""
    found: Session = _local.session
    return found
