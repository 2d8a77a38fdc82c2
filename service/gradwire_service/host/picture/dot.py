"""A graph in DOT, the language of Graphviz."""

from __future__ import annotations

from gradwire_service.host.picture.data import (
    EdgeData,
    GraphData,
    NodeData,
    backward,
    clean,
    limit,
    lines,
    words,
)
from gradwire_service.host.picture.shapes import STYLES

MAX_NODES, MAX_EDGES = 20_000, 100_000


def to_dot(graph: GraphData) -> str:
    """Write a graph in DOT; above `MAX_NODES` or `MAX_EDGES` it is refused with limit_exceeded."""
    limit("nodes", len(graph["nodes"]), MAX_NODES)
    limit("edges", len(graph["edges"]), MAX_EDGES)
    return "\n".join(
        [
            "digraph gradwire {",
            '  node [fontname="Helvetica", fontsize=12, margin="0.15,0.06"];',
            '  edge [color="#64748b", arrowsize=0.7];',
            *(f"  {_node(node)};" for node in graph["nodes"]),
            *(
                f"  {_edge(edge, flows)};"
                for edge, flows in zip(graph["edges"], backward(graph), strict=True)
            ),
            "}\n",
        ]
    )


def _node(node: NodeData) -> str:
    style, said = STYLES[node["kind"]], words(node)
    return (
        f"{quoted(node['id'])} [label={quoted(*lines(said))}, tooltip={quoted(said.tooltip)}, "
        f'{style.dot}, fillcolor="{style.fill}", color="{style.line}"]'
    )


def _edge(edge: EdgeData, flows: bool) -> str:
    colour = ', style=dashed, color="#c2410c"' if flows else ""
    tooltip = quoted(edge["operand"])
    return f"{quoted(edge['from'])} -> {quoted(edge['to'])} [tooltip={tooltip}{colour}]"


def quoted(*texts: str) -> str:
    """A quoted string of DOT, one line for each text; nothing in it is an escape of DOT's."""
    escaped = "\n".join(map(clean, texts)).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\r", "").replace("\n", "\\n") + '"'
