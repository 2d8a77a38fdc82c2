"""Logs: one line per request with its id, route, session, code and duration; never data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from gradwire_engine.errors import GradwireError

if TYPE_CHECKING:
    from gradwire_service.http.call import Call
    from gradwire_service.http.crowd import TurnedAway


class Log:
    """Where requests and failures are written; `style` is "json", "text", "none", or "auto".

    auto: text where the stream is a terminal, JSON where a program reads it.
    """

    def __init__(self, style: str = "none", stream: TextIO | None = None) -> None:
        self._logger: Any = None
        self._stream = stream or sys.stderr
        if style == "auto":
            style = "text" if self._stream.isatty() else "json"
        self._style = style
        self._lines: list[dict[str, Any]] = []

    def _open(self) -> Any:
        """structlog is imported with the first line: it would be a tenth of the start."""
        if self._logger is None:
            self._logger = _logger(self._style, self._stream)
        return self._logger

    def request(
        self, call: Call | TurnedAway, method: str, path: str, status: int, seconds: float
    ) -> None:
        """A request was answered; JSON waits for `flush`."""
        if self._style == "none":
            return
        found = {
            "request_id": call.request_id,
            "method": method,
            "route": path,
            "session": call.session_id,
            "tenant": call.tenant.name,
            "status": status,
            "code": call.code,
            "ms": round(seconds * 1e3, 3),
        }
        if self._style == "json":
            self._lines.append(found)
        else:
            self._open().info("request", **found)

    def flush(self) -> None:
        """Write the lines that wait, together."""
        if self._lines:
            self._stream.write("".join(_written(self._lines)))
            self._stream.flush()
            self._lines.clear()

    def complaint(self, problem: GradwireError) -> None:
        """Something outside of any request is not as it should be."""
        self._open().error("complaint", code=problem.code, detail=problem.detail)

    def failure(self, request_id: str, path: str, raised: BaseException) -> None:
        """A request failed by our fault: with the traceback, which the client never sees."""
        self._open().error("failure", request_id=request_id, path=path[:200], exc_info=raised)


def _written(lines: Iterable[dict[str, Any]]) -> Iterator[str]:
    """What structlog makes of them, in a tenth of the time: a small gradient takes as long as that.

    Failures, and text for people, are structlog's.
    """
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    for found in lines:
        found |= {"event": "request", "timestamp": at, "level": "info"}
        yield orjson.dumps(found).decode() + "\n"


def _logger(style: str, stream: TextIO) -> Any:
    import structlog

    shared: list[Any] = [
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.add_log_level,
    ]
    if style == "text":
        ending: list[Any] = [
            structlog.dev.ConsoleRenderer(
                colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    else:
        # Plain tracebacks: other renderers show local variables, and with them data.
        ending = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=shared + ending,
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=True,
    )
