"""The host in this process: what a server does, without HTTP."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import cache
from json import loads
from typing import Any

from gradwire.posted import Posted
from gradwire.transport import Arrays, Request, Values
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import State, local
from gradwire_service.host import graph, picture
from gradwire_service.host.host import Host
from gradwire_service.host.limits import Limits
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import (
    Program,
    SessionCreate,
    SessionPatch,
    StepsRequest,
)
from gradwire_service.host.protocol.transforms import TRANSFORMS

_MANY = 2**62
_YEARS = 3e8


@cache
def _host() -> Host:
    """One host for the process, with no limits but the machine's."""
    return Host(
        Limits(
            steps=_MANY,
            names=_MANY,
            programs=_MANY,
            session_bytes=_MANY,
            server_bytes=_MANY,
            tenant_bytes=_MANY,
            sessions=_MANY,
            tenant_sessions=_MANY,
            seconds=_YEARS,
            ttl_seconds=_YEARS,
            longest_ttl_seconds=_YEARS,
        )
    )


@cache
def _programs() -> Posted:
    """The programs used last. Each call of a user's function may bring another."""
    known = _host().programs

    def post(text: str) -> str:
        return known.put(read(Program, loads(text)), {})[0].program.id

    return Posted(post, known.delete)


@contextmanager
def _own_state() -> Iterator[None]:
    """The host works in modes of its own, whatever is in force where the SDK was called."""
    before, local.state = local.state, State()
    try:
        yield
    finally:
        local.state = before


class Embedded:
    """The transport to the host in this process."""

    url = "embedded"

    def __init__(self) -> None:
        self._forgotten: deque[str] = deque()

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make a session; its resource."""
        self._drop()
        return _host().create(read(SessionCreate, body)).describe()

    def held(self, session_id: str) -> Any:
        """The host's own session, whose tensors are in this process."""
        return _host().session(session_id)

    def describe(self, session_id: str) -> dict[str, Any]:
        """The session's resource."""
        self._drop()
        return _host().session(session_id).describe()

    def change(self, session_id: str, body: dict[str, Any]) -> None:
        """Change what the body names."""
        host = _host()
        host.patch(host.session(session_id), read(SessionPatch, body))

    def delete(self, session_id: str) -> None:
        """End a session; one that is gone has ended already."""
        self.forget(session_id)
        self._drop()

    def let_go(self, session_id: str) -> None:
        """Nothing: there are no connections."""

    def forget(self, session_id: str) -> None:
        """End a session with the next request: Python forgot it, maybe in the midst of one."""
        self._forgotten.append(session_id)

    def _drop(self) -> None:
        host = _host()
        while self._forgotten:
            with suppress(GradwireError):
                host.delete(host.session(self._forgotten.popleft()))

    def info(self) -> dict[str, Any]:
        """What the host is and can: version, devices, dtypes, limits."""
        return _host().info()

    def graph(self, session_id: str, format: str, tensor: str | None) -> Any:
        """The graph: json as data, dot, mermaid and svg as text."""
        with _host().using(session_id) as session, _own_state():
            data = graph.graph(session, tensor)
        return data if format == "json" else picture.DRAW[format](data)

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program that the host knows from now on."""
        return _programs().put(body)

    def transform(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """A transform of a program in the body, in one call; for replies without arrays."""
        given: Any = body.get("program")
        if isinstance(given, str):
            body = {key: value for key, value in body.items() if key != "program"}
            request: Any = read(TRANSFORMS[name].stored, body)
            program: Any = _host().programs.find(given)
        else:
            request = read(TRANSFORMS[name].inline, body)
            program = getattr(request, "program", None)
        with _own_state():
            found: Any = _host().once.apply(name, program, request)
        return found  # type: ignore[no-any-return]

    def sessions(self, label: str | None = None) -> list[dict[str, Any]]:
        """This process's sessions, all or those with a label, as resources, oldest first."""
        self._drop()
        found = _host().sessions()
        return [one.brief() for one in found if label is None or one.label == label]

    def snapshot(self, session_id: str) -> bytes:
        """The session as one safetensors file."""
        host = _host()
        with _own_state():
            return b"".join(host.snapshot(host.session(session_id)))

    def restore(self, metadata: dict[str, str], arrays: Arrays) -> dict[str, Any]:
        """A session of a snapshot, given as what its file says; its resource."""
        self._drop()
        with _own_state():
            return _host().restore(metadata, arrays).describe()

    def steps(self, session_id: str, request: Request) -> Values:
        """Do the steps; nothing is read, since all tensors are here."""
        asked = read(StepsRequest, request.body)
        if self._forgotten:
            self._drop()
        host, inside = _host(), State()
        before, local.state = local.state, inside
        try:  # in a context of its own, so that an interrupt leaves NumPy's settings as they were
            reply = copy_context().run(host.handle, session_id, asked)
        except GradwireError as problem:
            foreign = problem.__cause__ if problem.code == "internal" else None
            if foreign is None:
                raise
            raise foreign from None  # a signal handler's, or the op's own
        except BaseException:
            if inside.journal is not None:  # interrupted before its block's end could begin
                inside.journal.give_up()
            raise
        finally:
            local.state = before
        if request.took is not None:
            request.took.append(reply["profile"])
        return {}


__all__ = ["Embedded"]
