"""OpenTelemetry: what a collector gets of a real server's requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.service.conftest import running

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "a-key-that-nobody-may-see"


@contextmanager
def collector() -> Iterator[tuple[str, list[Any]]]:
    """A collector's URL, and the spans that it was sent."""
    spans: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            for found in ExportTraceServiceRequest.FromString(body).resource_spans:
                spans.extend(span for scope in found.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
    finally:
        server.shutdown()
        server.server_close()


def said(span: Any) -> dict[str, object]:
    return {
        one.key: one.value.int_value if one.value.HasField("int_value") else one.value.string_value
        for one in span.attributes
    }


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """What goes to the log, of all loggers."""
    found = StringIO()
    handler = logging.StreamHandler(found)
    logging.getLogger().addHandler(handler)
    try:
        yield found
    finally:
        logging.getLogger().removeHandler(handler)


def test_headers_that_name_no_trace_are_passed_over(logged: StringIO) -> None:
    """What callers wrote there is not in the log, and their requests are spans as all others."""
    with collector() as (url, spans):
        with running(traces=url) as server:
            for parent, state in (
                ("never", "mine"),
                (f"00-{TRACE}-{PARENT}-01", "=mine"),
                (f"00-{TRACE}-{PARENT}-01", "mine" * 4000),
                (f"ff-{TRACE}-{PARENT}-01-mine", "a=mine," * 100),
            ):
                http = server.other(traceparent=parent, tracestate=state)
                assert http.get("/health/live").status_code == 200
        assert len(spans) == 4
        assert [span.trace_id.hex() == TRACE for span in spans] == [False, True, True, False]
    assert "mine" not in logged.getvalue()


def test_each_request_is_a_span_in_its_callers_trace() -> None:
    with collector() as (url, spans):
        with running(traces=url, keys=(f"alice:{SECRET}",)) as server:
            http = server.other(
                authorization=f"Bearer {SECRET}", traceparent=f"00-{TRACE}-{PARENT}-01"
            )
            session = http.post("/v1/sessions", json={}).json()["id"]
            steps = {"steps": [{"tensor": "x", "value": [271828.5]}], "return": ["x"]}
            assert http.post(f"/v1/sessions/{session}/steps", json=steps).status_code == 200
            wrong = {"steps": [{"op": "sin", "args": ["nope"], "out": "y"}]}
            refused = http.post(f"/v1/sessions/{session}/steps", json=wrong)
            server.client.get("/health/live")
        assert [span.name for span in spans] == [
            "POST /v1/sessions",
            "POST /v1/sessions/{id}/steps",
            "POST /v1/sessions/{id}/steps",
            "GET /health/live",
        ]
        assert {span.trace_id.hex() for span in spans[:3]} == {TRACE}
        assert {span.parent_span_id.hex() for span in spans[:3]} == {PARENT}
        assert spans[3].trace_id.hex() != TRACE
        assert all(0 < s.end_time_unix_nano - s.start_time_unix_nano < 60e9 for s in spans)
        assert said(spans[2]) == {
            "http.request.method": "POST",
            "http.route": "/v1/sessions/{id}/steps",
            "http.response.status_code": 404,
            "gradwire.request_id": refused.headers["x-request-id"],
            "gradwire.session": session,
            "gradwire.tenant": "alice",
            "error.type": "tensor_not_found",
        }
        assert "error.type" not in said(spans[1])
        everything = "".join(map(str, spans))
        assert SECRET not in everything and "271828" not in everything
