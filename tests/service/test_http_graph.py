"""The graph of a session, as data and as pictures."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tests.service.conftest import Client, Running


@pytest.fixture
def drawn(session: Client) -> Client:
    session.steps(
        {"tensor": "x", "value": [1.0, 2.0, 3.0], "requires_grad": True},
        {"tensor": "c", "value": [4.0, 5.0, 6.0]},
        {"op": "mul", "args": ["x", "c"], "out": "y"},
        {"op": "sum", "args": ["y"], "kwargs": {"dim": 0, "keepdim": True}, "out": "z"},
        {"op": "split", "args": ["y", 1], "out": "p"},
        {"op": "cat", "args": [["p.0", "p.2"]], "out": "q"},
        {"backward": {"tensors": ["z"], "retain_graph": True}},
    )
    return session


def by_name(graph: dict) -> dict[str, dict]:  # type: ignore[type-arg]
    return {node["name"]: node for node in graph["nodes"]}


def test_nodes(drawn: Client) -> None:
    graph = drawn.get("/graph").json()
    nodes = by_name(graph)
    assert {name: node["kind"] for name, node in nodes.items()} == {
        "x": "leaf", "c": "constant", "y": "op", "z": "output", "p.0, p.1, p.2": "op",
        "q": "output", "x.grad": "gradient",
    }  # fmt: skip
    assert nodes["y"] | {"id": ""} == {
        "id": "", "kind": "op", "label": "mul", "name": "y", "grad_fn": "MulBackward0",
        "shape": [3], "dtype": "float32", "bytes": 12, "step": 2, "attributes": {},
        "outputs": [{"dtype": "float32", "shape": [3]}], "saved_bytes": 12, "freed": False,
    }  # fmt: skip
    assert nodes["z"]["attributes"]["keepdim"] is True
    assert len(nodes["p.0, p.1, p.2"]["outputs"]) == 3


def test_edges(drawn: Client) -> None:
    graph = drawn.get("/graph").json()
    names = {node["id"]: node["name"] for node in graph["nodes"]}
    edges = {(names[e["from"]], names[e["to"]], e["operand"]) for e in graph["edges"]}
    split = "p.0, p.1, p.2"
    assert edges == {
        ("x", "y", "input"), ("c", "y", "other"), ("y", "z", "input"), ("y", split, "input"),
        (split, "q", "tensors[0]"), (split, "q", "tensors[1]"), ("x", "x.grad", "grad"),
    }  # fmt: skip


def test_only_what_leads_to_a_tensor(drawn: Client) -> None:
    graph = drawn.get("/graph?tensor=z").json()
    assert {node["label"] for node in graph["nodes"]} == {
        "x", "c", "mul", "sum", "x.grad",
    }  # fmt: skip


def test_what_was_freed_says_so(drawn: Client) -> None:
    drawn.steps({"backward": {"tensors": ["z"]}})
    nodes = by_name(drawn.get("/graph").json())
    assert nodes["y"]["freed"]
    assert nodes["y"]["saved_bytes"] == 0


def test_an_empty_session(session: Client) -> None:
    assert session.get("/graph").json() == {"nodes": [], "edges": []}
    for form in ("dot", "mermaid", "svg"):
        assert session.get(f"/graph?format={form}").status_code == 200


def test_pictures(drawn: Client) -> None:
    reply = drawn.get("/graph?format=svg")
    assert reply.headers["content-type"] == "image/svg+xml"
    root = ElementTree.fromstring(reply.text)
    text = " ".join(root.itertext())
    for word in ("mul", "sum", "x.grad", "[3] float32"):
        assert word in text
    reply = drawn.get("/graph?format=dot")
    assert reply.headers["content-type"].startswith("text/vnd.graphviz")
    assert reply.text.startswith("digraph")
    reply = drawn.get("/graph?format=mermaid")
    assert reply.headers["content-type"].startswith("text/vnd.mermaid")
    assert "flowchart" in reply.text


def test_a_deep_graph(server: Running) -> None:
    session = server.session()
    session.steps({"tensor": "x", "value": 1.0, "requires_grad": True})
    step = {"op": "mul", "args": ["x", 1.0], "out": "x"}
    for _ in range(3):
        session.steps(*[step] * 4000)
    graph = session.get("/graph").json()
    assert len(graph["nodes"]) == 12_001
    assert session.get("/graph?format=svg").json()["code"] == "limit_exceeded"
    assert session.get().json()["nodes"] == 12_000
