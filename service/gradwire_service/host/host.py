"""The host: sessions and what is asked of them, on plain objects.

HTTP routes, the embedded SDK and whatever comes later are doors to it.
"""

from __future__ import annotations

import re
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from secrets import token_hex
from types import MappingProxyType
from typing import NamedTuple

import gradwire_engine.ops  # noqa: F401  (fills the catalogue)
from gradwire_engine.arrays import backend, devices
from gradwire_engine.catalogue import CATALOGUE, catalogue_hash
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.locks import lock
from gradwire_engine.spec import DTYPES
from gradwire_service.host import snapshot
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.elements import Array
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.once import Fetch, Once, Reference
from gradwire_service.host.programs import Programs
from gradwire_service.host.protocol.requests import SessionCreate, SessionFork, SessionPatch
from gradwire_service.host.protocol.transforms import EvaluateRequest
from gradwire_service.host.reply import Filled, Reply
from gradwire_service.host.run import RunRequest, run
from gradwire_service.host.safetensors import Buffer
from gradwire_service.host.sessions import Session, timestamp
from gradwire_service.version import VERSION

_NONE: Mapping[str, Array] = MappingProxyType({})
_CLOSED, _EXPIRED = "session_closed", "session_expired"
_ENDS = {_CLOSED: 0, _EXPIRED: 0}
_ID = re.compile(r"s_[0-9a-f]{24}")
_NAMED = 10
"""Sessions that an error names at most."""
_LOOK = 1.0
"""Seconds between looks at all sessions by those who make new ones."""


class Above:
    """What the hosts of one process share: its memory, and places for sessions."""

    def __init__(self, limits: Limits) -> None:
        self.ledger = Ledger(limits.server_bytes)
        self.seats = Ledger(limits.sessions)


class Work(NamedTuple):
    """What was run: ops but views, nodes of walks among them, and what they come to, estimated."""

    ops: int
    flops: int


class Host:
    """All sessions of one tenant. Another tenant has another host: neither finds the other's.

    above: what it shares with them; without that it is alone in its process. ended: sessions that
    are gone, by the code with which later calls are answered. parkings: how often one left memory.
    """

    def __init__(self, limits: Limits | None = None, above: Above | None = None) -> None:
        self.limits = limits or Limits()
        shared = above or Above(self.limits)
        self.ledger = Ledger(self.limits.tenant_bytes, shared.ledger, "tenant")
        self._seats = Ledger(self.limits.tenant_sessions, shared.seats, "tenant")
        self.programs = Programs(self.limits, self.ledger)
        self.once = Once(self.limits, self.ledger, self.programs, self.fetch)
        self._sessions: dict[str, Session] = {}
        self._gone: OrderedDict[str, tuple[float, str, str]] = OrderedDict()
        self._lock = lock()
        self._looked = 0.0
        self._work = Work(0, 0)
        self.ended = Counter(_ENDS)
        self.parkings = 0

    def handle(
        self,
        session_id: str,
        request: RunRequest,
        arrays: Mapping[str, Array] = _NONE,
    ) -> Reply:
        """Run the steps of a request in a session and answer it; all or nothing."""
        return self.run(self.session(session_id), request, arrays)

    def run(
        self,
        session: Session,
        request: RunRequest,
        arrays: Mapping[str, Array] = _NONE,
        allowance: int | None = None,
        until: Deadline | None = None,
    ) -> Reply:
        """Run a request in a session at hand; the rest of the arguments as for `run.run`."""
        session.users += 1
        try:
            with session.lock:
                self.check_open(session)
                time_limit = until or Deadline(self.limits.seconds)
                return run(session, request, arrays, time_limit, allowance)
        finally:
            session.users -= 1
            session.touch()

    def check_open(self, session: Session) -> None:
        """Refuse a session that was closed while the request waited for it."""
        if session.closed:
            raise self._absent(session.id)

    def transform(
        self,
        request: EvaluateRequest,
        arrays: Mapping[str, Array] = _NONE,
        fetch: Fetch | None = None,
        allowance: int | None = None,
        until: Deadline | None = None,
    ) -> Reply:
        """Run a program in one call, and differentiate it where the request asks for that.

        `fetch` gives the arrays of tensors that lie in sessions; by default it reads them here.
        """
        found = self.once.run(request, arrays, fetch, allowance, until)
        return found.reply() if type(found) is Filled else found

    def fetch(self, wanted: Reference) -> Array:
        """The elements of a tensor of a session."""
        with self.using(wanted.session) as session:
            return session.find(wanted.tensor).numpy()

    @contextmanager
    def using(self, session_id: str) -> Iterator[Session]:
        """Hold an open session, after all who hold it now."""
        with self.session(session_id).use() as session:
            self.check_open(session)
            yield session

    def info(self) -> dict[str, Reply]:
        """What this server is and can: version, catalogue, devices, dtypes, limits."""
        return {
            "version": VERSION,
            "catalogue": catalogue_hash(),
            "ops": len(CATALOGUE),
            "devices": _offered(),
            "dtypes": list(DTYPES),
            "limits": self.limits.model_dump(),
        }

    def work(self) -> Work:
        """What was run for it so far, of sessions that live and of all that are gone."""
        gone = Work(self.ledger.ops, self.ledger.flops)
        meters = [session.meter for session in list(self._sessions.values())]
        ops = gone.ops + sum(meter.ops for meter in meters)
        flops = gone.flops + sum(meter.flops for meter in meters)
        # a session may end between the two: what was counted once stays so
        self._work = Work(max(ops, self._work.ops), max(flops, self._work.flops))
        return self._work

    # sessions

    def create(self, asked: SessionCreate) -> Session:
        """A new, empty session."""
        session = self._make(asked)
        self._enter(session)
        return session

    def snapshot(self, session: Session) -> list[Buffer]:
        """The whole session as a file, as buffers to be sent in turn; it stays as it is."""
        with session.use():
            self.check_open(session)
            return snapshot.written(session)

    def described(self, session: Session) -> str:
        """What a snapshot says of the session beside its arrays, as JSON."""
        with session.use():
            self.check_open(session)
            return snapshot.described(session)[0]

    def restore(self, metadata: Mapping[str, str], arrays: Mapping[str, Array]) -> Session:
        """The session that a snapshot holds, under an id of its own."""
        made = self.rebuilt(metadata, arrays)
        self._enter(made)
        return made

    def rebuilt(self, metadata: Mapping[str, str], arrays: Mapping[str, Array]) -> Session:
        """The session that a snapshot holds, with no id here: another takes what is in it."""
        return snapshot.restored(metadata, arrays, self._make, self.limits, self.ledger)

    def adopt(self, key: str, asked: SessionCreate, created: float | None) -> Session:
        """A session that was here before, its contents elsewhere; it has a seat in any case."""
        session = Session(key, asked, self.limits, self.ledger, self.programs.find)
        session.created = created or session.created
        self._seats.add(1)
        with self._lock:
            self._sessions[key] = session
        return session

    def _make(self, asked: SessionCreate) -> Session:
        self._check_device(asked.device)
        self._check_limits(asked)
        if time.monotonic() > self._looked + _LOOK:
            self.expire()
        key = f"s_{token_hex(12)}"
        return Session(key, asked, self.limits, self.ledger, self.programs.find)

    def _enter(self, session: Session) -> None:
        """Give a session its seat; one that finds none is closed, and gives back what it held."""
        if not self._seats.take(1) and not self._taken():
            session.close()
            full = self._seats.over(1) or self._seats
            here = f"there are {full.held} sessions, and " if full.whose == "tenant" else ""
            raise error(
                "limit_exceeded",
                f"{here}the {full.whose}'s limit is {full.limit} sessions",
                "delete sessions that are no longer needed",
            )
        session.again = self.once.again
        with self._lock:
            self._sessions[session.id] = session

    def _taken(self) -> bool:
        """Take a seat that somebody has left, if there is one."""
        self.expire()
        return self._seats.take(1)

    def session(self, session_id: str) -> Session:
        """The session with this id, or the only one with this label.

        Raises session_closed, session_expired, session_not_found, and invalid_argument where
        several have the label.
        """
        found = self._sessions.get(session_id) or self._labelled(session_id)
        if found is not None and not found.expired:
            return found
        if found is not None:
            self._expire(found)
        raise self._absent(session_id)

    def _labelled(self, label: str) -> Session | None:
        """The only session with this label; what looks like an id is none."""
        if _ID.fullmatch(label):
            return None
        found = [one for one in self._sessions.copy().values() if one.label == label]
        live = [one for one in found if not one.expired] or found
        if len(live) < 2:
            return live[0] if live else None
        ids = ", ".join([one.id for one in live[:_NAMED]])
        raise error(
            "invalid_argument",
            f"{len(live)} sessions have the label {label[:64]!r}, among them {ids}",
            "call one by its id, or change the labels of the others",
        )

    def _absent(self, session_id: str) -> GradwireError:
        _, code, detail = self._gone.get(session_id, (0.0, "", ""))
        if code:
            return error(
                code, detail, "make a new one: POST /v1/sessions, client.session() in Python"
            )
        return error(
            "session_not_found",
            f"there is no session {session_id[:64]!r}",
            "GET /v1/sessions lists those that there are (client.sessions() in Python), POST makes "
            "one",
        )

    def patch(self, session: Session, asked: SessionPatch) -> None:
        """Change what the request names."""
        self._check_limits(asked)
        given = asked.model_fields_set
        if "label" in given:
            session.label = asked.label
        if asked.dtype is not None:
            session.dtype = DTYPES[asked.dtype]
        if "ttl_seconds" in given:
            session.ttl = asked.ttl_seconds or self.limits.ttl_seconds
        if asked.detect_anomaly is not None:
            session.anomaly = asked.detect_anomaly
        if "memory_limit_bytes" in given:
            session.meter.limit = asked.memory_limit_bytes or self.limits.session_bytes

    def fork(self, session: Session, asked: SessionFork | None = None) -> Session:
        """A second session with the same tensors and graph; what one does, the other never sees."""
        asked = asked or SessionFork()
        self._check_limits(asked)
        with session.use():
            self.check_open(session)
            made = session.forked(f"s_{token_hex(12)}", self.ledger)
        self.patch(made, asked)
        if asked.seed is not None:
            made.generator.restart(asked.seed, 0)
        self._enter(made)
        return made

    def delete(self, session: Session) -> None:
        """Close a session and give back what it held."""
        self._remove(session, _CLOSED, "was closed")

    def sessions(self) -> list[Session]:
        """All sessions, oldest first."""
        self.expire()
        return list(self._sessions.values())

    def expire(self) -> None:
        """Close the sessions that nobody used for their time to live."""
        self._looked = time.monotonic()
        for session in list(self._sessions.values()):
            if session.expired:
                self._expire(session)

    def _expire(self, session: Session) -> None:
        self._remove(session, _EXPIRED, f"expired {session.ttl:g} seconds after its last request")

    def _remove(self, session: Session, code: str, what: str) -> None:
        with self._lock:
            if self._sessions.pop(session.id, None) is None:
                return
            self._seats.add(-1)
            self.ended[code] += 1
            at = timestamp(time.time())
            self._gone[session.id] = time.monotonic(), code, f"session {session.id} {what}, at {at}"
            self._forget_old()
        session.close()
        if session.durable is not None:
            session.durable.forget(session.id)

    def _forget_old(self) -> None:
        oldest = time.monotonic() - self.limits.remembered_seconds
        while self._gone and (
            len(self._gone) > self.limits.remembered or next(iter(self._gone.values()))[0] < oldest
        ):
            self._gone.popitem(last=False)

    def stop(self) -> None:
        """End what runs at its next op: the process is about to end."""
        for session in list(self._sessions.values()):
            session.meter.stop()

    def _check_device(self, device: str) -> None:
        if device.partition(":")[0] not in _offered():
            raise error(
                "unsupported_device",
                f"device {device!r} is not to be had here",
                f"there are: {', '.join(_offered())}",
            )
        backend(device)

    def _check_limits(self, asked: SessionCreate | SessionPatch) -> None:
        seconds, nbytes = asked.ttl_seconds, asked.memory_limit_bytes
        if seconds is not None and seconds > self.limits.longest_ttl_seconds:
            raise error(
                "limit_exceeded",
                f"ttl_seconds is {seconds:g}, and the limit is {self.limits.longest_ttl_seconds:g}",
                "ask for less; every request starts the time anew",
            )

        if nbytes is not None and nbytes > self.limits.session_bytes:
            raise error(
                "limit_exceeded",
                f"memory_limit_bytes is {nbytes}, and the limit is {self.limits.session_bytes}",
                "ask for less",
            )


def _offered() -> list[str]:
    """The devices that hold data: not "meta", whose tensors are shapes alone."""
    return [name for name in devices() if name != "meta"]
