"""A graph as plain data, the words that a picture shows of a node, and the limits of pictures."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypedDict

from gradwire_engine.errors import error

Kind = Literal["leaf", "constant", "op", "region", "gradient", "output"]
KINDS: tuple[Kind, ...] = ("leaf", "constant", "op", "region", "gradient", "output")

MAX_LABEL, MAX_LINE = 28, 200
# What XML can't carry, not even escaped.
_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class NodeData(TypedDict):
    """A tensor or the op that made it."""

    id: str
    kind: Kind
    label: str
    name: str | None
    grad_fn: str | None
    shape: list[int]
    dtype: str
    bytes: int
    step: int | None


EdgeData = TypedDict("EdgeData", {"from": str, "to": str, "operand": str})


class GraphData(TypedDict):
    """Nodes, and edges from operands to what is made of them."""

    nodes: list[NodeData]
    edges: list[EdgeData]


class Words(NamedTuple):
    """What stands in a node: the op or a leaf's name large, then name, shape and dtype."""

    large: str
    name: str
    small: str
    tooltip: str


def words(node: NodeData) -> Words:
    """The words of a node, shortened where they are long; the tooltip has all of them."""
    computed = node["kind"] in ("op", "region", "output")
    title = node["label"] if computed or not node["name"] else node["name"]
    name = node["name"] if node["name"] and node["name"] != title else ""
    small = f"{node['shape']} {node['dtype']}"
    lines = [node["label"], name or title, small, f"{node['bytes']:,} bytes"]
    if node["grad_fn"]:
        lines.append(node["grad_fn"])
    if node["step"] is not None:
        lines.append(f"step {node['step']}")
    tooltip = clean("\n".join(line[:MAX_LINE] for line in dict.fromkeys(lines)))
    return Words(_short(clean(title)), _short(clean(name)), _short(clean(small)), tooltip)


def clean(text: str) -> str:
    """The text without characters that no picture format can carry."""
    return _CONTROL.sub("\ufffd", text)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"


def limit(what: str, count: int, most: int) -> None:
    """Refuse a picture of more than anyone could read."""
    if count > most:
        raise error(
            "limit_exceeded",
            f"the graph has {count} {what}, and this picture shows at most {most}",
            "ask for less (of a session's graph what leads to one tensor: ?tensor=z), or for "
            "format=json",
        )


def lines(said: Words) -> list[str]:
    """The lines that stand in a node, from top to bottom."""
    return [line for line in (said.large, said.name, said.small) if line]


def backward(graph: GraphData) -> list[bool]:
    """For each edge whether it comes from or leads to a gradient."""
    gradients = {node["id"] for node in graph["nodes"] if node["kind"] == "gradient"}
    return [edge["from"] in gradients or edge["to"] in gradients for edge in graph["edges"]]


def indexed(graph: GraphData) -> list[tuple[int, int]]:
    """The edges as pairs of indices into the nodes."""
    place = {node["id"]: index for index, node in enumerate(graph["nodes"])}
    return [(place[edge["from"]], place[edge["to"]]) for edge in graph["edges"]]
