"""Graph pictures: everything is on them, hostile labels stay text, sizes are bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradwire_engine.errors import GradwireError
from gradwire_service.host.picture import dot, mermaid, svg
from gradwire_service.host.picture.data import EdgeData, GraphData, Kind, NodeData
from gradwire_service.host.picture.dot import to_dot
from gradwire_service.host.picture.mermaid import to_mermaid
from gradwire_service.host.picture.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"
WRITERS = [to_svg, to_dot, to_mermaid]


def node(id: str, kind: Kind = "op", label: str = "mul", **more: Any) -> NodeData:
    data: dict[str, Any] = {"name": None, "grad_fn": None, "shape": [2, 3], "dtype": "float32",
                            "bytes": 24, "step": None, **more}  # fmt: skip
    return NodeData(id=id, kind=kind, label=label, **data)


def edge(start: str, end: str, operand: str = "input") -> EdgeData:
    return {"from": start, "to": end, "operand": operand}


def network() -> GraphData:
    """A linear layer with its loss and a gradient."""
    return {
        "nodes": [
            node("n0", "leaf", "tensor", name="layer.weight", shape=[10, 64]),
            node("n1", "constant", "tensor", name="x", shape=[32, 64], dtype="float64"),
            node("n2", "op", "matmul", grad_fn="MmBackward0", shape=[32, 10], step=1),
            node("n3", "output", "cross_entropy", name="loss", shape=[], step=2),
            node("n4", "gradient", "grad", name="layer.weight.grad", shape=[10, 64]),
        ],
        "edges": [edge("n0", "n2"), edge("n1", "n2", "mat2"), edge("n2", "n3"), edge("n3", "n4")],
    }


def texts(picture: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def titles(picture: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(picture).iter(f"{SVG}title")]


def test_svg_shows_ops_names_shapes_and_dtypes() -> None:
    picture = to_svg(network())
    assert {"layer.weight", "x", "matmul", "cross_entropy", "loss", "layer.weight.grad"} <= set(
        texts(picture)
    )
    assert {"[10, 64] float32", "[32, 64] float64", "[] float32"} <= set(texts(picture))
    assert "matmul\n[32, 10] float32\n24 bytes\nMmBackward0\nstep 1" in titles(picture)
    assert "x → matmul (mat2)" in titles(picture)


def test_svg_tells_kinds_apart_by_colour_form_and_legend() -> None:
    picture = to_svg(network())
    legend = ["leaf (1)", "constant (1)", "op (1)", "gradient (1)", "output (1)"]
    assert [text for text in texts(picture) if text.endswith("(1)")] == legend
    outlines = {
        re.sub(r"[\d.,]+", "", match[0])  # the form alone, without its place and size
        for match in re.finditer(
            r"<(rect|polygon) [^>]*>(<rect [^>]*fill=\"none\"[^>]*>)?", picture
        )
    }
    fills = set(re.findall(r'fill="(#[0-9a-f]{6})" stroke=', picture))
    assert len(fills) == 5
    assert len(outlines) >= 5
    assert "op (" not in "".join(texts(to_svg({"nodes": [node("a", "leaf")], "edges": []})))


def test_svg_needs_nothing_from_outside() -> None:
    picture = to_svg(network())
    assert not re.search(r"href|url\(|@import|<script|<image|<!DOCTYPE|<foreignObject", picture)
    assert re.findall(r"https?://[^\"]+", picture) == ["http://www.w3.org/2000/svg"]


HOSTILE = [
    '</text><script>alert(1)</script>', '"]; evil [label="x', "a\\", 'a\\"b', "a\nb\r\nc", "]]>",
    "&lt;", "\x00\x1b\x7f", "\ud800", "\ufffe", "%%{init: {}}%%", "```", "#quot;", "end", "<br/>",
    "é漢🙂", "A" * 10_000, "", "\\N \\G \\l",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(text)[:20] for text in HOSTILE])
def test_hostile_labels_stay_text(text: str) -> None:
    graph: GraphData = {
        "nodes": [node(text, "leaf", text, name=text), node("b", label=text, grad_fn=text)],
        "edges": [edge(text, "b", text)],
    }
    tree = ElementTree.fromstring(to_svg(graph))
    assert {one.tag.removeprefix(SVG) for one in tree.iter()} <= {
        "svg", "title", "desc", "style", "rect", "g", "text", "path"}  # fmt: skip
    check_dot(to_dot(graph))
    check_mermaid(to_mermaid(graph))
    for write in WRITERS:
        assert len(write(graph).encode()) < 150_000


DOT_STRING = r'"(?:[^"\\\n]|\\.)*"'
DOT_VALUE = rf"(?:{DOT_STRING}|[\w.]+)"
DOT_LINE = re.compile(
    rf"  ({DOT_STRING}( -> {DOT_STRING})?|node|edge) \[\w+={DOT_VALUE}(, \w+={DOT_VALUE})*\];"
)


def check_dot(text: str) -> None:
    """Every line is one statement, with its strings closed."""
    first, *lines, last, empty = text.split("\n")
    assert (first, last, empty) == ("digraph gradwire {", "}", "")
    for line in lines:
        assert DOT_LINE.fullmatch(line), line


MERMAID_LABEL = r'"(?:[\w ,.:…()\[\]-]|#\d+;|<br/>)*"'
MERMAID_LINE = re.compile(
    rf"  (n\d+(\(\[|\[/|\[\[|\[|\{{\{{){MERMAID_LABEL}(\]\)|/\]|\]\]|\]|\}}\}}):::\w+"
    rf"|n\d+ (-->|-\.->) n\d+|classDef \w+ [\w:#,]+)"
)


def check_mermaid(text: str) -> None:
    first, *lines, empty = text.split("\n")
    assert (first, empty) == ("flowchart TD", "")
    for line in lines:
        assert MERMAID_LINE.fullmatch(line), line


def test_dot_and_mermaid_have_every_node_and_edge() -> None:
    graph = network()
    check_dot(to_dot(graph))
    check_mermaid(to_mermaid(graph))
    assert '"n0" [label="layer.weight\\n[10, 64] float32"' in to_dot(graph)
    assert to_dot(graph).count("->") == to_mermaid(graph).count("->") == 4
    assert 'n3[["cross_entropy<br/>loss<br/>[] float32"]]:::output' in to_mermaid(graph)
    assert "n3 -.-> n4" in to_mermaid(graph)


def chain(length: int) -> GraphData:
    nodes = [node(f"n{k}") for k in range(length)]
    return {"nodes": nodes, "edges": [edge(a["id"], b["id"]) for a, b in pairwise(nodes)]}


@pytest.mark.parametrize(
    ("write", "most"),
    [(to_svg, svg.MAX_NODES), (to_dot, dot.MAX_NODES), (to_mermaid, mermaid.MAX_EDGES)],
)
def test_pictures_are_bounded(write: Callable[[GraphData], str], most: int) -> None:
    assert write(chain(most))
    with pytest.raises(GradwireError, match=f"{most + 1} nodes") as caught:
        write(chain(most + 1))
    assert caught.value.code == "limit_exceeded"
    assert "?tensor=z" in (caught.value.hint or "")


@pytest.mark.parametrize(("write", "most"), [(to_svg, svg.MAX_EDGES), (to_dot, dot.MAX_EDGES)])
def test_edges_are_bounded(write: Callable[[GraphData], str], most: int) -> None:
    graph: GraphData = {"nodes": [node("a"), node("b")], "edges": [edge("a", "b")] * (most + 1)}
    with pytest.raises(GradwireError, match=f"{most + 1} edges"):
        write(graph)


def test_a_graph_of_too_many_long_edges_is_refused() -> None:
    graph = chain(400)
    graph["edges"] += [edge(f"n{k}", "n399") for k in range(390)]
    graph["edges"] += [edge(f"n{k}", f"n{400 - k}") for k in range(1, 200)]
    graph["edges"] += [edge(f"n{k}", f"n{k + 150}") for k in range(200)]
    with pytest.raises(GradwireError, match="places where long edges pass"):
        to_svg(graph)


def test_an_empty_graph_and_a_loop_are_drawn() -> None:
    assert texts(to_svg({"nodes": [], "edges": []})) == []
    loop = chain(3)
    loop["edges"] += [edge("n2", "n0"), edge("n1", "n1")]
    assert len(titles(to_svg(loop))) == 1 + 3 + 4


@given(st.data())
@settings(max_examples=25)
def test_the_same_graph_gives_the_same_picture(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    assert [write(graph) for write in WRITERS] == [write(graph) for write in WRITERS]


@st.composite
def graphs(draw: st.DrawFn) -> GraphData:
    """Graphs of up to 40 nodes whose edges go from earlier nodes to later ones."""
    count = draw(st.integers(1, 40))
    labels = st.sampled_from(["mul", "nn.functional.cross_entropy", "t"])
    nodes = [node(f"n{k}", label=draw(labels)) for k in range(count)]
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = draw(st.lists(pair, max_size=60))
    return {"nodes": nodes, "edges": [edge(f"n{min(p)}", f"n{max(p)}") for p in pairs]}
