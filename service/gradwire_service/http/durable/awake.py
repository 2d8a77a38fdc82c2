"""A durable session read back from the store into memory, and put aside again."""

from __future__ import annotations

import time

import orjson

from gradwire_engine.errors import GradwireError
from gradwire_service.host import safetensors, snapshot
from gradwire_service.host.host import Host
from gradwire_service.host.sessions import Session
from gradwire_service.http.durable.lasting import Lasting, Since, damaged, refused
from gradwire_service.http.durable.programs import Former
from gradwire_service.http.durable.redo import redone
from gradwire_service.store import Damaged, Unavailable

_PASSING = frozenset({"memory_limit", "limit_exceeded", "shutting_down", "deadline_exceeded"})
"""What a session can't be read back for now, and is not damaged by."""


def wake(host: Host, session: Session, lasting: Lasting) -> None:
    """Have the session in memory as it was after its last change; whoever calls holds its lane.

    Raises session_damaged, storage_unavailable, memory_limit; the session then sleeps on.
    """
    if lasting.damaged is not None:
        raise damaged(session.id, lasting.damaged)
    try:
        with session.use():
            _read(host, session, lasting)
    except BaseException as problem:
        put_aside(session)
        if isinstance(problem, Unavailable):
            raise refused(problem) from problem
        if isinstance(problem, Damaged):
            lasting.damaged = str(problem)
            raise damaged(session.id, lasting.damaged) from problem
        raise
    session.asleep = None


def _read(host: Host, session: Session, lasting: Lasting) -> None:
    body, changes = lasting.store.load(session.id, lasting.number)
    lasting.size = len(body)
    _graft(session, _restored(host, body))
    lasting.since = Since()
    with Former(host, session, lasting.store, lasting.tenant):
        for record, request in changes:
            began = time.perf_counter()
            _redo(host, session, record.number, orjson.loads(record.about), request)
            since = lasting.since
            since.changes += 1
            since.bytes += len(request)
            since.seconds += time.perf_counter() - began
            if record.file is not None:
                since.files.append(record.file)


def _restored(host: Host, body: bytes) -> Session:
    try:
        return host.rebuilt(*safetensors.read(body))
    except GradwireError as problem:
        if problem.code in _PASSING:
            raise
        raise Damaged(f"its snapshot can't be read: {problem.detail}") from problem


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


def _redo(host: Host, session: Session, number: int, about: dict[str, object], body: bytes) -> None:
    try:
        found = redone(host, session, about, body)
    except GradwireError as problem:
        if problem.code in _PASSING:
            raise
        why = f"change {number} failed when it was run again: {problem.detail}"
        raise Damaged(f"{why} ({_by(about)})") from problem
    if found is not None and found != about["digest"]:
        raise Damaged(f"change {number} gave other numbers when it was run again ({_by(about)})")


def _by(about: dict[str, object]) -> str:
    return f"it was made by gradwire {about['by']}"


def put_aside(session: Session) -> None:
    """Let go of what the session holds; it stays, and is read back when it is asked for."""
    with session.alone():
        session.tensors.clear()
        session.optimizers.clear()
        session.hooks.clear()
        session.origins.restore([])
        session.pace = None
        session.meter.count()


def snapshot_of(session: Session) -> list[safetensors.Buffer]:
    """The session as a file; whoever calls holds its lane."""
    with session.alone():
        return snapshot.written(session)
