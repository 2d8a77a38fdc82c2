"""What those are told for whom there is no place to wait.

Where twice as much is asked as can be served every second request is refused, and what that takes
is taken from those that are served. So it is written where the request comes in, from a text that
is made once: no task, no cycle of uvicorn's, no call; and mostly without parsing the request.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gradwire_engine.errors import CODES
from gradwire_service.http import problem
from gradwire_service.http.request_id import request_id
from gradwire_service.http.tenant import Tenant
from gradwire_service.http.turns import Turns

_CODE = "overloaded"
_STATUS = CODES[_CODE].status
_CLOSE = b"connection: close\r\n"
_ID = request_id(())
"""Stands for a request's id in the text."""


class Text(NamedTuple):
    """A reply before and behind the request's id in its document, and that one's other bytes."""

    before: bytes
    after: bytes
    length: int


class TurnedAway(NamedTuple):
    """A request that found no place, as it is counted and logged, and what it is told."""

    request_id: str
    tenant: Tenant
    text: Text
    session_id: None = None
    code: str = _CODE
    status: int = _STATUS

    def reply(self, closing: bool) -> bytes:
        """All that is sent. closing: the connection ends with it."""
        before, after, length = self.text
        name = self.request_id.encode("ascii")
        head = b"%s%sx-request-id: %s\r\ncontent-length: %d\r\n" % (
            STATUS_LINE[_STATUS], _CLOSE if closing else b"", name, length + len(name),
        )  # fmt: skip
        return b"".join((head, before, name, after))


class Crowd:
    """Whether there is a place for everybody's requests, and what is said where there is none."""

    def __init__(self, tenant: Tenant, turns: Turns) -> None:
        self._tenant, self._turns = tenant, turns
        self._said = (-1, -1)  # how many wait, and seconds to wait: what the text says
        self._text = Text(b"", b"", 0)

    @property
    def full(self) -> bool:
        """Whether no place to wait is left."""
        return len(self._tenant.queue) >= self._tenant.host.limits.requests

    def turn_away(self, name: str) -> TurnedAway:
        """Count the request of this id; what there is to tell it."""
        said = len(self._tenant.queue), ceil(self._turns.patience(self._tenant))
        if said != self._said:
            self._said, self._text = said, self._written()
        self._tenant.metrics.error(_CODE)
        return TurnedAway(name, self._tenant, self._text)

    def _written(self) -> Text:
        raised = self._turns.refusal(self._tenant)
        seconds = problem.retry_after(raised)
        assert seconds is not None
        body = problem.encoded(raised, _ID)
        before, _, after = body.partition(_ID.encode("ascii"))
        rest = b"content-type: %s\r\nretry-after: %d\r\n\r\n" % (
            problem.PROBLEM_JSON.encode(), seconds,
        )  # fmt: skip
        return Text(rest + before, after, len(before) + len(after))
