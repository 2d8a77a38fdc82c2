"""Kept replies as rows of the store."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from gradwire_engine.errors import error
from gradwire_service.host.durable.refusals import refused
from gradwire_service.http.idempotency.replies import Kept, Place, kept_of
from gradwire_service.store.rows import Damaged, Entry, Reply, Unavailable

if TYPE_CHECKING:
    from gradwire_service.host.durable.replies import StoredReplies
    from gradwire_service.http.answer import Answer
    from gradwire_service.http.call import Call


def entry_of(call: Call, answer: Answer) -> Entry:
    """What is written of an answer to a request that has a key."""
    assert call.place is not None
    assert call.service.keeper is not None
    kept = kept_of(answer, call.fingerprint, call.host.limits.idempotency_bytes)
    return call.service.keeper.replies.entry(_row(call.tenant.name, call.place, kept))


def _row(tenant: str, place: Place, kept: Kept) -> Reply:
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in kept.headers]
    about = [kept.fingerprint.hex(), kept.status, kept.media_type, headers]
    return Reply(_key(tenant, place), tenant, kept.at, orjson.dumps(about).decode(), kept.body)


def kept_in(replies: StoredReplies, tenant: str, place: Place) -> Kept | None:
    """The reply that was kept, by this process or one before; None where there is none.

    Raises storage_unavailable; session_damaged where it isn't what was written: the request was
    done, and must not be done again.
    """
    try:
        found = replies.find(_key(tenant, place))
    except Unavailable as problem:
        raise refused(problem) from problem
    except Damaged as problem:
        raise error(
            "session_damaged",
            "the request was done, and the reply that was kept for its Idempotency-Key isn't what "
            "was written",
            "read what it made by GET",
        ) from problem
    if found is None:
        return None
    fingerprint, status, media_type, headers = orjson.loads(found.about)
    pairs = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)
    return Kept(bytes.fromhex(fingerprint), status, media_type, found.body, pairs, found.at)


def _key(tenant: str, place: Place) -> bytes:
    return sha256(repr((tenant, *place)).encode()).digest()
