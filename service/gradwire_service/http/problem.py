"""Errors as application/problem+json (RFC 9457), the same shape for everything that goes wrong."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil
from typing import Any

import orjson

from gradwire_engine.errors import GradwireError, error

PROBLEM_JSON = "application/problem+json"
RETRY = {"rate_limited": 1, "overloaded": 1, "shutting_down": 5, "storage_unavailable": 5}
"""Seconds after which a client may try again, for codes that say so, where nothing is known."""


def retry_after(raised: GradwireError) -> int | None:
    """Whole seconds after which the same may go well; None where waiting doesn't help."""
    if raised.code not in RETRY:
        return None
    if raised.retry_after is None:
        return RETRY[raised.code]
    return max(1, ceil(raised.retry_after))


def problem(raised: GradwireError, request_id: str) -> dict[str, Any]:
    """The members of the problem document."""
    return {
        "type": f"/errors/{raised.code}",
        "title": raised.title,
        "status": raised.status,
        "code": raised.code,
        "detail": raised.detail,
        "hint": raised.hint,
        "step": raised.step,
        "op": raised.op,
        "raised": type(raised).__bases__[-1].__name__,
        "request_id": request_id,
    }


def encoded(raised: GradwireError, request_id: str) -> bytes:
    """The document as bytes; what a client sent, and UTF-8 can't carry, is escaped."""
    members = problem(raised, request_id)
    try:
        return orjson.dumps(members)
    except (TypeError, ValueError):
        return orjson.dumps({key: _writable(value) for key, value in members.items()})


def _writable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode()


def no_route(method: str, path: str, allowed: Collection[str]) -> GradwireError:
    """The error where no route matches; `allowed` are the methods that this path does take."""
    if allowed:
        return error(
            "method_not_allowed",
            f"{path[:200]} takes no {method}",
            f"it takes {', '.join(sorted(allowed))}",
        )
    return error(
        "not_found", f"there is nothing at {method} {path[:200]}", "/docs lists every route"
    )
