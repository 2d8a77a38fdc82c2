"""The service as one ASGI app: FastAPI's routes behind a single door.

The door gives each request its id, counts and logs it, and makes a problem document of whatever
goes wrong behind it. It stands in the place of a stack of middleware, which costs more than a small
gradient.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import Match

from gradwire_engine.errors import CODES, GradwireError, error
from gradwire_service.host.executor import Executor
from gradwire_service.host.frames import let_go
from gradwire_service.host.host import Host
from gradwire_service.host.limits import Limits
from gradwire_service.http import problem
from gradwire_service.http.access import Access
from gradwire_service.http.answer import Answer
from gradwire_service.http.at_once import SENDER, Sender
from gradwire_service.http.body import WHOLE, Body, Hangup
from gradwire_service.http.call import Call
from gradwire_service.http.crowd import Crowd, TurnedAway
from gradwire_service.http.idempotency.once import HEADER, answered_once
from gradwire_service.http.log import Log
from gradwire_service.http.patience import Patience
from gradwire_service.http.request_id import request_id
from gradwire_service.http.route import Route
from gradwire_service.http.stream.stream import stream
from gradwire_service.http.tenant import EVERYBODY, Tenant, Tenants
from gradwire_service.http.turns import Turns
from gradwire_service.keys import Ring

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gradwire_service.host.durable.keeper import Keeper
    from gradwire_service.http.spans import Spans

_SESSIONS = "/v1/sessions/"
METRICS = "/metrics"
HEALTH = "/health/"
NO_ROUTE = "(none)"
"""The path by which a request is counted that no route has answered."""
_UNDER = _SESSIONS + "{id}/"
_FEW = 64
"""Requests under way up to which it is cheaper to take each as it comes."""
_AT_ONCE = 4
"""Requests that begin where they are read, in one turn of the event loop: the next wait for one."""


class Service:
    """The app. `host` has the sessions, `executor` runs their work, `api` is FastAPI's part.

    underway: requests that have come and are not answered. locked: whether they need a key.
    """

    def __init__(
        self,
        tenants: Tenants,
        log: Log,
        api: FastAPI,
        ring: Ring,
        access: Access,
        keeper: Keeper | None = None,
        spans: Spans | None = None,
    ) -> None:
        self.tenants, self.ring, self.access = tenants, ring, access
        self.log, self.keeper, self.spans = log, keeper, spans
        self.api = api
        self.locked = bool(ring)
        self.everybody = tenants[EVERYBODY]
        self.patience = Patience()
        self._turns = Turns(self.locked, self.executor.behind)
        self.crowd = Crowd(self.everybody, self._turns)
        posted = [r for r in api.router.routes if isinstance(r, Route) and r.method == "POST"]
        self._fixed = {route.path: route for route in posted if "{" not in route.path}
        self._quick = {
            route.path.removeprefix(_UNDER): route
            for route in posted
            if route.path.startswith(_UNDER)
        }
        self._notes: list[tuple[Call | TurnedAway, str, str, int, float, int]] = []
        self._begun = 0  # at once, in this turn of the event loop
        self._turning = False  # something is done in the next one
        self.underway = 0
        self.draining = False

    @property
    def limits(self) -> Limits:
        """Every limit."""
        return self.tenants.limits

    @property
    def host(self) -> Host:
        """The host of those who come where no keys are configured."""
        return self.everybody.host

    @property
    def executor(self) -> Executor:
        """What runs their work."""
        return self.everybody.executor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand lifespan events to FastAPI."""
        if scope["type"] == "websocket":
            await stream(self, scope, receive, send)
            return
        if scope["type"] != "http":
            await self.api(scope, receive, send)
            return
        began = time.monotonic()
        call = Call(scope, receive, self, request_id(scope["headers"]))
        scope["app"], scope["gradwire.call"] = self.api, call
        sender = scope.pop(SENDER, None)
        self.underway += 1
        try:
            found = await self.answer(call, began, lambda: self._found(call, send))
            if WHOLE not in scope:
                await Body(call).leave()
            if self.access.shared:
                found = found._replace(headers=(*found.headers, *self.access.cors(call)))
        except Hangup:
            return
        except asyncio.CancelledError:
            if call.gone:
                return
            raise
        finally:
            self.underway -= 1
            call.end()
            # uvicorn keeps the scope until the connection's next request, and with it an array.
            del scope["gradwire.call"]
        await _send(found, call, send, sender)
        path = NO_ROUTE if call.route is None else call.route.path
        self.note(call, scope["method"], path, found.status, time.monotonic() - began)

    async def answer(
        self,
        call: Call,
        began: float,
        find: Callable[[], Awaitable[Answer]],
        begin: Callable[[], Awaitable[None]] | None = None,
    ) -> Answer:
        """What `find` answers, or the problem; found once for an Idempotency-Key.

        begin: reads what stands for the head of a stream's message, once its caller may send it;
        the stream's handshake had the check of its Host and Origin.
        """
        try:
            preflight = self.access.check(call) if begin is None else None
            if preflight is not None:
                return preflight
            tenant = self._admit(call)
            if tenant is not None:
                if self._many(tenant) and not self._turns.now(tenant, began):
                    await self._turns.wait(tenant)
                tenant.admit(began)
                if begin is not None:
                    await begin()
                if HEADER in call.header_names:
                    return await answered_once(call, find)
            return await find()
        except GradwireError as raised:
            self._log_failure(call, raised)
            return refused(raised, call)
        except HTTPException:
            return self._no_route(call)
        except Hangup:
            raise
        except Exception as raised:
            self.log.failure(call.request_id, call.scope["path"], raised)
            why = f"the server failed at this request ({call.request_id}); "
            why += "the session is as it was before"
            return refused(error("internal", why, "report it with the request id"), call)

    def _log_failure(self, call: Call, raised: GradwireError) -> None:
        """Log the fault of ours that an error may stand for."""
        if raised.code == "internal" and isinstance(raised.__cause__, Exception):
            self.log.failure(call.request_id, call.scope["path"], raised.__cause__)

    def _many(self, tenant: Tenant) -> bool:
        """Whether a request may have to wait for its turn on the event loop.

        Among tenants it may; where all are one, when so many have come that whoever asks for the
        server's health would notice.
        """
        return self.locked or self.underway > _FEW or bool(tenant.queue)

    def turns_away(self, path: bytes) -> bool:
        """Whether a request for this path is refused before anything is made of it.

        Where keys are configured it isn't known yet whose it is, a span has its parts, and what
        a page of another site may read says so.
        """
        if self.locked or self.spans is not None or self.draining or self.access.shared:
            return False
        return self.crowd.full and path.startswith(b"/v1/")

    async def _found(self, call: Call, send: Send) -> Answer:
        """What the route answers."""
        if not await self._answer_quickly(call):
            await self.api.router.app(call.scope, call.receive, send)
        assert call.found is not None
        return call.found

    async def _answer_quickly(self, call: Call) -> bool:
        """Take what is posted past the router, which costs as much as its answer."""
        scope = call.scope
        if scope["method"] != "POST":
            return False
        route = self._fixed.get(scope["path"])
        if route is None:
            prefix, _, verb = scope["path"].rpartition("/")
            route = self._quick.get(verb)
            if route is None or not prefix.startswith(_SESSIONS) or prefix.count("/") != 3:
                return False
            call.path = {"id": prefix.removeprefix(_SESSIONS)}
        call.route = route
        call.found = await route.answer(call)
        return True

    def _admit(self, call: Call) -> Tenant | None:
        """Whose request this is; None for what everybody may see.

        Refused: work while the server ends, and strangers where keys are configured.
        """
        path = call.scope["path"]
        work = path.startswith("/v1/")
        if not work and (path != METRICS or not self.locked):
            return None
        if work and self.draining:
            raise error("shutting_down", "the server is shutting down", "try again soon")
        tenant = self._caller(call) if self.locked else self.everybody
        call.belongs(tenant)
        return tenant if work else None

    def _caller(self, call: Call) -> Tenant:
        scheme, _, key = (call.header(b"authorization") or "").partition(" ")
        name = self.ring.tenant(key.strip()) if scheme.lower() == "bearer" else None
        if name is None:
            raise error(
                "unauthorized",
                "the request has no key that this server knows",
                "send the header Authorization: Bearer KEY; the SDK and the command line send the "
                "one in GRADWIRE_KEY",
            )
        return self.tenants[name]

    def _no_route(self, call: Call) -> Answer:
        scope = call.scope
        allowed = {
            method
            for route in self.api.router.routes
            if route.matches(scope)[0] is not Match.NONE
            for method in getattr(route, "methods", None) or ()
        }
        raised = problem.no_route(scope["method"], scope["path"], allowed)
        headers = ((b"allow", ", ".join(sorted(allowed)).encode()),) if allowed else ()
        return refused(raised, call, headers)

    def note(
        self, call: Call | TurnedAway, method: str, path: str, status: int, seconds: float
    ) -> None:
        """Count and log a request in the event loop's next turn: the reply leaves before it."""
        self._before_next_turn()
        ended = 0 if self.spans is None else time.time_ns()
        self._notes.append((call, method, path, status, seconds, ended))

    def may_begin(self) -> bool:
        """Whether a request may begin where it is read: a few may in a turn of the event loop."""
        self._before_next_turn()
        self._begun += 1
        return self._begun <= _AT_ONCE

    def _before_next_turn(self) -> None:
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """What was answered in a turn is counted and logged, and others may begin."""
        self._begun, self._turning = 0, False
        if not self._notes:
            return
        notes, self._notes = self._notes, []
        for call, method, path, status, seconds, ended in notes:
            call.tenant.metrics.request(method, path, status, seconds)
            if self.spans is not None and isinstance(call, Call):
                self.spans.request(call, method, path, status, seconds, ended)
            self.log.request(call, method, path, status, seconds)
        self.log.flush()


def refused(
    raised: GradwireError, call: Call, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> Answer:
    """The answer that an error is; it is counted, and the log has its code."""
    call.code = raised.code
    call.tenant.metrics.error(raised.code)
    seconds = problem.retry_after(raised)
    if seconds is not None:
        headers = (*headers, (b"retry-after", b"%d" % seconds))
    if raised.code == "unauthorized":
        headers = (*headers, (b"www-authenticate", b"Bearer"))
    body = problem.encoded(raised, call.request_id)
    let_go(raised)
    return Answer(CODES[raised.code].status, problem.PROBLEM_JSON, [body], headers)


async def _send(found: Answer, call: Call, send: Send, sender: Sender | None) -> None:
    headers = [(b"x-request-id", call.request_id.encode("ascii")), *found.headers]
    buffers = found.buffers
    if found.status != 204:
        length = sum(map(len, buffers))
        headers.append((b"content-length", b"%d" % length))
        if found.media_type is not None:
            headers.append((b"content-type", found.media_type.encode("ascii")))
    if call.closing:
        headers.append((b"connection", b"close"))
    elif sender is not None and sender.send(found.status, headers, buffers):
        return
    with suppress(OSError):  # nobody listens any more
        await send({"type": "http.response.start", "status": found.status, "headers": headers})
        for place, buffer in enumerate(buffers or (b"",), 1):
            more = place < len(buffers)
            await send({"type": "http.response.body", "body": buffer, "more_body": more})
