"""Requests that change a durable session, as the host's part of that wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gradwire_engine.errors import GradwireError
from gradwire_service.host.cost import ALLOWANCE
from gradwire_service.host.memory import TooMuchHere
from gradwire_service.host.protocol.requests import SessionPatch
from gradwire_service.host.safetensors import Buffer
from gradwire_service.host.sessions import Session
from gradwire_service.http.answer import Answer, weight
from gradwire_service.http.body import SMALL
from gradwire_service.http.call import Call
from gradwire_service.http.idempotency.once import told

if TYPE_CHECKING:
    from gradwire_service.host.durable.change import Outcome
    from gradwire_service.host.durable.keeper import Keeper
    from gradwire_service.store.rows import Entry

Work = Callable[[int | None], Any]
"""Does a request within an allowance (None: without bounds) and gives its reply."""


def durable(session: Session) -> bool:
    """Whether changes of this session are kept."""
    return session.durable is not None


def keeper_of(call: Call) -> Keeper:
    """Who keeps the durable sessions of this server."""
    found = call.service.keeper
    assert found is not None
    return found


def reply_entry(
    call: Call, answer: Answer | None, raised: GradwireError | None = None
) -> Entry | None:
    """What is written of a reply, if it is to be kept for an Idempotency-Key."""
    if call.place is None:
        return None
    if answer is None:
        assert raised is not None
        answer = told(raised, call)
    from gradwire_service.http.idempotency.stored import entry_of  # only durable servers load it

    return entry_of(call, answer)


async def changed(
    call: Call,
    session: Session,
    about: Mapping[str, Any],
    body: Buffer,
    work: Work,
    answered: Callable[[Any], Answer] | None = None,
    *,
    renews: bool = False,
) -> Answer:
    """Do the work in the session's lane, write its change, and give its answer.

    about: what the change is, for who runs it again with the same body. renews: it changes what is
    known of the session while it is parked.
    """
    from gradwire_service.host.durable.change import Change, attempted, settled

    about = {"type": call.header(b"content-type"), **about}
    change = Change(session, about, body, renews, call.key)

    def done(allowance: int | None) -> Any:
        return attempted(change, partial(_within, work, allowance), answered or call.answer)

    async def settle(outcome: Outcome[Answer]) -> Answer:
        reply = None
        if outcome.record is not None:
            reply = reply_entry(call, outcome.answer, outcome.raised)
        call.kept = outcome.record is not None
        return await settled(keeper_of(call), call.tenant, outcome, reply)

    small = partial(done, ALLOWANCE) if len(body) <= SMALL else None
    found = await call.executor.run(session, partial(done, None), small, settle)
    answer: Answer = found
    return answer


def _within(work: Work, allowance: int | None) -> Any:
    reply = work(allowance)
    if allowance is not None and weight(reply) > SMALL:
        raise TooMuchHere
    return reply


async def patched(call: Call, session: Session, asked: SessionPatch, body: Buffer) -> Answer:
    """Change the settings of a durable session."""
    from gradwire_service.host.durable.change import patch

    def work(_: int | None) -> Any:
        return patch(call.host, session, asked)

    return await changed(call, session, {"what": "patch"}, body, work, renews=True)
