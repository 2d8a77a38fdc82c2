"""Work on a durable session: its change is written before its reply, or undone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from gradwire_engine.errors import GradwireError
from gradwire_engine.journal import Journal, assign, transaction
from gradwire_service.host.answered import check_new, noted
from gradwire_service.host.durable import clock
from gradwire_service.host.durable.digest import digest
from gradwire_service.host.durable.log import SessionLog
from gradwire_service.host.protocol.requests import SessionPatch
from gradwire_service.host.sessions import Session
from gradwire_service.store.rows import Entry, Unknown

if TYPE_CHECKING:
    from gradwire_service.host.durable.keeper import Keeper
    from gradwire_service.host.durable.surroundings import Tenant
    from gradwire_service.host.host import Host
    from gradwire_service.store.rows import Buffer, Record

A = TypeVar("A")
_SETTINGS = ("label", "dtype", "ttl", "anomaly")


class Change(NamedTuple):
    """What is asked: `about` and the body say it to whoever runs it again.

    renews: it changes what is known of the session while it is parked. key: by which the session
    remembers the request, where it has an Idempotency-Key.
    """

    session: Session
    about: Mapping[str, Any]
    body: Buffer
    renews: bool = False
    key: str | None = None


class Outcome(NamedTuple, Generic[A]):
    """What a change did: its answer or error, how to undo it, and its place in the log.

    record: None where nothing changed.
    """

    change: Change
    answer: A | None
    raised: GradwireError | None
    journal: Journal
    record: Record | None
    seconds: float

    def given(self) -> A:
        """The answer; raises the error."""
        if self.raised is not None:
            raise self.raised
        assert self.answer is not None
        return self.answer


def attempted(change: Change, work: Callable[[], Any], answered: Callable[[Any], A]) -> Outcome[A]:
    """In the session's lane: do the work; what it did stays undoable. `settled` has to follow.

    work gives a reply, and `answered` makes the answer of it.
    """
    log: SessionLog = change.session.durable
    log.began = clock.now()
    try:
        return _attempted(change, work, answered)
    except BaseException:
        log.began = None
        raise


def _attempted(change: Change, work: Callable[[], Any], answered: Callable[[Any], A]) -> Outcome[A]:
    began = time.perf_counter()
    answer, raised, upto, summed = None, None, None, None
    session, record = change.session, None
    if change.key is not None:
        check_new(session, change.key)
    with transaction() as journal:
        try:
            reply = work()
        except GradwireError as problem:
            if not journal.entries or problem.step is None:
                raise
            raised, upto = problem, problem.step  # the steps before it are kept
        else:
            answer = answered(reply)
            summed = digest(reply) if journal.entries else None
        if journal.entries:
            if change.key is not None:
                assign(session, "answered", noted(session.answered, change.key, upto))
            found = (0, None) if summed is None else (summed.bits, summed.near)
            about = {**change.about, "upto": upto, "digest": found[0], "near": found[1]}
            if change.key is not None:
                about["key"] = change.key
            record = session.durable.record(session, about, change.body)
    return Outcome(change, answer, raised, journal, record, time.perf_counter() - began)


async def settled(keeper: Keeper, tenant: Tenant, outcome: Outcome[A], reply: Entry | None) -> A:
    """Still in the lane: write the change, and with it the reply; undo it where that fails."""
    log: SessionLog = outcome.change.session.durable
    try:
        if outcome.record is not None:
            await _write(keeper, outcome, outcome.record, reply)
            if log.due(keeper.upkeep.snapshot_changes):
                keeper.parking.soon(tenant, outcome.change.session)
        return outcome.given()
    finally:
        log.began = None


async def _write(keeper: Keeper, outcome: Outcome[A], record: Record, reply: Entry | None) -> None:
    session = outcome.change.session
    log: SessionLog = session.durable
    entry, row = log.entry(record), log.row
    if outcome.change.renews:
        entry, row = log.renewed(session, entry)
    try:
        await keeper.commit(entry if reply is None else entry.also(reply))
    except GradwireError as problem:
        with session.use():
            outcome.journal.rollback()
            session.meter.count()
        if record.file is not None and not isinstance(problem.__cause__, Unknown):
            keeper.store.remove([record.file])
        raise
    log.row = row
    log.written(record, outcome.seconds)


def patch(host: Host, session: Session, asked: SessionPatch) -> Any:
    """Change the settings of a durable session, undone with the running transaction."""
    with session.use(), transaction() as journal:
        host.check_open(session)
        before = [(session, name, getattr(session, name)) for name in _SETTINGS]
        limit = session.meter.limit
        host.patch(session, asked)
        journal.entries += [*before, (session.meter, "limit", limit)]
        return session.describe()
