"""A durable session read back from the store into memory, and put aside again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from gradwire_engine.errors import GradwireError
from gradwire_service.host import safetensors, snapshot
from gradwire_service.host.answered import Answered, noted
from gradwire_service.host.durable import machine
from gradwire_service.host.durable.log import SessionLog, Since
from gradwire_service.host.durable.programs import with_deleted
from gradwire_service.host.durable.refusals import damaged, refused
from gradwire_service.host.durable.replay import Decode, replayed
from gradwire_service.host.host import Host
from gradwire_service.host.sessions import Session
from gradwire_service.store.rows import Damaged, Unavailable

_PASSING = frozenset({"memory_limit", "limit_exceeded", "shutting_down", "deadline_exceeded"})
"""What a session can't be read back for now, and is not damaged by."""


class Recovery(NamedTuple):
    """How sessions of one host are read back. machines: facts of machines by their names."""

    host: Host
    decode: Decode
    machines: Callable[[str], dict[str, Any] | None]

    def recover(self, session: Session, log: SessionLog) -> None:
        """Have the session in memory as after its last change; whoever calls holds its lane.

        Raises session_damaged, storage_unavailable, memory_limit; the session is then parked still.
        """
        if log.damaged is not None:
            raise damaged(session.id, log.damaged)
        try:
            with session.use():
                self._read(session, log)
        except BaseException as problem:
            park(session)
            if isinstance(problem, Unavailable):
                raise refused(problem) from problem
            if isinstance(problem, Damaged):
                log.damaged = str(problem)
                raise damaged(session.id, log.damaged) from problem
            raise
        session.asleep = None

    def _read(self, session: Session, log: SessionLog) -> None:
        body, changes = log.store.load(session.id, log.number)
        log.size = len(body)
        _graft(session, self._restored(body))
        session.answered = _answered(log)
        log.since = Since()
        with with_deleted(self.host, session, log.store, log.tenant):
            for record, request in changes:
                began = time.perf_counter()
                self._replay(session, log, record.number, orjson.loads(record.about), request)
                log.since.add(record, request, time.perf_counter() - began)

    def _restored(self, body: bytes) -> Session:
        try:
            return self.host.rebuilt(*safetensors.read(body))
        except GradwireError as problem:
            if problem.code in _PASSING:
                raise
            raise Damaged(f"its snapshot can't be read: {problem.detail}") from problem

    def _replay(
        self, session: Session, log: SessionLog, number: int, about: Mapping[str, Any], body: bytes
    ) -> None:
        """Run a change again. It must give the same bits, or where another machine made it the
        same numbers but for rounding.
        """
        try:
            found = replayed(self.host, session, about, body, self.decode)
            if "key" in about:
                session.answered = noted(session.answered, about["key"], about["upto"])
        except GradwireError as problem:
            if isinstance(problem.__cause__, Damaged | Unavailable):  # of a program's row
                raise problem.__cause__ from None
            if problem.code in _PASSING:
                raise
            why = f"change {number} failed when it was run again: {problem.detail}"
            raise Damaged(f"{why} ({self._by(about)})") from problem
        here = about.get("on", log.machine) == log.machine
        log.foreign = log.foreign or not here
        if found is None or found.bits == about["digest"]:
            return
        if (here and session.device == "cpu") or not found.agrees(about.get("near")):
            what = f"change {number} gave other numbers when it was run again"
            raise Damaged(f"{what} ({self._by(about)})")

    def _by(self, about: Mapping[str, Any]) -> str:
        """Who made a change, and who runs it again."""
        facts = self.machines(about["on"]) if "on" in about else None
        made = f"gradwire {about['by']}" if facts is None else machine.described(facts)
        return f"it was made by {made}; this is {machine.described(machine.facts())}"


def _answered(log: SessionLog) -> Answered:
    """The requests that the session remembered at its snapshot; none of an older version's."""
    about = {} if log.row is None else orjson.loads(log.row.about)
    return tuple((request, upto) for request, upto in about.get("answered", ()))


def _graft(session: Session, made: Session) -> None:
    """What is in a session that was just made is the session's."""
    session.tensors.update(made.tensors)
    session.optimizers.update(made.optimizers)
    session.hooks.update(made.hooks)
    session.origins.take(made.origins)
    session.generator.seed, session.generator.draws = made.generator.seed, made.generator.draws
    session.label, session.ttl, session.anomaly = made.label, made.ttl, made.anomaly
    session.dtype, session.meter.limit = made.dtype, made.meter.limit
    made.close()
    session.meter.count()


def park(session: Session) -> None:
    """Let go of what the session holds; it stays, and is read back when it is asked for."""
    with session.lock:
        session.tensors.clear()
        session.optimizers.clear()
        session.hooks.clear()
        session.origins.restore([])
        session.pace = None
        session.meter.count()


def snapshot_of(session: Session) -> list[safetensors.Buffer]:
    """The session as a file; whoever calls holds its lane."""
    with session.lock:
        return snapshot.written(session)
