"""The layout under the SVG: layers go down and stay narrow, boxes lie apart, lines miss boxes."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradwire_service.host.picture.layers import layers
from gradwire_service.host.picture.layout import WIDEST, Box, Layout, Point, laid_out
from gradwire_service.host.picture.order import crossings, ordered
from gradwire_service.host.picture.place import ascending

Edges = list[tuple[int, int]]


@st.composite
def drawings(draw: st.DrawFn) -> tuple[list[Point], Edges]:
    """Sizes of nodes, and edges from earlier nodes to later ones."""
    count = draw(st.integers(2, 50))
    size = st.tuples(st.sampled_from([60.0, 140.0, 220.0]), st.sampled_from([47.0, 62.0]))
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = draw(st.lists(pair.filter(lambda p: p[0] != p[1]), max_size=80))
    return [draw(size) for _ in range(count)], [(min(p), max(p)) for p in pairs]


@given(drawings())
def test_edges_go_down_and_layers_stay_narrow(drawing: tuple[list[Point], Edges]) -> None:
    sizes, edges = drawing
    layer = layers(len(sizes), edges, WIDEST)
    assert all(layer[a] < layer[b] for a, b in edges)
    assert max(layer.count(level) for level in layer) <= WIDEST
    assert sorted(set(layer)) == list(range(max(layer) + 1))


@given(drawings())
@settings(max_examples=60)
def test_boxes_lie_apart_and_inside_and_lines_miss_them(
    drawing: tuple[list[Point], Edges],
) -> None:
    sizes, edges = drawing
    layout = laid_out(sizes, edges, [k % 2 for k in range(len(edges))])
    for a, b in combinations(layout.boxes, 2):
        assert (
            abs(a.x - b.x) > (a.width + b.width) / 2 or abs(a.y - b.y) > (a.height + b.height) / 2
        )
    for box in layout.boxes:
        assert box.width / 2 - 1e-6 <= box.x <= layout.width - box.width / 2 + 1e-6
        assert box.height / 2 - 1e-6 <= box.y <= layout.height - box.height / 2 + 1e-6
    for (start, end), route in zip(edges, layout.routes, strict=True):
        check_route(layout, start, end, route)


def check_route(layout: Layout, start: int, end: int, route: list[Point]) -> None:
    """It leaves the lower side of one box, meets the upper side of the other, and no third box."""
    first, last = layout.boxes[start], layout.boxes[end]
    assert route[0][1] == pytest.approx(first.y + first.height / 2)
    assert route[-1][1] == pytest.approx(last.y - last.height / 2)
    assert abs(route[0][0] - first.x) < first.width / 2
    assert abs(route[-1][0] - last.x) < last.width / 2
    for index, (a, b) in enumerate(pairwise(route)):
        assert b[1] >= a[1] - 1e-6
        for point in straight(a, b) if index % 2 == 0 else curve(a, b):
            for other in set(range(len(layout.boxes))) - {start, end}:
                assert not inside(layout.boxes[other], point)


def straight(a: Point, b: Point) -> list[Point]:
    assert a[0] == b[0]
    return [(a[0], a[1] + (b[1] - a[1]) * k / 8) for k in range(9)]


def curve(a: Point, b: Point) -> list[Point]:
    """Points of the curve that leaves a and arrives at b vertically, as the picture draws it."""
    middle = (a[1] + b[1]) / 2
    points = []
    for k in range(17):
        t = k / 16
        early, late = (1 - t) ** 2 * (1 + 2 * t), t**2 * (3 - 2 * t)
        y = (1 - t) ** 3 * a[1] + 3 * (1 - t) * t * middle + t**3 * b[1]
        points.append((a[0] * early + b[0] * late, y))
    return points


def inside(box: Box, point: Point) -> bool:
    x, y = point
    return abs(x - box.x) < box.width / 2 - 0.01 and abs(y - box.y) < box.height / 2 - 0.01


def rows_of(*rows: str) -> list[list[int]]:
    return [[ord(letter) for letter in row] for row in rows]


def test_crossings_are_counted() -> None:
    rows = rows_of("ab", "cd")
    below = [[] for _ in range(128)]  # type: list[list[int]]
    below[ord("a")], below[ord("b")] = [ord("d")], [ord("c"), ord("d")]
    assert crossings(rows, below) == 1


@given(drawings())
@settings(max_examples=40)
def test_crossings_agree_with_their_definition(drawing: tuple[list[Point], Edges]) -> None:
    _, edges = drawing
    top, bottom = list(range(50)), list(range(50, 100))
    pairs = list({(a, b + 50) for a, b in edges})
    below = [[b for a, b in pairs if a == vertex] for vertex in range(100)]
    defined = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(pairs, 2))
    assert crossings([top, bottom], below) == defined


def test_a_tangled_tree_is_untangled() -> None:
    """Each node of a binary tree of 63 lies under its parent, whatever order it came in."""
    children = {k: [2 * k, 2 * k + 1] for k in range(1, 32)}
    below = [children.get(k, []) for k in range(64)]
    above = [[k // 2] if k > 1 else [] for k in range(64)]
    rows = [sorted(range(2**d, 2 ** (d + 1)), key=lambda k: k * 37 % 64) for d in range(6)]
    assert crossings(rows, below) > 0
    assert crossings(ordered(rows, above, below), below) == 0


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=12))
def test_pooling_gives_the_nearest_ascending_numbers(values: list[float]) -> None:
    weights = [1.0 + k % 3 for k in range(len(values))]
    found = ascending(values, weights)
    assert all(a <= b + 1e-9 for a, b in pairwise(found))

    def cost(numbers: list[float]) -> float:
        return sum(w * (a - b) ** 2 for w, a, b in zip(weights, values, numbers, strict=True))

    for k in range(len(values)):
        for shift in (-0.5, 0.5):
            other = sorted([*found[:k], found[k] + shift, *found[k + 1 :]])
            assert cost(found) <= cost(other) + 1e-6


def test_a_chain_is_a_straight_column_beside_a_straight_long_edge() -> None:
    count = 30
    edges = [(k, k + 1) for k in range(count - 1)] + [(0, count - 1)]
    layout = laid_out([(120.0, 47.0)] * count, edges, [0] * len(edges))
    assert len({round(box.x, 3) for box in layout.boxes[1:-1]}) == 1
    assert len({round(x, 3) for x, _ in layout.routes[-1][2:-2]}) == 1


def test_many_operands_of_one_op_come_in_rows_with_one_line_down() -> None:
    count = 100
    edges = [(k, count) for k in range(count)]
    layout = laid_out([(120.0, 47.0)] * (count + 1), edges, [0] * count)
    assert layout.width < (WIDEST + 3) * 150
    arrivals = {route[-1][0] for route in layout.routes}
    assert len(arrivals) <= WIDEST + 1
