"""What the server says of itself: catalogue, limits, health, metrics."""

from __future__ import annotations

from gradwire_engine.errors import error
from gradwire_service.host import catalogue
from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call
from gradwire_service.http.codec.negotiation import JSON, prefers
from gradwire_service.http.route import Route
from gradwire_service.version import VERSION


async def list_ops(call: Call) -> Answer:
    """Every op of the catalogue."""
    return call.answer(catalogue.listed())


async def read_op(call: Call) -> Answer:
    """One op, by its name, an alias or a last part that only one has."""
    return call.answer(catalogue.one(call.path["name"]))


WELCOME = {
    "service": "gradwire",
    "about": "Autograd as a service: POST /v1/sessions begins one, "
    "POST /v1/value_and_grad differentiates a program in one call.",
    "version": VERSION,
    "links": {
        "contract": "/docs",
        "openapi": "/openapi.json",
        "ops": "/v1/ops",
        "sessions": "/v1/sessions",
        "info": "/v1/info",
        "errors": "/errors",
        "health": "/health/ready",
        "metrics": "/metrics",
    },
}
"""What somebody sees who opens the server's address."""


async def welcome(call: Call) -> Answer:
    """What this is, and where to go on; to a browser, which would rather have HTML, as a page."""
    if not prefers(call.header(b"accept"), "text/html"):
        return _varying(call.answer(WELCOME))
    # Imported by the first browser: most servers see none.
    from gradwire_service.http.home import home
    from gradwire_service.http.html import html

    host = None if call.service.locked else call.host
    page = html(home(WELCOME, _summaries(call), call.header(b"host"), host))
    return _varying(call.compressed(page), (b"cache-control", b"no-store"))


def _summaries(call: Call) -> dict[str, str]:
    """What a GET gives, by path, in the words of the contract."""
    return {
        route.path: route.summary or ""
        for route in call.service.api.router.routes
        if isinstance(route, Route) and route.method == "GET"
    }


def _varying(found: Answer, *headers: tuple[bytes, bytes]) -> Answer:
    return found._replace(headers=(*found.headers, (b"vary", b"accept"), *headers))


async def info(call: Call) -> Answer:
    """Version, catalogue, devices, dtypes, and every limit."""
    return call.answer(call.host.info())


async def live(_: Call) -> Answer:
    """Whether the process answers at all."""
    return Answer(200, JSON, [b'{"status":"live"}'])


async def ready(call: Call) -> Answer:
    """Whether requests are taken; 503 while the server shuts down."""
    if call.service.draining:
        raise error("shutting_down", "the server is shutting down", "send requests elsewhere")
    return Answer(200, JSON, [b'{"status":"ready"}'])


async def metrics(call: Call) -> Answer:
    """Counts and durations, as Prometheus reads them."""
    # Imported by the first scrape: it would be a part of the server's start.
    from gradwire_service.http.exposition import exposition

    text, media_type = exposition(call.service, call.tenant)
    return Answer(200, media_type, [text])
