"""Work on a durable session: its change is written before its reply, or undone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.journal import Journal, transaction
from gradwire_service.host.cost import ALLOWANCE
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.protocol import SessionCreate, SessionPatch
from gradwire_service.host.sessions import Session
from gradwire_service.http.call import SMALL, Answer, Call, weight
from gradwire_service.http.codec import Buffer
from gradwire_service.http.durable.redo import digest

if TYPE_CHECKING:
    from gradwire_service.http.durable.keeper import Keeper
    from gradwire_service.http.durable.lasting import Lasting
    from gradwire_service.store import Record

Work = Callable[[int | None], Any]
"""Does a request within an allowance (None: without bounds) and gives its reply."""
Answered = Callable[[Any], Answer]
"""The answer that a reply makes."""


class Pace(NamedTuple):
    """When sessions leave memory, and how many changes are run again at most."""

    park_seconds: float = 300.0
    snapshot_changes: int = 1000


class Outcome(NamedTuple):
    """What a request did: its answer or error, how to undo it, and its place in the log.

    record: None where nothing changed.
    """

    answer: Answer | None
    raised: GradwireError | None
    journal: Journal
    record: Record | None
    seconds: float

    def given(self) -> Answer:
        """The answer; raises the error."""
        if self.raised is not None:
            raise self.raised
        assert self.answer is not None
        return self.answer


async def changed(
    call: Call,
    session: Session,
    about: Mapping[str, Any],
    body: Buffer,
    work: Work,
    answered: Answered | None = None,
    *,
    renews: bool = False,
) -> Answer:
    """Do the work in the session's lane, write its change, and give its answer.

    about: what the change is, for who runs it again with the same body. renews: it changes what is
    known of the session while it sleeps.
    """
    asked = {"type": call.header(b"content-type"), **about}
    done = partial(_done, session, asked, body, work, answered or call.answer)
    small = partial(done, ALLOWANCE) if len(body) <= SMALL else None
    settle = partial(_settle, call, session, renews)
    return await call.executor.run(session, done, small, settle)


def changing(session: Session) -> bool:
    """Whether changes of this session are kept."""
    return session.durable is not None


def _done(
    session: Session,
    about: Mapping[str, Any],
    body: Buffer,
    work: Work,
    answered: Answered,
    allowance: int | None = None,
) -> Outcome:
    """In the lane: do the work; what it did stays undoable."""
    began = time.perf_counter()
    lasting: Lasting = session.durable
    answer, raised, upto, check = None, None, None, 0
    with transaction() as journal:
        try:
            reply = work(allowance)
        except GradwireError as problem:
            if not journal.entries or problem.step is None:
                raise
            raised, upto = problem, problem.step  # the steps before it are kept
        else:
            if allowance is not None and weight(reply) > SMALL:
                raise TooMuchHere
            answer = answered(reply)
            check = digest(reply) if journal.entries else 0
        record = None
        if journal.entries:
            about = {**about, "upto": upto, "digest": check}
            record = lasting.record(session, about, body)
    return Outcome(answer, raised, journal, record, time.perf_counter() - began)


async def _settle(call: Call, session: Session, renews: bool, outcome: Outcome) -> Answer:
    """Still in the lane: write the change; undo it where that fails."""
    record = outcome.record
    if record is None:
        return outcome.given()
    keeper, lasting = _keeper(call), session.durable
    entry = lasting.entry(record)
    if renews:
        entry = lasting.renewed(session, entry)
    try:
        await keeper.commit(keeper.with_reply(entry, call, outcome.answer, outcome.raised))
    except GradwireError:
        lasting.doubtful = True
        with session.use():
            outcome.journal.rollback()
            session.meter.count()
        if record.file is not None:
            keeper.store.remove([record.file])
        raise
    call.kept = True
    lasting.written(record, outcome.seconds)
    if lasting.due(keeper.pace.snapshot_changes):
        keeper.snapshot_soon(call.tenant, session)
    return outcome.given()


async def patched(call: Call, session: Session, asked: SessionPatch, body: Buffer) -> Answer:
    """Change the settings of a durable session."""
    host = call.host

    def work(_: int | None) -> Any:
        with session.use(), transaction() as journal:
            host.check_open(session)
            before = [(session, name, getattr(session, name)) for name in _SETTINGS]
            limit = session.meter.limit
            host.patch(session, asked)
            journal.entries += [*before, (session.meter, "limit", limit)]
            return session.describe()

    return await changed(call, session, {"what": "patch"}, body, work, renews=True)


def need_store(keeper: Keeper | None, asked: SessionCreate) -> Keeper | None:
    """Who keeps a session that is asked for; None where it isn't to be kept."""
    if keeper is None and asked.durable:
        raise error(
            "invalid_argument",
            "durable: this server keeps nothing beyond its own end",
            "start it with gradwire serve --data DIR, or leave durable out",
        )
    return None if asked.durable is False else keeper


_SETTINGS = ("label", "dtype", "ttl", "anomaly")


def _keeper(call: Call) -> Keeper:
    found = call.service.keeper
    assert found is not None
    return found
