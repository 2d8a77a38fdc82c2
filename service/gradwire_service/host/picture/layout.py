"""From sizes and edges to boxes and routes: a layered drawing, top to bottom."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from gradwire_service.host.picture.data import limit
from gradwire_service.host.picture.layers import Edge, layers, neighbours
from gradwire_service.host.picture.order import Rows, ordered
from gradwire_service.host.picture.place import placed

WIDEST = 14
MANY = 8
MAX_BENDS = 20_000
_GAP, _BEND, _PORT = 26.0, 14.0, 12.0
_ROW_GAP, _STEEP, _ROW_GAP_MOST = 38.0, 0.07, 110.0

Point = tuple[float, float]


class Box(NamedTuple):
    """A node's rectangle: its centre and its size, in pixels."""

    x: float
    y: float
    width: float
    height: float


class Layout(NamedTuple):
    """Boxes of the nodes, routes of the edges, and the size of it all.

    A route is a row of points: from one to the next it goes straight through a row, then in a curve
    to the row after it, and so on in turn.
    """

    boxes: list[Box]
    routes: list[list[Point]]
    width: float
    height: float


class _Vertices(NamedTuple):
    """Nodes, then the bends that stand for long edges in the layers they pass through."""

    layer: list[int]
    steps: list[Edge]
    paths: list[list[int]]
    trunks: list[list[int]]


def laid_out(sizes: list[Point], edges: list[Edge], groups: list[int]) -> Layout:
    """Lay out nodes of the given widths and heights; edges of different groups stay apart."""
    count = len(sizes)
    vertices = _bent(layers(count, edges, WIDEST), edges, groups)
    total = len(vertices.layer)
    above, below = neighbours(total, vertices.steps)
    rows: Rows = [[] for _ in range(max(vertices.layer, default=-1) + 1)]
    for vertex, layer in enumerate(vertices.layer):
        rows[layer].append(vertex)
    rows = ordered(rows, above, below)
    width = [size[0] + _GAP for size in sizes] + [_BEND] * (total - count)
    x = placed(rows, above, below, width, vertices.trunks)
    bands = _bands(rows, sizes, x, below)
    boxes = [
        Box(x[node] - _GAP / 2, sum(bands[vertices.layer[node]]) / 2, *sizes[node])
        for node in range(count)
    ]
    routes = _routes(vertices, boxes, x, bands)
    right = max((x[v] + width[v] / 2 for v in range(total)), default=0.0)
    return Layout(boxes, routes, right - _GAP, bands[-1][1] if bands else 0.0)


def _bent(layer: list[int], edges: list[Edge], groups: list[int]) -> _Vertices:
    """Give long edges a bend in each layer between.

    Edges of a group that come from one node share their bends, and so do those into a node that has
    many: what goes the same way is one line.
    """
    layer = layer[:]
    shared: dict[tuple[int, int, int], int] = {}
    steps: list[Edge] = []
    paths: list[list[int]] = []
    operands = Counter(end for _, end in edges)
    for (start, end), group in zip(edges, groups, strict=True):
        trunk = start if operands[end] < MANY else -1 - end
        down = layer[start] <= layer[end]
        top, bottom = (start, end) if down else (end, start)
        path = [top]
        for level in range(layer[top] + 1, layer[bottom]):
            bend = shared.setdefault((trunk, group, level), len(layer))
            if bend == len(layer):
                layer.append(level)
                limit("places where long edges pass", len(shared), MAX_BENDS)
            path.append(bend)
        path.append(bottom)
        steps.extend(pairwise(path))
        paths.append(path if down else path[::-1])
    trunks: dict[tuple[int, int], list[int]] = {}
    for (trunk, group, _), bend in sorted(shared.items()):
        trunks.setdefault((trunk, group), []).append(bend)
    steps = [step for step in steps if step[0] != step[1]]
    return _Vertices(layer, steps, paths, list(trunks.values()))


def _bands(rows: Rows, sizes: list[Point], x: list[float], below: Rows) -> list[Point]:
    """Top and bottom of each row; rows lie further apart where edges go far to the side."""
    bands: list[Point] = []
    y = 0.0
    for row in rows:
        high = max((sizes[v][1] for v in row if v < len(sizes)), default=0.0)
        bands.append((y, y + high))
        far = max((abs(x[v] - x[one]) for v in row for one in below[v]), default=0.0)
        y += high + min(_ROW_GAP + _STEEP * far, _ROW_GAP_MOST)
    return bands


def _routes(
    vertices: _Vertices, boxes: list[Box], x: list[float], bands: list[Point]
) -> list[list[Point]]:
    leaving = _ports(boxes, x, [(path[0], path[1], path[1]) for path in vertices.paths])
    # A bend that many share meets the node in one place, an operand's own line in its own.
    arriving = [
        (p[-1], p[-2], p[-2] if len(p) > 2 else -1 - at) for at, p in enumerate(vertices.paths)
    ]
    coming = _ports(boxes, x, arriving)
    routes = []
    for index, path in enumerate(vertices.paths):
        start, end = boxes[path[0]], boxes[path[-1]]
        down = 1 if vertices.layer[path[0]] <= vertices.layer[path[-1]] else -1
        at = [leaving[path[0], path[1]], *(x[bend] - _GAP / 2 for bend in path[1:-1])]
        at.append(coming[path[-1], arriving[index][2]])
        rows = [bands[vertices.layer[vertex]][::down] for vertex in path]
        points = [(spot, y) for spot, row in zip(at, rows, strict=True) for y in row]
        points[0] = (at[0], start.y + down * start.height / 2)
        points[-1] = (at[-1], end.y - down * end.height / 2)
        routes.append(points)
    return routes


def _ports(
    boxes: list[Box], x: list[float], ends: list[tuple[int, int, int]]
) -> dict[tuple[int, int], float]:
    """For each (node, neighbour, key) the x on the node's side where key's line meets it."""
    at: dict[int, dict[int, float]] = {}
    for node, neighbour, key in ends:
        at.setdefault(node, {})[key] = x[neighbour]
    ports = {}
    for node, keys in at.items():
        box = boxes[node]
        room = min(_PORT, (box.width - 2 * _PORT) / len(keys))
        for index, key in enumerate(sorted(keys, key=keys.__getitem__)):
            ports[node, key] = box.x + (index - (len(keys) - 1) / 2) * room
    return ports
