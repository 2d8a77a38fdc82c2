"""A graph as a Mermaid flowchart."""

from __future__ import annotations

import re

from gradwire_service.host.picture.data import (
    GraphData,
    backward,
    clean,
    indexed,
    limit,
    lines,
    words,
)
from gradwire_service.host.picture.shapes import STYLES

MAX_EDGES = 500  # where Mermaid itself stops, unless its page is configured otherwise
_SPECIAL = re.compile(r"[^\w ,.:…()\[\]-]")


def to_mermaid(graph: GraphData) -> str:
    """Write a graph as a flowchart; more than `MAX_EDGES` are refused with limit_exceeded."""
    limit("nodes", len(graph["nodes"]), MAX_EDGES)
    limit("edges", len(graph["edges"]), MAX_EDGES)
    drawn = ["flowchart TD"]
    for index, node in enumerate(graph["nodes"]):
        opening, closing = STYLES[node["kind"]].mermaid
        label = "<br/>".join(map(escaped, lines(words(node))))
        drawn.append(f'  n{index}{opening}"{label}"{closing}:::{node["kind"]}')
    for (start, end), flows in zip(indexed(graph), backward(graph), strict=True):
        drawn.append(f"  n{start} {'-.->' if flows else '-->'} n{end}")
    for kind in sorted({node["kind"] for node in graph["nodes"]}):
        style = STYLES[kind]
        drawn.append(f"  classDef {kind} fill:{style.fill},stroke:{style.line},color:#0f172a")
    return "\n".join(drawn) + "\n"


def escaped(text: str) -> str:
    """Text for a quoted label: whatever could mean something to Mermaid or HTML, by its number."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", clean(text))
