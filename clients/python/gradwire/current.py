"""Which session calls go to: the innermost `with session:`, else one made on first use."""

from __future__ import annotations

import os
from threading import local
from typing import Any

from gradwire.session import Session
from gradwire.transport import Http, Transport


class _Here(local):
    def __init__(self) -> None:
        self.stack: list[Session] = []


_here = _Here()
_default: dict[str, Any] = {"transport": None, "session": None, "device": "cpu"}


class Client:
    """A connection to a server; sessions made of it live there."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def session(self, **settings: Any) -> Session:
        """A session of one's own: `with client.session() as s:`. Settings as for Session."""
        return Session(self.transport, **settings)


def connect(url: str | None = None, key: str | None = None, *, timeout: float = 300.0) -> Client:
    """Send what follows to a server; without a URL, work embedded in this process again.

    url: "http://host:port". key: an API key. timeout: seconds to wait for a reply.
    """
    transport = _embedded() if url is None else Http(url, key, timeout)
    _default.update(transport=transport, session=None)
    return Client(transport)


def session() -> Session:
    """The session in force."""
    if _here.stack:
        return _here.stack[-1]
    if _default["session"] is None:
        if _default["transport"] is None:
            url = os.environ.get("GRADWIRE_URL")
            connect(url, os.environ.get("GRADWIRE_KEY"))
        _default["session"] = Session(_default["transport"], device=_default["device"])
    found: Session = _default["session"]
    return found


def enter(found: Session) -> None:
    """Make a session the one in force on this thread."""
    _here.stack.append(found)


def leave(found: Session) -> None:
    """Back to the one before."""
    _here.stack.remove(found)


def _embedded() -> Transport:
    from gradwire.embedded import Embedded

    return Embedded()
