"""Pages for people: the errors with cause, example and way out; OpenAPI and its reader."""

from __future__ import annotations

from functools import cache
from json import dumps  # orjson knows no 2**64, which is a seed's bound

from fastapi import FastAPI

from gradwire_engine.errors import CODES, error
from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call
from gradwire_service.http.codec.negotiation import JSON
from gradwire_service.http.explanations import index, page
from gradwire_service.http.html import html
from gradwire_service.http.openapi import document
from gradwire_service.http.reader import contract

_ICON = b"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<rect width="16" height="16" rx="3" fill="#1d4ed8"/>
<path d="M3.5 4.5h9L8 12.5z" fill="none" stroke="#fff" stroke-width="1.5" stroke-linejoin="round"/>
</svg>
"""
_DAY = (b"cache-control", b"max-age=86400")


async def errors(_: Call) -> Answer:
    """The list of all errors."""
    return html(index())


async def error_page(call: Call) -> Answer:
    """What an error means: its cause, an example, the way out."""
    code = call.path["code"]
    if code not in CODES:
        raise error("not_found", f"there is no error called {code[:64]!r}", "/errors lists them")
    return html(page(code))


async def openapi(call: Call) -> Answer:
    """The contract as OpenAPI."""
    found = document(call.service.api, call.service.locked)
    return call.compressed(Answer(200, JSON, [dumps(found).encode()]))


async def docs(call: Call) -> Answer:
    """The contract as a page: every route, field and example."""
    return call.compressed(html(_contract(call.service.api)))


@cache
def _contract(api: FastAPI) -> str:
    return contract(document(api))


async def icon(_: Call) -> Answer:
    """The nabla that a browser shows beside a page's title."""
    return Answer(200, "image/svg+xml", [_ICON], (_DAY,))
