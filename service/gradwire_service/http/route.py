"""Routes: documented for OpenAPI as FastAPI's, answered without what FastAPI does per request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call
from gradwire_service.http.openapi import Doc

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

Handler = Callable[[Call], Awaitable[Answer]]


class Route(APIRoute):
    """A route whose handler gets the request as a Call and gives an Answer."""

    def __init__(self, path: str, method: str, handler: Handler, doc: Doc) -> None:
        async def endpoint() -> None:
            """What FastAPI looks at in the handler's place: it has no parameters of FastAPI's."""

        super().__init__(
            path,
            endpoint,
            methods=[method],
            name=handler.__name__,
            operation_id=handler.__name__,
            tags=[doc.tag],
            summary=(handler.__doc__ or "").partition("\n")[0],
            description=handler.__doc__,
            status_code=doc.status,
            response_model=None,
            response_class=Response,
        )
        self.doc = doc
        self._query = tuple(parameter.name for parameter in doc.query)
        self._strict = path.startswith("/v1/")  # pages and probes take whatever is appended
        self.handler = handler
        self.method = method

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Answer; the door sends what the call then has."""
        if scope["method"] != self.method and (scope["method"], self.method) != ("HEAD", "GET"):
            raise HTTPException(405)
        call: Call = scope["gradwire.call"]
        call.path, call.route = scope["path_params"], self
        call.found = await self.answer(call)

    def answer(self, call: Call) -> Awaitable[Answer]:
        """What the handler answers; a query that this route doesn't know is refused."""
        if self._strict:
            call.check_query(self._query)
        return self.handler(call)
