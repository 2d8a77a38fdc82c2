"""A graph as a self-contained SVG picture."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from xml.sax.saxutils import escape

from gradwire_service.host.picture.data import (
    KINDS,
    GraphData,
    Kind,
    NodeData,
    Words,
    backward,
    clean,
    indexed,
    limit,
    words,
)
from gradwire_service.host.picture.layout import Box, Point, laid_out
from gradwire_service.host.picture.shapes import STYLES, outline

MAX_NODES, MAX_EDGES = 600, 3_000
_MARGIN, _LEGEND = 28.0, 64.0
_LARGE, _SMALL, _LINE = 8.4, 6.7, 15.0
_PADDING = 16.0
_ARROW = 9.0

_CSS = """
.gradwire text{text-anchor:middle;font-family:Inter,"Segoe UI",Arial,sans-serif;fill:#0f172a}
.gradwire .l{font-size:14px;font-weight:600}
.gradwire .n{font-size:11.5px;font-style:italic;fill:#475569}
.gradwire .s{font-size:11px;font-family:ui-monospace,Menlo,Consolas,monospace;fill:#475569}
.gradwire .e{fill:none;stroke:#64748b;stroke-width:1.4}
.gradwire .e:hover{stroke:#0f172a;stroke-width:2.4}
.gradwire .g{stroke:#c2410c;stroke-dasharray:5 3}
""".strip()


def to_svg(graph: GraphData) -> str:
    """Draw a graph; above `MAX_NODES` or `MAX_EDGES` it is refused with limit_exceeded."""
    nodes, edges = graph["nodes"], graph["edges"]
    limit("nodes", len(nodes), MAX_NODES)
    limit("edges", len(edges), MAX_EDGES)
    said = [words(node) for node in nodes]
    flows = backward(graph)
    layout = laid_out([_size(one) for one in said], indexed(graph), [*map(int, flows)])
    legend, legend_width = _legend(Counter(node["kind"] for node in nodes))
    width = max(layout.width, legend_width) + 2 * _MARGIN
    height = layout.height + 2 * _MARGIN + _LEGEND
    left = (width - layout.width) / 2
    large = {node["id"]: one.large for node, one in zip(nodes, said, strict=True)}
    names = [f"{large[edge['from']]} → {large[edge['to']]} ({edge['operand']})" for edge in edges]
    drawn = [_edge(*one) for one in zip(names, layout.routes, flows, strict=True)]
    drawn += [_node(*one) for one in zip(nodes, said, layout.boxes, strict=True)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="gradwire" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>Computation graph</title><desc>{len(nodes)} nodes, {len(edges)} edges</desc>"
        f'<style>{_CSS}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<g transform="translate({_MARGIN:g},{_MARGIN:g})">{legend}</g>'
        f'<g transform="translate({left:.1f},{_MARGIN + _LEGEND:g})">{"".join(drawn)}</g></svg>\n'
    )


def _size(said: Words) -> Point:
    """Width and height of a node, from its words."""
    widths = (len(said.large) * _LARGE, len(said.name) * _SMALL, len(said.small) * _SMALL)
    return max(*widths, 44.0) + 2 * _PADDING, 32.0 + _LINE * (1 + bool(said.name))


def _node(node: NodeData, said: Words, box: Box) -> str:
    lines = [("l", said.large), ("n", said.name), ("s", said.small)]
    lines = [line for line in lines if line[1]]
    first = box.y - (len(lines) - 1) * _LINE / 2 + 4.5
    texts = "".join(
        f'<text class="{style}" x="{box.x:.1f}" y="{first + at * _LINE:.1f}">{_text(text)}</text>'
        for at, (style, text) in enumerate(lines)
    )
    return f"<g><title>{_text(said.tooltip)}</title>{outline(node['kind'], box)}{texts}</g>"


def _edge(name: str, route: list[Point], flows: bool) -> str:
    style, colour = ("e g", "#c2410c") if flows else ("e", "#64748b")
    (x, y), above = route[-1], route[-2][1]
    downward = above < y + 1  # they may be one point, and rounding put one a hair lower
    back = y - _ARROW if downward else y + _ARROW
    last = min(above, back) if downward else max(above, back)
    points = [*route[:-2], (x, last), (x, back)]
    tip = f"M{x - 4:.1f} {back:.1f}L{x:.1f} {y:.1f}L{x + 4:.1f} {back:.1f}Z"
    return (
        f'<g><title>{_text(name)}</title><path class="{style}" d="{_curve(points)}"/>'
        f'<path fill="{colour}" d="{tip}"/></g>'
    )


def _text(text: str) -> str:
    return escape(clean(text))


def _curve(points: list[Point]) -> str:
    """Straight lines through the rows, and between them curves that leave and arrive vertically."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for index, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        middle = (y0 + y1) / 2
        bend = f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} "
        path.append(f"{bend if index % 2 else 'L'}{x1:.1f} {y1:.1f}")
    return "".join(path)


def _legend(counts: Counter[Kind]) -> tuple[str, float]:
    """One sample of each kind that occurs, with how many there are; and its width."""
    drawn, x = [], 0.0
    for kind in KINDS:
        if counts[kind]:
            many = counts[kind]
            text = f"{STYLES[kind].one if many == 1 else STYLES[kind].many} ({many})"
            drawn.append(outline(kind, Box(x + 19, 12, 36, 22)))
            drawn.append(
                f'<text class="s" style="text-anchor:start" x="{x + 45:.1f}" y="16">{text}</text>'
            )
            x += 45 + len(text) * _SMALL + 26
    return "".join(drawn), x
