"""The host in this process: what a server does, without HTTP."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import cache
from json import dumps
from typing import Any

from gradwire.transport import Arrays, Received, Request, Step, Values
from gradwire_engine.errors import GradwireError
from gradwire_engine.locks import lock
from gradwire_engine.mode import State, local
from gradwire_service.host import graph, optimizers, picture
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
from gradwire_service.host.reply import TensorReply

_MANY = 2**62
_YEARS = 3e8
KEPT = 4096
"""Programs that are remembered: more than the steps that wait to be sent can name."""


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


class _Recent:
    """The programs used last, by their text. Each call of a user's function may bring another."""

    def __init__(self) -> None:
        self._used: OrderedDict[str, str] = OrderedDict()
        self._texts: Counter[str] = Counter()  # how many of them a program has
        self._lock = lock()

    def find(self, text: str) -> str | None:
        """The id of a program that was used before."""
        with self._lock:
            found = self._used.get(text)
            if found is not None:
                self._used.move_to_end(text)
            return found

    def keep(self, text: str, key: str) -> None:
        """Remember a program, and forget the one that was not used for longest."""
        with self._lock:
            if text not in self._used:
                self._texts[key] += 1
            self._used[text] = key
            while len(self._used) > KEPT:
                _, oldest = self._used.popitem(last=False)
                self._texts[oldest] -= 1
                if not self._texts[oldest]:
                    del self._texts[oldest]
                    _host().programs.delete(oldest)


_recent = _Recent()


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
        found: dict[str, Any] = _host().create(read(SessionCreate, body)).describe()
        return found

    def unwatched(self, made: dict[str, Any]) -> bool:
        """Whether a session has nothing that somebody has to watch, by its resource."""
        limits = made["memory_limit_bytes"], made["ttl_seconds"]
        return made["label"] is None and limits == (_MANY, _YEARS)

    def held(self, session_id: str) -> Any:
        """The host's own session, whose tensors are in this process."""
        return _host().session(session_id)

    def describe(self, session_id: str) -> dict[str, Any]:
        """The session's resource."""
        found: dict[str, Any] = _host().session(session_id).describe()
        return found

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
        found: dict[str, Any] = _host().info()
        return found

    def graph(self, session_id: str, format: str, tensor: str | None) -> Any:
        """The graph: json as data, dot, mermaid and svg as text."""
        with _host().using(session_id) as session, _own_state():
            data = graph.graph(session, tensor)
        return data if format == "json" else picture.DRAW[format](data)

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program that the host knows from now on."""
        text = dumps(body)
        key = _recent.find(text)
        if key is None:
            key = _host().programs.put(read(Program, body), {})[0].program.id
            _recent.keep(text, key)
        return key

    def admit(self, program: Any) -> None:
        """Have the host find Python of this process under its id, as long as somebody holds it."""
        _host().programs.admit(program)

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

    def optimizers(self, session_id: str) -> list[dict[str, Any]]:
        """The session's optimisers; what they keep of parameters as numbers and Received."""
        with _host().using(session_id) as session, _own_state():
            items: list[dict[str, Any]] = optimizers.listed(session)["items"]
        for item in items:
            item["state"] = [
                {n: _received(v, True) if isinstance(v, TensorReply) else v for n, v in s.items()}
                for s in item["state"]
            ]
        return items

    def sessions(self, label: str | None = None) -> list[dict[str, Any]]:
        """This process's sessions, all or those with a label, as resources, oldest first."""
        self._drop()
        found = _host().sessions()
        return [one.brief() for one in found if label is None or one.label == label]

    def described(self, session_id: str) -> str:
        """What a snapshot says of the session beside its arrays, as JSON."""
        host = _host()
        with _own_state():
            found: str = host.described(host.session(session_id))
        return found

    def names(self, session_id: str) -> list[str]:
        """The names of the session's tensors."""
        with _host().using(session_id) as session:
            return list(session.tensors)

    def snapshot(self, session_id: str) -> bytes:
        """The session as one safetensors file."""
        host = _host()
        with _own_state():
            return b"".join(host.snapshot(host.session(session_id)))

    def restore(self, metadata: dict[str, str], arrays: Arrays) -> dict[str, Any]:
        """A session of a snapshot, given as what its file says; its resource."""
        self._drop()
        with _own_state():
            found: dict[str, Any] = _host().restore(metadata, arrays).describe()
        return found

    def steps(self, session_id: str, request: Request) -> Values:
        """Do the steps, then read tensors. An interrupted call is made again with its request.

        Each step is done whole or not at all, and `request.done` counts those that are.
        """
        asked = read(StepsRequest, request.body)
        if self._forgotten:
            self._drop()
        host, inside = _host(), State()
        before, local.state = local.state, inside
        try:  # in a context of its own, so that an interrupt leaves NumPy's settings as they were
            reply = copy_context().run(host.handle, session_id, asked, request.arrays, request)
        except GradwireError as problem:
            foreign = problem.__cause__ if problem.code == "internal" else None
            if foreign is None or request.part is not None:
                raise
            request.part = foreign  # a signal handler's; the op's own if it comes again
            raise foreign from None
        except BaseException:
            if inside.journal is not None:  # interrupted before its block's end could begin
                inside.journal.give_up()
            raise
        finally:
            local.state = before
        if request.took is not None:
            request.took.append(reply["profile"])
        found: dict[str, TensorReply | None] = reply["values"]
        return {n: None if v is None else _received(v, request.data) for n, v in found.items()}

    def imagine(
        self, session_id: str, steps: Sequence[Step], arrays: Arrays, returns: Sequence[str]
    ) -> Values:
        """What tensors would be after some steps: these are done in a copy of the session."""
        host = _host()
        copy = host.fork(host.session(session_id))
        try:
            return self.steps(copy.id, Request(steps, returns, arrays))
        finally:
            host.delete(copy)


def _received(found: TensorReply, data: bool) -> Received:
    return Received(
        found.dtype,
        found.shape,
        found.requires_grad,
        found.is_leaf,
        found.grad_fn,
        found.version,
        found.array if data else None,
    )


__all__ = ["Embedded"]
