"""Per-op timing of requests that ask for it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.conftest import Client, Running

STEPS: list[dict[str, Any]] = [
    {"tensor": "x", "value": [1.0, 2.0, 3.0], "requires_grad": True},
    {"op": "pow", "args": ["x", 2], "out": "y"},
    {"op": "exp", "args": ["y"], "out": "e"},
    {"op": "exp", "args": ["x"], "out": "f"},
    {"op": "sum", "args": ["y"], "out": "z"},
    {"backward": {"tensors": ["z"]}},
]


def profiled(session: Client, path: str, **body: Any) -> dict[str, Any]:
    reply = session.post(path, {**body, "profile": True})
    assert reply.status_code == 200, reply.text
    return reply.json()["profile"]


def counts(found: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int]]:
    """How often, and bytes, by kind and name."""
    return {(r["kind"], r["name"]): (r["count"], r["bytes"]) for r in found["rows"]}


def test_ops_nodes_and_steps_have_rows_that_add_up(session: Client) -> None:
    found = profiled(session, "/steps", steps=STEPS)
    assert counts(found) == {
        ("step", "tensor"): (1, 12),
        ("op", "pow"): (1, 12),
        ("op", "exp"): (2, 24),
        ("op", "sum"): (1, 4),
        ("step", "backward"): (1, 0),
        ("node", "SumBackward0"): (1, 12),
        ("node", "PowBackward0"): (1, 12),
    }
    assert found["bytes"] == sum(row["bytes"] for row in found["rows"])
    seconds = [row["seconds"] for row in found["rows"]]
    assert seconds == sorted(seconds, reverse=True)
    assert 0 < sum(seconds) <= found["seconds"]
    assert all(one > 0 for one in seconds)


def test_nothing_is_said_where_nobody_asks(session: Client) -> None:
    body = {"steps": STEPS, "return": ["x.grad"]}
    asked = session.post("/steps", body | {"profile": True}).json()
    plain = session.post("/steps", body).json()
    assert plain.keys() == {"values"}
    assert asked["values"]["x.grad"]["data"] == [2.0, 4.0, 6.0]


def test_walks_and_source_that_are_requests_of_their_own(session: Client) -> None:
    session.steps(STEPS[0])
    found = profiled(session, "/ops", source="y = x ** 2\nz = y.sum()")
    assert counts(found).keys() == {("op", "pow"), ("op", "sum")}
    found = profiled(session, "/grad", outputs=["z"], inputs=["x"], retain_graph=True)
    nodes = {("node", "PowBackward0"), ("node", "SumBackward0")}
    assert counts(found).keys() == {("step", "grad"), *nodes}
    found = profiled(session, "/backward", tensors=["z"])
    assert counts(found).keys() == {("step", "backward"), *nodes}


def test_what_a_program_or_a_hook_runs_counts_as_itself(server: Running, session: Client) -> None:
    def stored(source: str, **rest: Any) -> str:
        program = {"inputs": ["a"], "source": source, "outputs": ["b"], **rest}
        return server.client.post("/v1/programs", json=program).json()["id"]

    called, hook = stored("b = a.sin().cos()"), stored("b = a.tanh()")
    found = profiled(
        session,
        "/steps",
        steps=[
            STEPS[0],
            {"hook": "x", "program": hook},
            {"call": called, "args": ["x"], "out": "y"},
            {"op": "sum", "args": ["y"], "out": "z"},
            {"backward": {"tensors": ["z"]}},
        ],
    )
    rows = counts(found)
    assert rows["op", "sin"] == rows["op", "cos"] == rows["op", "tanh"] == (1, 12)
    assert rows["step", "call"] == (1, 0)
    assert rows["node", "CosBackward0"][0] == rows["node", "SinBackward0"][0] == 1
    assert found["bytes"] == sum(row["bytes"] for row in found["rows"])


def test_a_large_op_takes_what_it_takes(session: Client) -> None:
    """The time is the op's own: a product of matrices beside a sum of three numbers."""
    session.steps({"op": "randn", "args": [[700, 700]], "out": "a"}, STEPS[0])
    steps = [
        {"op": "matmul", "args": ["a", "a"], "out": "b"},
        {"op": "sum", "args": ["x"], "out": "z"},
    ]
    ratios = []
    for _ in range(10):  # what else runs here may stop one of the two: once it doesn't
        rows = {row["name"]: row for row in profiled(session, "/steps", steps=steps)["rows"]}
        assert rows["matmul"]["bytes"] == 700 * 700 * 4
        ratios.append(rows["matmul"]["seconds"] / rows["sum"]["seconds"])
        if ratios[-1] > 10:
            break
    assert max(ratios) > 10


def test_a_request_that_fails_leaves_nothing_behind(session: Client) -> None:
    wrong = {"op": "matmul", "args": ["x", "nothing"], "out": "y"}
    assert session.refused(STEPS[0], wrong, profile=True)["code"] == "tensor_not_found"
    assert session.post("/steps", {"steps": STEPS}).json().keys() == {"values"}


@pytest.mark.parametrize("value", ["yes", 1, {}])
def test_it_is_true_or_false(session: Client, value: object) -> None:
    assert session.refused(*STEPS, profile=value)["code"] == "invalid_request"
