"""Requests that are sent again: when, how often, and how long to wait in between."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from random import uniform
from typing import TypeVar
from uuid import uuid4

import httpx

from gradwire.direct import Reply
from gradwire_engine.errors import GradwireError, error

AReply = TypeVar("AReply", bound=Reply)
ATTEMPTS = 6
_FIRST, _LONGEST = 0.2, 10.0
"""Seconds to wait at most before the second attempt, which double with each; and at most ever."""
_BUSY = frozenset({429, 502, 503})
"""Statuses of a server that is busy, or of a proxy that can't reach it just now."""
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def key_for(method: str) -> dict[str, str]:
    """The header by which the server knows a retry; what only reads needs none."""
    return {"Idempotency-Key": uuid4().hex} if method in _CHANGING else {}


def sent(
    send: Callable[[], AReply], url: str, patience: Callable[[float], None] = time.sleep
) -> AReply:
    """The reply of a request, asked for again while the server is busy or the connection breaks.

    `send` sends the same request with the same key each time: however often it arrives, it is done
    once. A timeout is not tried again: whoever set it has waited long enough. Where no reply came
    the error is `unanswered`, or `unreachable` where nothing was sent; the next call asks again.
    What a signal's handler raises meanwhile comes through as it is.
    """
    handled = sys.exception()
    for attempt in range(ATTEMPTS):
        last = attempt == ATTEMPTS - 1
        try:
            reply = send()
        except httpx.TransportError as problem:
            own = _of_a_handler(problem, handled)
            if own is not None:
                try:
                    raise own from None
                finally:
                    del own  # which leads to this frame
            if last or isinstance(problem, httpx.TimeoutException):
                raise _unanswered(problem, url) from problem
            patience(_pause(attempt))
            continue
        if last or reply.status_code not in _BUSY:
            return reply
        patience(_pause(attempt, _asked(reply)))
    raise AssertionError("the last attempt returns or raises")


def _of_a_handler(problem: Exception, handled: BaseException | None) -> BaseException | None:
    """What a signal's handler raised, where the connection took that for a fault of its own.

    A TimeoutError, or any OSError, is one to it. Its own are raised in its own modules.
    handled: what the caller was handling before, which comes last in the context of all others.
    """
    found: BaseException | None = problem
    while found is not None and found is not handled:
        if type(found).__module__.partition(".")[0] not in _CONNECTIONS:
            trace = found.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
            return None if where.partition(".")[0] in _CONNECTIONS else found
        found = found.__cause__ or found.__context__
    return None


_CONNECTIONS = frozenset(
    {
        "h11", "http", "httpcore", "httptools", "httpx", "websockets", "socket", "ssl", "threading",
        "selectors", "queue", "contextlib", "gradwire",
    }
)  # fmt: skip
"""Packages in which what goes wrong with a connection is raised."""


def _pause(attempt: int, least: float = 0.0) -> float:
    """Seconds before the next attempt: random, so that clients don't come back all at once.

    At least half of the most, or some would give a server that is started anew less time than that
    needs.
    """
    most = min(_LONGEST, _FIRST * 2**attempt)
    return least + uniform(most / 2, most)  # noqa: S311


def _asked(reply: Reply) -> float:
    """The seconds that the server asks for, as far as one waits for that."""
    text = reply.headers.get("retry-after", "")
    return min(_LONGEST, float(text)) if text.isascii() and text.isdigit() else 0.0


def _unanswered(problem: httpx.TransportError, url: str) -> GradwireError:
    """No reply: the server refused the connection, or was too slow, or broke it."""
    if isinstance(problem, httpx.ConnectError):
        return error(
            "unreachable", f"no connection to {url}: {problem}", "is the server running?",
            raised=ConnectionError,
        )  # fmt: skip
    if isinstance(problem, httpx.ConnectTimeout | httpx.PoolTimeout):
        return error(
            "unreachable", f"no connection to {url} within the timeout",
            "is the server reachable? a longer timeout may be given to connect()",
            raised=TimeoutError,
        )  # fmt: skip
    slow = isinstance(problem, httpx.TimeoutException)
    why = "no answer within the timeout" if slow else f"{type(problem).__name__}: {problem}"
    return error(
        "unanswered",
        f"{url} gave no answer ({why})",
        "go on: the next call asks by the same key whether it was done; a longer timeout may be "
        "given to connect()",
        raised=TimeoutError if slow else ConnectionError,
    )


__all__ = ["ATTEMPTS", "key_for", "sent"]
