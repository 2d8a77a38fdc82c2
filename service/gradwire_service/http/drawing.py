"""Graphs as data or as pictures, as a request asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire_service.http.answer import Answer
from gradwire_service.http.call import Call
from gradwire_service.http.codec.negotiation import JSON

if TYPE_CHECKING:
    from gradwire_service.host.picture.data import GraphData

FORMATS = {
    "json": JSON,
    "dot": "text/vnd.graphviz; charset=utf-8",
    "mermaid": "text/vnd.mermaid; charset=utf-8",
    "svg": "image/svg+xml",
}
PICTURES = ("image/svg+xml", "text/vnd.graphviz", "text/vnd.mermaid")


def asked_format(call: Call) -> str:
    """What `?format=` says: `json`, or a picture."""
    return call.option("format", tuple(FORMATS), "json")


def drawn(call: Call, form: str, graph: GraphData) -> Answer:
    """The answer with a picture of a graph."""
    # Imported by the first picture: it would be a twentieth of the server's start.
    from gradwire_service.host import picture

    return call.compressed(Answer(200, FORMATS[form], [picture.DRAW[form](graph).encode()]))
