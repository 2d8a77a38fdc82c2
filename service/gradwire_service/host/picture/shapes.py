"""What the kinds of nodes look like: told apart by form as well as by colour."""

from __future__ import annotations

from typing import NamedTuple

from gradwire_service.host.picture.data import Kind
from gradwire_service.host.picture.layout import Box, Point


class Style(NamedTuple):
    """Words for the legend, fill and line colours, DOT's attributes and Mermaid's brackets."""

    one: str
    many: str
    fill: str
    line: str
    dot: str
    mermaid: tuple[str, str]


STYLES: dict[Kind, Style] = {
    "leaf": Style(
        "leaf", "leaves", "#dbeafe", "#1d4ed8", 'shape=box, style="rounded,filled"', ("([", "])")
    ),
    "constant": Style(
        "constant", "constants", "#f1f5f9", "#64748b",
        'shape=parallelogram, style="dashed,filled"', ("[/", "/]"),
    ),
    "op": Style("op", "ops", "#ffffff", "#334155", "shape=box, style=filled", ("[", "]")),
    "region": Style(
        "region", "regions", "#fef9c3", "#a16207",
        'shape=box, style="bold,filled"', ("[", "]"),
    ),
    "gradient": Style(
        "gradient", "gradients", "#ffedd5", "#c2410c", "shape=hexagon, style=filled", ("{{", "}}")
    ),
    "output": Style(
        "output", "outputs", "#dcfce7", "#15803d",
        "shape=box, style=filled, peripheries=2", ("[[", "]]"),
    ),
}  # fmt: skip


def outline(kind: Kind, box: Box) -> str:
    """The shape of a node."""
    style = STYLES[kind]
    paint = f'fill="{style.fill}" stroke="{style.line}" stroke-width="1.6"'
    left, right = box.x - box.width / 2, box.x + box.width / 2
    top, bottom = box.y - box.height / 2, box.y + box.height / 2
    if kind == "constant":
        slant = min(8.0, box.height / 4)
        corners = [(left + slant, top), (right, top), (right - slant, bottom), (left, bottom)]
        return f'<polygon points="{_points(corners)}" {paint} stroke-dasharray="4 3"/>'
    if kind == "gradient":
        cut = min(12.0, box.height / 2)
        inner, outer = left + cut, right - cut
        upper, lower = [(inner, top), (outer, top)], [(outer, bottom), (inner, bottom)]
        corners = [*upper, (right, box.y), *lower, (left, box.y)]
        return f'<polygon points="{_points(corners)}" {paint}/>'
    radius = box.height / 2 if kind == "leaf" else 5
    within = _rectangle(box, 3, radius, f'fill="none" stroke="{style.line}"')
    return _rectangle(box, 0, radius, paint) + (within if kind == "output" else "")


def _rectangle(box: Box, inset: float, radius: float, paint: str) -> str:
    x, y = box.x - box.width / 2 + inset, box.y - box.height / 2 + inset
    width, height = box.width - 2 * inset, box.height - 2 * inset
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{max(radius - inset, 1):.1f}" {paint}/>'
    )


def _points(corners: list[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
