"""A WebSocket's handshake, between `websockets` and ASGI: a request as a scope, and its answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from gradwire_engine.errors import error
from gradwire_service.http import problem
from gradwire_service.http.request_id import request_id


def scope_of(request: Request, state: dict[str, Any]) -> dict[str, Any]:
    """What ASGI says of a connection."""
    path, _, query = request.path.partition("?")
    headers = request.headers.raw_items()
    return {
        "type": "websocket",
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in headers],
        "subprotocols": [],
        "state": state,
        "extensions": {"websocket.http.response": {}},
    }


def no_handshake(found: Exception) -> Response:
    """The reply to what is none."""
    raised = error(
        "invalid_body",
        f"what came is no handshake of a WebSocket: {found}"[:300],
        "use a WebSocket library, of version 13 of the protocol",
    )
    body = problem.encoded(raised, request_id(()))
    headers = Headers([
        ("content-type", problem.PROBLEM_JSON), ("content-length", str(len(body))),
        ("sec-websocket-version", "13"), ("connection", "close"),
    ])  # fmt: skip
    return Response(400, "Bad Request", headers, body)


def response_of(message: Any) -> Response:
    """The reply that an ASGI message begins."""
    status = HTTPStatus(message["status"])
    headers = Headers([(k.decode("latin-1"), v.decode("latin-1")) for k, v in message["headers"]])
    return Response(status.value, status.phrase, headers)
