"""Lists in pages: the query that asks for one, and the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradwire_service.host.programs import Stored
from gradwire_service.host.sessions import Session
from gradwire_service.http.call import Call
from gradwire_service.http.openapi import Query

_USUAL, _LONGEST = 100, 1000
_DIGITS = 18
"""Of a cursor, at most: more than will ever be made."""
PAGE = (
    Query(
        "limit", "At most so many.",
        {"type": "integer", "minimum": 1, "maximum": _LONGEST, "default": _USUAL}, _USUAL,
    ),
    Query(
        "cursor", "Where the last page ended: its `next`.",
        {"type": "string", "pattern": f"^[0-9]{{1,{_DIGITS}}}$"}, "42",
    ),
)  # fmt: skip


def page(call: Call, listed: Iterable[Session | Stored]) -> dict[str, Any]:
    """Those of the page that the query asks for; `next` is the cursor of what follows, or None."""
    limit = call.number("limit", _USUAL, 1, _LONGEST)
    after = call.number("cursor", 0, 0, 10**_DIGITS - 1)
    found = [one for one in listed if one.serial > after]
    more = str(found[limit - 1].serial) if len(found) > limit else None
    return {"items": [one.brief() for one in found[:limit]], "next": more}
