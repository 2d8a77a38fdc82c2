"""One request as a route sees it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Container, Mapping
from difflib import get_close_matches
from hashlib import sha256
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.deadline import SHORTEST, Deadline
from gradwire_service.host.elements import Array
from gradwire_service.host.ledger import Loan
from gradwire_service.host.protocol import Model, read
from gradwire_service.host.reply import Reply
from gradwire_service.host.safetensors import Buffer
from gradwire_service.host.sessions import Session
from gradwire_service.http.answer import Answer, weight
from gradwire_service.http.body import SMALL, Body
from gradwire_service.http.codec.compression import compress
from gradwire_service.http.codec.json import weight as weight_of
from gradwire_service.http.codec.negotiation import NPY, SAFETENSORS, encoding, wanted
from gradwire_service.http.codec.reply import Data, write_reply
from gradwire_service.http.codec.request import opened, parsed
from gradwire_service.http.request_id import request_id

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

    from gradwire_service.http.idempotency.replies import Place
    from gradwire_service.http.route import Route
    from gradwire_service.http.service import Service
    from gradwire_service.http.tenant import Tenant

_FIELDS = 64
"""More fields than any request has."""
DATA = ("nested", "none", "base64")
_TOKEN = 200
_SECONDS = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_WORTH_COMPRESSING = 2**14
_NEVER = float("inf")
_GRACE = 10.0
"""Seconds in which a client that lost its connection may ask again with its Idempotency-Key."""


def _no_value(name: str, text: str, hint: str) -> GradwireError:
    detail = f"?{name}={text[:_TOKEN]} is not one of its values"
    return error("invalid_request", detail, hint)


class Call:
    """A request: path parameters, query, headers, body."""

    __slots__ = (
        "_body", "_form", "_grace", "_headers", "_query", "_until", "closing", "code",
        "executor", "fingerprint", "found", "gone", "host", "kept", "loan", "path", "place",
        "receive", "request_id", "route", "scope", "service", "session_id", "task", "tenant",
    )  # fmt: skip

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        service: Service,
        request_id: str,
        loan: Loan | None = None,
    ) -> None:
        self.scope = scope
        self.receive = receive
        self.service = service
        self.request_id = request_id
        self.path: dict[str, str] = {}
        self.session_id: str | None = None
        self.code: str | None = None  # of the error that is its answer
        self.closing = False
        self.found: Answer | None = None
        self.route: Route | None = None
        self._query: dict[str, str] | None = None
        self._form: tuple[str | None, Data] | None = None
        headers = scope["headers"]  # of a stream's messages they are in a dict, which all share
        self._headers: Mapping[bytes, bytes] = headers if type(headers) is dict else dict(headers)
        self._body: Buffer | None = None
        self._until: Deadline | None = None
        self.gone = False
        self._grace: asyncio.TimerHandle | None = None
        self.place: Place | None = None
        self.fingerprint = b""  # of the request, where it has a key
        self.kept = False  # its reply is in the store already
        self.loan = loan or Loan(service.everybody.host.ledger)  # until the request is answered
        self.belongs(service.everybody)
        self.task = cast("asyncio.Task[None]", asyncio.current_task())  # or its connection says it

    def belongs(self, tenant: Tenant) -> None:
        """From here on it is known whose it is."""
        self.tenant, self.host, self.executor = tenant, tenant.host, tenant.executor
        self.loan.move(tenant.host.ledger)

    @property
    def key(self) -> str | None:
        """By which a session remembers the request, where it has an Idempotency-Key."""
        if self.place is None:
            return None
        return sha256(repr(tuple(self.place)).encode() + self.fingerprint).hexdigest()[:32]

    def lend(self, nbytes: int) -> None:
        """Bytes that are this request's until its answer; memory_limit if they don't fit."""
        self.loan.take(nbytes)

    def begin(self, body: Buffer, headers: Mapping[bytes, bytes], query: bytes) -> None:
        """A message of a stream was read: its body, and what it says in the place of a head."""
        self._body = body
        if headers:
            self._headers = {**self._headers, **headers}
        if query:
            self.scope = {**self.scope, "query_string": query}
        if b"x-request-id" in headers:
            self.request_id = request_id(headers.items())

    @property
    def header_names(self) -> Container[bytes]:
        """The names of the headers, in small letters."""
        return self._headers

    def header(self, name: bytes) -> str | None:
        """A header by its lower-case name."""
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    def repeats(self, name: bytes) -> bool:
        """Tell whether the head has more than one header of this lower-case name."""
        headers = self.scope["headers"]
        several = len(headers) != len(self._headers)
        return several and sum(given == name for given, _ in headers) > 1

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters, the last of equal names."""
        if self._query is None:
            text = self.scope["query_string"]
            self._query = dict(parse_qsl(text.decode("latin-1"), True)) if text else {}
        return self._query

    def check_query(self, known: Collection[str]) -> None:
        """Refuse parameters of the query that are none of these."""
        if not self.scope["query_string"]:
            return
        for name in self.query:
            if name not in known:
                near = get_close_matches(name[:_TOKEN], known, n=1)
                raise error(
                    "invalid_request",
                    f"?{name[:_TOKEN]} is no parameter of this call",
                    f"did you mean ?{near[0]}?"
                    if near
                    else f"it takes {', '.join(f'?{n}' for n in known) or 'none'}",
                )

    def option(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        """A query parameter that is one of a few words."""
        found = self.query.get(name, default) if self.scope["query_string"] else default
        if found not in allowed:
            raise _no_value(name, found, f"one of {', '.join(allowed)}")
        return found

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A query parameter that is a whole number between two bounds."""
        text = self.query.get(name)
        if text is None:
            return default
        found = (
            int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(high)) else -1
        )
        if not low <= found <= high:
            raise _no_value(name, text, f"a whole number from {low} to {high}")
        return found

    def session(self) -> Session:
        """The session that the path names."""
        self.session_id = self.path["id"]
        found = self.host.session(self.session_id)
        self.session_id = found.id
        return found

    def read(self, kind: type[Model], body: Buffer) -> tuple[Model, Mapping[str, Array]]:
        """The body as a request of this kind, and the arrays that came with it."""
        seen = self.tenant.seen
        opening, arrays = opened(self.header(b"content-type"), body)
        text = bytes(opening)
        request = seen.get(kind, text, self.host.limits.depth)
        if request is not None:
            return request, arrays
        if len(text) > SMALL:
            self.lend(weight_of(text))
        value = parsed(text, self.host.limits.depth)
        self._check_lists(value)
        request = seen.like(kind, value)
        if request is None:
            request = read(kind, value)
            seen.put(kind, text, value, request)
        return request, arrays

    def _check_lists(self, value: Mapping[str, object]) -> None:
        """Refuse what is far too long before each item of it is looked at."""
        if len(value) > _FIELDS:
            raise error(
                "limit_exceeded", f"the request has {len(value)} fields, and none has {_FIELDS}",
                "the contract lists the fields of each call",
            )  # fmt: skip
        most = max(self.host.limits.names, self.host.limits.steps)
        for name, found in value.items():
            if type(found) is list and len(found) > most:
                raise error(
                    "limit_exceeded",
                    f"{name[:_TOKEN]} has {len(found)} items, and no list of a request has more "
                    f"than {most}",
                    "send less in one request",
                )

    def until(self) -> Deadline:
        """How long the request may compute, and until when if the caller says so."""
        if self._until is None:
            self._until = Deadline(self.host.limits.seconds, self._timeout())
            if self.gone:  # before a thread came to ask
                self._until.give_up()
        return self._until

    def _timeout(self) -> float:
        text = self.header(b"gradwire-timeout")
        if text is None:
            return _NEVER
        asked = float(text) if _SECONDS.fullmatch(text) else 0.0
        if not SHORTEST <= asked < _NEVER:
            raise error(
                "invalid_request",
                f"the header Gradwire-Timeout is {text[:_TOKEN]!r}",
                f"seconds, as a number from {SHORTEST:g} on",
            )
        return asked

    async def replied(self, reply: Reply, status: int = 200, tiny: bool = False) -> Answer:
        """The answer that a reply makes, written in a thread where it is large."""
        if tiny or weight(reply) <= SMALL:
            return self.answer(reply, status)
        return await self.executor.apart(lambda: self.answer(reply, status))

    def answer(
        self, reply: Reply, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> Answer:
        """The answer that a reply makes, in the encodings that the caller takes."""
        accept, data = self.form()
        written = write_reply(reply, accept, data)
        return self.compressed(Answer(status, written.media_type, written.buffers, headers))

    def form(self) -> tuple[str | None, Data]:
        """How the caller wants the reply; refused early where that can't be."""
        if self._form is None:
            accept = self.header(b"accept")
            wanted(accept)
            self._form = accept, cast(Data, self.option("data", DATA, "nested"))
        return self._form

    def compressed(self, found: Answer) -> Answer:
        """Text that is worth it, compressed if the caller takes that; numbers in binary are not."""
        asked = self.header(b"accept-encoding")
        name = None if asked is None else encoding(asked)
        binary = found.media_type in (SAFETENSORS, NPY)
        if name is None or binary or sum(map(len, found.buffers)) < _WORTH_COMPRESSING:
            return found
        headers = ((b"content-encoding", name.encode()), (b"vary", b"accept-encoding"))
        buffers = compress(found.buffers, name)
        return found._replace(buffers=buffers, headers=(*found.headers, *headers))

    async def body(self) -> Buffer:
        """The whole body, without its Content-Encoding; refused as soon as it passes the limit."""
        if self._body is None:
            self._body = await Body(self).whole()
        return self._body

    def hang_up(self) -> None:
        """The client went away: end the work, unless it may come back for the reply."""
        if self.place is None:
            self._give_up()
        else:
            self._grace = asyncio.get_running_loop().call_later(_GRACE, self._give_up)

    def end(self) -> None:
        """The request is answered, or nobody waits: what it was lent goes back, and its body."""
        self._body = None
        if self._grace is not None:
            self._grace.cancel()
        self.loan.end()

    def _give_up(self) -> None:
        if self.place is not None and self.tenant.replies.waiting.get(self.place):
            return
        self.gone = True
        if self._until is not None:
            self._until.give_up()
        self.task.cancel()
