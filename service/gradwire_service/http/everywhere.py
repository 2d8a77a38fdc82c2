"""What OpenAPI says of many routes alike: headers, keys, and errors that aren't a route's own."""

from __future__ import annotations

from collections.abc import Iterator

from gradwire_service.host.deadline import SHORTEST
from gradwire_service.http.idempotency.replies import LONGEST_KEY

REQUEST_ID = {
    "name": "X-Request-Id",
    "in": "header",
    "description": "Your own id for the request; it is logged and sent back. Made where left out.",
    "required": False,
    "schema": {"type": "string"},
    "example": "r_4f1d2c3b5a697887",
}
TIMEOUT = {
    "name": "Gradwire-Timeout",
    "in": "header",
    "description": "Seconds that the request may compute; past them it is undone and answered 504.",
    "required": False,
    "schema": {"type": "number", "minimum": SHORTEST},
    "example": 10,
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "New for each request: one that comes again with it gets the first reply.",
    "required": False,
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_KEY,
        "pattern": "^[ -~]*[!-~][ -~]*$",  # printable, and not blank: HTTP strips blanks
    },
    "example": "0d2c4e58-6c1c-4f0e-9b7f-1f7f3f0f9a52",
}
SECURITY = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of the server's, where it has any.",
    }
}
RETRY_AFTER = {
    "description": "Seconds after which the same request may go well.",
    "schema": {"type": "integer", "minimum": 1},
}
REPLAYED = {
    "description": "There where the reply is the first one's, and nothing ran.",
    "schema": {"type": "string", "enum": ["true"]},
}
_ALWAYS = ("forbidden", "internal", "overloaded")
_WORK = ("unauthorized", "rate_limited", "shutting_down", "invalid_request")


def wants_key(path: str) -> bool:
    """Whether callers need a key there, if the server has any."""
    return path.startswith("/v1/") or path == "/metrics"


def security(path: str, keys: bool) -> list[dict[str, list[str]]]:
    """What OpenAPI says of it: a key, or none at all where the server has none."""
    if not wants_key(path):
        return []
    return [{"key": []}] if keys else [{"key": []}, {}]


def codes(path: str, once: bool) -> Iterator[str]:
    """The errors of a route that aren't its own."""
    yield from _ALWAYS
    if path.startswith("/v1/"):
        yield from _WORK
    elif wants_key(path):
        yield "unauthorized"
    if once:
        yield "idempotency_conflict"
