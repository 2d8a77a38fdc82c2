"""plan: what a program will take, from shapes alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.conftest import Running
from tests.service.test_http_programs import source, stored


def plan(server: Running, key: str, **inputs: Any) -> dict[str, Any]:
    specs = {n: s if isinstance(s, dict) else {"shape": s} for n, s in inputs.items()}
    reply = server.client.post(f"/v1/programs/{key}/plan", json={"inputs": specs})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_linear_layer(server: Running) -> None:
    key = source(server, "h = x @ w\ny = tanh(h)\nz = y.sum()", "x w")
    found = plan(server, key, x=[32, 784], w=[784, 10])
    assert found["outputs"] == {"z": {"dtype": "float32", "shape": []}}
    assert [region["ops"] for region in found["regions"]] == [["matmul"], ["tanh"], ["sum"]]
    assert [region["flops"] for region in found["regions"]] == [2 * 32 * 784 * 10, 320, 320]
    assert found["flops"] == 2 * 32 * 784 * 10 + 640
    inputs = 4 * (32 * 784 + 784 * 10)
    assert found["bytes_moved"] == inputs + 4 * (320 + 320 + 320 + 320 + 1)
    assert found["peak_bytes"] == inputs + 4 * 640


def test_dtypes_are_promoted(server: Running) -> None:
    key = source(server, "y = x / i\nm = i > 0", "x i", "y m")
    found = plan(
        server, key, x={"dtype": "float64", "shape": [2, 1]}, i={"dtype": "int64", "shape": [3]}
    )
    assert found["outputs"] == {
        "y": {"dtype": "float64", "shape": [2, 3]}, "m": {"dtype": "bool", "shape": [3]},
    }  # fmt: skip


def test_views_take_nothing_and_hold_what_they_show(server: Running) -> None:
    key = source(server, "a = x + 1\nt = a.T[0]\nb = x * 2\nc = b * 2\ny = t + 1", outputs="y c")
    found = plan(server, key, x=[100, 100])
    views = [r for r in found["regions"] if r["ops"][0] in ("t", "transpose", "permute", "select")]
    assert len(views) == 2
    assert all(v["flops"] == v["bytes_moved"] == 0 for v in views)
    assert found["peak_bytes"] == 4 * (4 * 10_000)  # x, a behind its view, b and c


def test_convolutions(server: Running) -> None:
    key = source(server, "y = nn.functional.conv2d(x, w)", "x w", "y")
    found = plan(server, key, x=[2, 3, 8, 8], w=[5, 3, 3, 3])
    assert found["outputs"]["y"]["shape"] == [2, 5, 6, 6]
    assert found["flops"] == 2 * (2 * 5 * 6 * 6) * (3 * 3 * 3)


def test_random_ops_grad_steps_and_calls(server: Running) -> None:
    inner = source(server, "z = (x * rand(4)).sum()")
    ops = [
        {"call": inner, "args": ["x"], "out": "l"},
        {"grad": {"outputs": ["l"], "inputs": ["x"]}, "out": ["g"]},
    ]
    key = stored(server, inputs=["x"], ops=ops, outputs=["l", "g"])
    found = plan(server, key, x=[4])
    assert found["outputs"]["g"] == {"dtype": "float32", "shape": [4]}
    assert found["flops"] >= 8


def test_nothing_runs_and_nothing_is_allocated(server: Running) -> None:
    held = server.service.host.ledger.held
    key = source(server, "y = (x @ x).sum()", outputs="y")
    found = plan(server, key, x=[20_000, 20_000])
    assert found["flops"] == 2 * 20_000**3 + 20_000**2
    assert found["peak_bytes"] >= 2 * 4 * 20_000**2
    server.client.delete(f"/v1/programs/{key}")
    assert server.service.host.ledger.held == held


@pytest.mark.parametrize(
    ("text", "inputs", "code"),
    [
        ("y = x.nonzero()", {"x": {"shape": [3]}}, "data_dependent_shape"),
        ("y = x @ x", {"x": {"shape": [2, 3]}}, "shape_mismatch"),
        ("y = x + 1", {}, "invalid_request"),
        ("y = x + 1", {"x": {"shape": [3]}, "w": {"shape": [3]}}, "invalid_request"),
        ("y = x + 1", {"x": {"shape": [-3]}}, "invalid_request"),
        ("y = x + 1", {"x": {"shape": [3], "dtype": "float"}}, "invalid_request"),
        ("y = x + 1", {"x": [1, 2]}, "invalid_request"),
        ("y = x + 1", {"x": {"shape": [1] * 100}}, "invalid_request"),
        ("y = x + 1", {"x": {"shape": [10**30]}}, "invalid_request"),
        ("y = x + 1", {"x": {"shape": [2**40, 2**40]}}, "memory_limit"),
        ("y = x.sum()", {"x": {"shape": [2**62]}}, "memory_limit"),
        ("y = x.expand(1000000, 1000000) + 1", {"x": {"shape": [1]}}, "memory_limit"),
    ],
)
def test_refused(server: Running, text: str, inputs: dict[str, Any], code: str) -> None:
    key = source(server, text, outputs="y")
    held = server.service.host.ledger.held
    reply = server.client.post(f"/v1/programs/{key}/plan", json={"inputs": inputs})
    assert reply.json().get("code") == code, reply.text
    assert server.service.host.ledger.held == held
