"""The last requests of a session that had an Idempotency-Key.

A reply is kept for a while, as far as there is room. That the request was done is known longer: it
is part of the session, as what the request made is, so that a late retry is not done once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire_engine.errors import error

if TYPE_CHECKING:
    from gradwire_service.host.sessions import Session

REMEMBERED = 64
"""Requests that a session remembers, the latest."""

Answered = tuple[tuple[str, int | None], ...]
"""Hashes of requests with their keys, each with the step that failed if those before it were kept;
the latest last."""


def noted(known: Answered, request: str, upto: int | None) -> Answered:
    """What a session remembers after one more request."""
    return (*known[1 - REMEMBERED :], (request, upto))


def check_new(session: Session, request: str) -> None:
    """Refuse a request that was done before and whose reply is gone."""
    for known, upto in session.answered:
        if known == request:
            done = "" if upto is None else f" up to step {upto}, which failed"
            raised = error(
                "limit_exceeded",
                f"the request was done{done}, and its reply isn't kept any more for its "
                "Idempotency-Key",
                "read what it made by GET",
            )
            raised.step = upto
            raise raised
