"""OpenTelemetry, where it is asked for: a span for each request, in the caller's trace.

A span is made when its request is answered, with the times of then, so that nothing stands in the
request's way. It says what the log's line says, and never data or keys.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gradwire_engine.errors import error
from gradwire_service.version import VERSION

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    raise error(
        "invalid_argument",
        "traces: OpenTelemetry is not installed",
        "pip install 'gradwire[server,otel]', or leave GRADWIRE_TRACES away",
    ) from None

if TYPE_CHECKING:
    from gradwire_service.http.call import Call

_CALLERS = ("traceparent", "tracestate")
"""The headers that name the caller's trace."""


class Spans:
    """Sends spans by OTLP over HTTP to a URL, in batches, from a thread of its own."""

    def __init__(self, url: str) -> None:
        resource = Resource.create({"service.name": "gradwire", "service.version": VERSION})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self._tracer = self._provider.get_tracer("gradwire", VERSION)
        self._callers = TraceContextTextMapPropagator()
        # It warns of each header that is no trace's, with what callers wrote there.
        logging.getLogger("opentelemetry.trace").setLevel(logging.ERROR)

    def request(
        self, call: Call, method: str, path: str, status: int, seconds: float, ended: int
    ) -> None:
        """A request was answered. ended: when, in nanoseconds since 1970."""
        given = {name: call.header(name.encode()) for name in _CALLERS}
        around = self._callers.extract({k: v for k, v in given.items() if v is not None})
        said: dict[str, str | int | None] = {
            "http.request.method": method,
            "http.route": path,
            "http.response.status_code": status,
            "gradwire.request_id": call.request_id,
            "gradwire.session": call.session_id,
            "gradwire.tenant": call.tenant.name,
            "error.type": call.code,
        }
        span = self._tracer.start_span(
            f"{method} {path}",
            context=around,
            kind=SpanKind.SERVER,
            attributes={name: value for name, value in said.items() if value is not None},
            start_time=ended - round(seconds * 1e9),
        )
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        span.end(ended)

    def close(self) -> None:
        """Send what waits, and end the thread."""
        self._provider.shutdown()
