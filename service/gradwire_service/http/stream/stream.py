"""A stream as the service sees it: a handshake like a request, then message by message.

Each message is answered as the request `POST …/steps` that it is: admitted, counted, logged, run
once for its Idempotency-Key. What differs is where its head and its body come from.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.ledger import Loan
from gradwire_service.http import problem
from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call
from gradwire_service.http.codec.negotiation import JSON, SAFETENSORS
from gradwire_service.http.idempotency.once import HEADER
from gradwire_service.http.request_id import request_id
from gradwire_service.http.routes import steps
from gradwire_service.http.stream.envelope import Id, Unfit, read
from gradwire_service.http.stream.frames import Frame, framed

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gradwire_service.http.service import Service

METHOD = "WS"
PATH = "/v1/sessions/{id}/stream"
_PATH = re.compile(r"/v1/sessions/([^/]+)/stream")
RESTARTS, REFUSED, FAILED = 1012, 1008, 1011
"""Codes with which the server closes: it ends; what came was refused and nothing more is read; it
failed."""
HERE = 2**17
"""Bytes of a message whose head is read on the event loop."""
OF_ALL = (b"accept", b"authorization", b"gradwire-timeout")
"""Headers of the handshake that stand for those of each message."""


async def stream(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the handshake, and messages until either side closes."""
    began = time.monotonic()
    scope["headers"] = [pair for pair in scope["headers"] if pair[0] != HEADER]  # it runs nothing
    call = Call(scope, receive, service, request_id(scope["headers"]))
    scope["method"], scope["gradwire.call"] = METHOD, call
    await receive()  # websocket.connect
    try:
        found = await service.answer(call, began, lambda: _opened(call))
    finally:
        del scope["gradwire.call"]
        call.end()
    path = PATH if call.path else "(none)"
    service.note(call, METHOD, path, found.status, time.monotonic() - began)
    named = (b"x-request-id", call.request_id.encode("ascii"))
    if found.status != 101:
        await _refuse(found, named, send)
        return
    opened = Stream(service, call, receive, send)
    scope["gradwire.ledger"], scope["gradwire.answer"] = call.host.ledger, opened.at_once
    try:
        await send({"type": "websocket.accept", "headers": [named]})
        await opened.serve()
    finally:
        del scope["gradwire.answer"]
        call.tenant.streams -= 1


async def _opened(call: Call) -> Answer:
    """101 where the session is there."""
    found = _PATH.fullmatch(call.scope["path"])
    if found is None:
        raise problem.no_route(METHOD, call.scope["path"], ())
    call.path = {"id": found[1]}
    call.check_query(("data",))
    call.session()
    call.form()
    call.until()
    _count(call)
    return Answer(101)


def _count(call: Call) -> None:
    """One stream more of its tenant's; rate_limited where it has as many as it may."""
    limit = call.host.limits.tenant_streams
    if call.tenant.streams >= limit:
        raise error(
            "rate_limited",
            f"{limit} streams opened with your keys are open, and that is the limit",
            "close one of them first, or send more over each",
        )
    call.tenant.streams += 1


async def _refuse(found: Answer, named: tuple[bytes, bytes], send: Send) -> None:
    """The handshake's answer is an HTTP reply."""
    body = b"".join(found.buffers)
    media_type = (found.media_type or "").encode("ascii")
    headers = [
        named, *found.headers, (b"content-type", media_type),
        (b"content-length", b"%d" % len(body)), (b"connection", b"close"),
    ]  # fmt: skip
    start = {"type": "websocket.http.response.start", "status": found.status, "headers": headers}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": body})


class Stream:
    """An open stream of one session."""

    def __init__(self, service: Service, opened: Call, receive: Receive, send: Send) -> None:
        self._service, self._receive, self._send = service, receive, send
        self._scope, self._session = opened.scope, opened.session_id or opened.path["id"]
        self._scopes = {"text": self._scope_of(JSON), "bytes": self._scope_of(SAFETENSORS)}
        self._metrics = opened.tenant.metrics
        self._told: tuple[Id | None, str | None] = None, None

    def _scope_of(self, kind: str) -> dict[str, Any]:
        """What there is to say of messages of this kind before one is read."""
        given = dict(self._scope["headers"])
        kinds = {b"content-type": kind.encode(), b"accept": kind.encode()}
        return {
            "type": "http",
            "method": "POST",
            "path": PATH.replace("{id}", self._session),
            "query_string": self._scope["query_string"],
            "headers": kinds | {name: given[name] for name in OF_ALL if name in given},
        }

    async def serve(self) -> None:
        """Answer one message after the other, in order, until the stream ends."""
        try:
            while (event := await self._receive())["type"] == "websocket.receive":
                refused = event.get("gradwire.refused")
                if refused is not None:
                    await self._end(refused)
                    return
                if not await self._answer(event):
                    return
            if "gradwire.ends" in event:
                await self._send({"type": "websocket.close", "code": RESTARTS})
        except OSError:  # nobody listens any more
            return

    async def at_once(self, event: Any) -> None:
        """Answer a message where it is read, while `serve` waits for one."""
        try:
            await self._answer(event)
        except OSError:
            return
        except Exception as raised:
            self._service.log.failure("(stream)", self._scope["path"], raised)
            await self._send({"type": "websocket.close", "code": FAILED})

    async def _end(self, refused: GradwireError) -> None:
        """Say why nothing more is read, and close."""
        self._metrics.error(refused.code)
        said = problem.encoded(refused, request_id(()))
        await self._sent(framed(Answer(buffers=[said]), None, None))
        await self._send({"type": "websocket.close", "code": REFUSED, "reason": refused.code})

    async def _answer(self, event: Any) -> bool:
        """Answer one message; whether anybody is there for the next."""
        service, began = self._service, time.monotonic()
        call = self._call(event)
        self._scope["gradwire.call"] = call
        service.underway += 1
        try:
            found = await service.answer(
                call, began, lambda: steps.steps(call), lambda: self._begin(call, event)
            )
        except asyncio.CancelledError:
            if call.gone:
                return False
            raise
        finally:
            service.underway -= 1
            del self._scope["gradwire.call"]
            call.end()
        await self._sent(framed(found, *self._told))
        service.note(call, METHOD, PATH, found.status, time.monotonic() - began)
        return True

    def _call(self, event: Any) -> Call:
        """The message as a request, of which nothing is read yet."""
        self._told = None, None
        scope = self._scopes["bytes" if "bytes" in event else "text"]
        loan = Loan(self._scope["gradwire.ledger"], event.get("gradwire.lent", 0))
        call = Call(cast(Any, scope), self._receive, self._service, request_id(()), loan)
        call.path, call.session_id = {"id": self._session}, self._session
        return call

    async def _begin(self, call: Call, event: Any) -> None:
        """Read what stands for the head of the request."""
        binary = "bytes" in event
        data = event.pop("bytes" if binary else "text")
        opened = partial(read, data, binary, call.host.limits.depth, call.lend)
        del data
        try:
            message = opened() if len(opened.args[0]) <= HERE else await call.executor.apart(opened)
        except Unfit as unfit:
            self._told = unfit.id, None
            raise unfit.problem from None
        call.begin(message.body, message.headers, message.query)
        self._told = message.id, call.request_id if b"x-request-id" in message.headers else None

    async def _sent(self, frame: Frame) -> None:
        await self._send({
            "type": "websocket.send",
            "gradwire.buffers": frame.buffers,
            "gradwire.binary": frame.binary,
        })  # fmt: skip
