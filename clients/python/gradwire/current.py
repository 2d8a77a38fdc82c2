"""Which session calls go to: the innermost `with session:`, else one made on first use."""

from __future__ import annotations

import os
from importlib import import_module
from math import inf
from typing import Any, NoReturn

from gradwire import in_force
from gradwire.session import Session
from gradwire.transport import Transport
from gradwire_engine.errors import error
from gradwire_engine.locks import rlock


class _Default:
    def __init__(self) -> None:
        self.transport: Transport | None = None
        self.session: Session | None = None


_default = _Default()
_lock = rlock()


def _default_session() -> Session | None:
    """The session that was made on first use; a parent's is not a forked child's."""
    found = _default.session
    return None if found is None or found.left else found


class Client:
    """A connection to a host; sessions made of it live there."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a client can't be pickled or copied: its connections are this process's; call "
            "gradwire.connect(url) where it is needed"
        )

    def session(self, *, attach: bool = False, **settings: Any) -> Session:
        """A session of one's own: `with client.session() as s:`. Settings as for Session.

        attach: whether the session with this label is attached to, if there is one.
        """
        label = settings.get("label")
        if not attach or label is None:
            return Session.make(self.transport, **settings)
        found = self._oldest(label)
        if found is not None:
            return self.attach(found)
        made = Session.make(self.transport, **settings)
        oldest = self._oldest(label)
        if oldest in (None, made.id):
            return made
        made.close()  # others made one at the same time: all use the oldest
        return self.attach(oldest)

    def _oldest(self, label: str) -> str | None:
        """The id of the first session with a label."""
        return next((one["id"] for one in self.transport.sessions(label)), None)

    def sessions(self) -> list[dict[str, Any]]:
        """The sessions that there are, as resources (id, label, last use, …), oldest first."""
        return self.transport.sessions()

    def attach(self, id_or_label: str) -> Session:
        """The session of an id, or of a label that only one has: tensors, graph, random state.

        Other clients may use it too. It stays when its block or the program ends.
        """
        return Session.attach(self.transport, id_or_label)

    def restore(self, data: bytes) -> Session:
        """A new session of a snapshot. `kept` is what was kept in it; all names if nothing was."""
        found: Session = import_module("gradwire.saving.snapshots").restored(self.transport, data)
        return found


def connect(
    url: str | None = None,
    key: str | None = None,
    *,
    timeout: float = 300.0,
    transport: str = "http",
) -> Client:
    """Send what follows to a server; without a URL, work embedded in this process.

    url: "http://host:port". key: an API key. timeout: seconds to wait for a reply. transport:
    "http", or "stream" for a WebSocket that each session keeps open, which costs less for each
    request.
    """
    made: Transport
    if transport not in ("http", "stream"):
        raise error(
            "invalid_argument",
            f"connect: transport is {transport!r}",
            'it is "http" or "stream"',
            raised=ValueError,
        )
    if not isinstance(timeout, int | float) or not 0 < timeout < inf:
        raise error(
            "invalid_argument",
            f"connect: timeout is {timeout!r}",
            "give the seconds to wait for a reply, a number above 0",
            raised=ValueError,
        )
    if url is None:  # the host comes with pydantic, the others with httpx: nobody needs them before
        made = import_module("gradwire.embedded").Embedded()
    elif transport == "stream":
        made = import_module("gradwire.stream").Stream(url, key, timeout)
    else:
        made = import_module("gradwire.http").Http(url, key, timeout)
    with _lock:
        _default.transport, _default.session = made, None
    return Client(made)


def session() -> Session:
    """The session in force."""
    return in_force.innermost() or _default_session() or _first()


def _first() -> Session:
    """The session that is made on first use: one, whichever threads ask for it at once."""
    with _lock:
        if _default.transport is None:
            connect(
                os.environ.get("GRADWIRE_URL") or None,
                os.environ.get("GRADWIRE_KEY"),
                transport=os.environ.get("GRADWIRE_TRANSPORT") or "http",
            )
        found = _default_session()
        if found is None:
            assert _default.transport is not None
            found = _default.session = Session.make(_default.transport)
        return found


__all__ = ["Client", "connect", "session"]
