"""A request with an Idempotency-Key: run once, answered as often as it comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING

from gradwire_engine.errors import CODES, GradwireError, error
from gradwire_service.http import problem
from gradwire_service.http.answer import Answer
from gradwire_service.http.body import SMALL
from gradwire_service.http.idempotency.replies import (
    LONGEST_KEY,
    UNTOUCHED,
    Kept,
    Place,
    kept_of,
)

if TYPE_CHECKING:
    from gradwire_service.http.call import Call

HEADER = b"idempotency-key"
_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REPLAYED = (b"idempotency-replayed", b"true")


async def answered_once(call: Call, run: Callable[[], Awaitable[Answer]]) -> Answer:
    """What `run` answers or raises, or what it did when the same request came first."""
    place = Place(call.scope["method"], call.scope["path"], _key(call))
    if place.method not in _METHODS:
        return await run()
    fingerprint = await _fingerprint(call)
    fresh: list[Answer] = []

    async def first() -> Kept | None:
        try:
            found = await run()
        except GradwireError as raised:
            if raised.code in UNTOUCHED:
                raise
            found = told(raised, call)
        keeper = call.service.keeper
        if keeper is not None and not call.kept and _lasts(call):
            from gradwire_service.http.idempotency.stored import entry_of

            await keeper.commit(entry_of(call, found))
        fresh.append(found)
        return kept_of(found, fingerprint, call.host.limits.idempotency_bytes)

    call.place, call.fingerprint = place, fingerprint
    kept = await call.tenant.replies.once(place, fingerprint, first)
    if fresh:
        return fresh[0]
    assert kept is not None
    if kept.body is None:
        raise error(
            "limit_exceeded",
            "the request was done, and its reply was too large to be kept for its Idempotency-Key",
            "read what it made by GET, or ask for less in `return`",
        )
    body = (kept.body,) if kept.body else ()
    return Answer(kept.status, kept.media_type, body, (*kept.headers, _REPLAYED))


def told(raised: GradwireError, call: Call) -> Answer:
    """The problem document of an error."""
    body = problem.encoded(raised, call.request_id)
    return Answer(CODES[raised.code].status, problem.PROBLEM_JSON, [body])


def _key(call: Call) -> str:
    key = call.header(HEADER) or ""
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise error(
            "invalid_request",
            f"the header Idempotency-Key has {len(key)} characters, or odd ones",
            f"1 to {LONGEST_KEY} printable characters of ASCII, new for each request",
        )
    return key


async def _fingerprint(call: Call) -> bytes:
    """What tells a request from another at the same place."""
    body = await call.body()
    about = (call.scope["query_string"], call.header(b"content-type") or "")
    start = sha256(repr(about).encode())

    def whole() -> bytes:
        start.update(body)
        return start.digest()

    return whole() if len(body) <= SMALL else await call.executor.apart(whole)


def _lasts(call: Call) -> bool:
    """Whether the request is one of a durable session."""
    try:
        return call.session_id is not None and call.session().durable is not None
    except GradwireError:
        return False
