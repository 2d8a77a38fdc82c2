"""plan: what a program will take, from shapes alone."""

from __future__ import annotations

import tracemalloc
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.service.conftest import Running
from tests.service.test_http_programs import source, stored


def plan(server: Running, key: str, transform: str | None = None, **inputs: Any) -> dict[str, Any]:
    reply = server.client.post(f"/v1/programs/{key}/plan", json=body(transform, inputs))
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def body(transform: str | None, inputs: dict[str, Any]) -> dict[str, Any]:
    specs = {n: s if isinstance(s, dict) else {"shape": s} for n, s in inputs.items()}
    return {"inputs": specs} | ({} if transform is None else {"transform": transform})


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
    assert found["peak_bytes"] == 4 * (4 * 10_000 + 100)  # x, a behind its view, b's scratch, c, y


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
        ("y = x + 1", {"x": {"shape": [3, None]}}, "invalid_request"),
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


LAYER = "h = tanh(x @ w + b)\nz = (h * h).mean()"
SHAPES = {"x": [128, 784], "w": [784, 256], "b": [256]}


def test_what_runs_together_is_one_region(server: Running) -> None:
    found = plan(server, source(server, LAYER, "x w b"), **SHAPES)
    product, region, *rest = found["regions"]
    assert (product["ops"], product["how"], product["reads"]) == (["matmul"], "call", ["x", "w"])
    assert region["ops"] == ["add", "tanh", "mul", "mean"]
    assert region["shape"] == [128, 256]
    assert region["reads"] == ["b", [0, 0]]
    assert [r["ops"] for r in rest] == [["mean"]]  # what is added up is divided
    assert [r["gives"] for r in found["regions"]] == [{}, {}, {"z": 0}]
    assert found["flops"] == sum(r["flops"] for r in found["regions"])
    assert found["bytes_moved"] == sum(r["bytes_moved"] for r in found["regions"])


def test_a_plan_with_its_way_back(server: Running) -> None:
    key = source(server, LAYER, "x w b")
    forward, both = plan(server, key, **SHAPES), plan(server, key, "value_and_grad", **SHAPES)
    assert both["outputs"] == forward["outputs"]
    assert both["grads"] == {n: {"dtype": "float32", "shape": s} for n, s in SHAPES.items()}
    assert both["flops"] > 3 * 2 * 128 * 784 * 256 > 2 * forward["flops"]
    given = [name for region in both["regions"] for name in region["gives"]]
    assert sorted(given) == ["grads.b", "grads.w", "grads.x", "z"]
    for region in both["regions"]:
        for name, place in region["gives"].items():
            wanted = both["outputs"][name] if name == "z" else both["grads"][name[6:]]
            assert region["outputs"][place] == wanted
    held = 4 * (128 * 784 + 784 * 256 + 256)
    assert 2 * held + 4 * 128 * 256 <= both["peak_bytes"] <= 2 * held + 4 * 5 * 128 * 256


def test_a_plan_of_second_derivatives(server: Running) -> None:
    key = source(server, "z = (x ** 3).sum()", "x")
    assert plan(server, key, "hessian", x=[5])["hessian"] == {
        "x": {"x": {"dtype": "float32", "shape": [5, 5]}}
    }
    assert plan(server, key, "jacobian", x=[5])["jacobian"] == {
        "z": {"x": {"dtype": "float32", "shape": [5]}}
    }


def test_the_forecast_is_what_a_run_holds(server: Running) -> None:
    """A plan's own figure, which benchmarks hold against what is allocated."""
    key = source(server, LAYER, "x w b")
    found = plan(server, key, "value_and_grad", **SHAPES)
    values = {n: {"dtype": "float32", "data": np.zeros(s).tolist()} for n, s in SHAPES.items()}
    for _ in range(3):
        reply = server.client.post(f"/v1/programs/{key}/value_and_grad", json={"inputs": values})
        assert reply.status_code == 200
    made = [p.plan for p in server.service.host.once.plans.all()]
    inputs = 4 * sum(int(np.prod(s)) for s in SHAPES.values())
    assert found["peak_bytes"] in [p.nbytes + p.kept + inputs for p in made]
    server.client.delete(f"/v1/programs/{key}")


@pytest.mark.parametrize(
    ("text", "dtype"), [("y = (x * rand(300)).exp()", "float32"), ("y = (x * 2).exp()", "float16")]
)
def test_what_never_has_a_plan_is_shown_op_by_op(server: Running, text: str, dtype: str) -> None:
    key = source(server, text, outputs="y")
    found = plan(server, key, x={"dtype": dtype, "shape": [300, 300]})
    assert all(len(region["ops"]) == 1 and region["shape"] is None for region in found["regions"])
    assert [r["ops"][0] for r in found["regions"]][-2:] == ["mul", "exp"]
    assert found["regions"][-1]["gives"] == {"y": 0}


def test_what_plans_answered_is_told(server: Running) -> None:
    key = source(server, "y = (x * x * 3).sum()", outputs="y")
    assert plan(server, key, x=[3])["planned"] == {"made": 0, "runs": 0, "seconds": 0.0}
    for number in range(5):
        asked = {"inputs": {"x": [number, 1, 2]}}
        server.client.post(f"/v1/programs/{key}/value_and_grad", json=asked)
    told = plan(server, key, x=[3])["planned"]
    assert (told["made"], told["runs"]) == (1, 5)
    assert told["seconds"] > 0


@pytest.mark.parametrize("transform", [None, "value_and_grad"])
def test_a_plan_is_drawn(server: Running, transform: str | None) -> None:
    key = source(server, LAYER, "x w b")
    path, asked = f"/v1/programs/{key}/plan", body(transform, SHAPES)
    reply = server.client.post(path, params={"format": "svg"}, json=asked)
    assert reply.headers["content-type"] == "image/svg+xml"
    texts = [
        t.text for t in ElementTree.fromstring(reply.text).iter("{http://www.w3.org/2000/svg}text")
    ]
    for word in ("matmul", "x", "w", "b", "z", "[128, 256] float32", "51.4 MFLOP, 1.34 MB"):
        assert word in texts
    assert ("grads.w" in texts) == (transform is not None)
    for form, kind in (("dot", "text/vnd.graphviz"), ("mermaid", "text/vnd.mermaid")):
        reply = server.client.post(path, params={"format": form}, json=asked)
        assert reply.headers["content-type"].startswith(kind)
        assert "matmul" in reply.text
    inline = {"program": {"inputs": ["x"], "source": "y = x * 2", "outputs": ["y"]}} | body(
        None, {"x": [2]}
    )
    assert "<svg" in server.client.post("/v1/plan?format=svg", json=inline).text


def test_pictures_are_refused_as_elsewhere(server: Running) -> None:
    key = source(server, "y = x * 2", outputs="y")
    path, asked = f"/v1/programs/{key}/plan", body(None, {"x": [2]})
    assert server.client.post(f"{path}?format=png", json=asked).json()["code"] == "invalid_request"
    long = source(server, "\n".join(["y = x @ x"] + ["y = y @ x"] * 700), outputs="y")
    path, asked = f"/v1/programs/{long}/plan", body(None, {"x": [2, 2]})
    assert len(plan(server, long, x=[2, 2])["regions"]) == 701
    assert server.client.post(f"{path}?format=svg", json=asked).json()["code"] == "limit_exceeded"


def test_an_output_may_be_an_input(server: Running) -> None:
    key = source(server, "y = x * 2\nz = x.T", outputs="y z x")
    found = plan(server, key, x=[3, 2])
    assert found["outputs"]["z"]["shape"] == [2, 3]
    asked = body(None, {"x": [3, 2]})
    reply = server.client.post(f"/v1/programs/{key}/plan?format=svg", json=asked)
    assert reply.status_code == 200


def test_what_is_no_scalar_gets_a_cotangent(server: Running) -> None:
    """As a request of value_and_grad has to give one."""
    key = source(server, "y = tanh(x @ w)\ni = y.argmax(1)\ns = y.sum()", "x w", "y s")
    found = plan(server, key, "value_and_grad", x=[64, 32], w=[32, 16])
    assert found["grads"]["w"] == {"dtype": "float32", "shape": [32, 16]}
    assert found["flops"] >= 3 * 2 * 64 * 32 * 16


@pytest.mark.parametrize(
    ("asked", "said", "hint"),
    [
        ({"inputs": {"x": [2]}}, "inputs.x must be an object", "A shape for each input"),
        (
            {"inputs": {"x": {"shape": [None]}}},
            "inputs.x.shape[0] must be a whole number", "Its shape",
        ),
        ({"inputs": {"x": {"shap": [2]}}}, "inputs.x.shap is not a field", "did you mean shape?"),
        ({"inputs": {"x": {"shape": [2]}}, "wrt": ["x"]}, "nothing is differentiated", "transform"),
    ],
)  # fmt: skip
def test_mistakes_are_told_where_they_are(
    server: Running, asked: dict[str, Any], said: str, hint: str
) -> None:
    key = source(server, "y = x + 1", outputs="y")
    reply = server.client.post(f"/v1/programs/{key}/plan", json=asked).json()
    assert reply["code"] == "invalid_request"
    assert said in reply["detail"]
    assert hint in reply["hint"]


def test_a_missing_program_is_what_is_missing(server: Running) -> None:
    reply = server.client.post("/v1/plan", json={"inputs": {"x": {"shape": [2]}}}).json()
    assert reply["detail"] == "program is missing"
    assert "The program" in reply["hint"]
    reply = server.client.post(
        "/v1/plan", json={"inputs": {}, "program": {"inputs": [], "outputs": []}}
    )
    assert "neither ops nor source is given" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("text", "transform"),
    [
        ("z = (x + torch.ones(20000, 20000)).sum()", "value_and_grad"),
        ("z = (ones_like(torch.full((20000, 20000), 2.0)) * x).sum()", "value_and_grad"),
        ("z = (x.expand(20000, 20000) * 2).exp()", "value_and_grad"),
        ("z = (torch.arange(400000000) * x).sum()", None),
        ("z = (torch.eye(20000) * x).sum()", None),
    ],
)
def test_a_plan_of_large_constants_makes_none(
    server: Running, text: str, transform: str | None
) -> None:
    """What is made of nothing is made when it runs: 1.6 GB each, of which plan takes none."""
    key = source(server, text)
    tracemalloc.start()
    try:
        found = plan(server, key, transform, x=[1])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    assert found["peak_bytes"] > 1.6e9


@pytest.mark.parametrize(
    ("text", "transform", "shape"),
    [("z = zeros_like(x)", "jacobian", [6000, 6000]), ("z = x.sum()", "hessian", [2**36])],
)
def test_derivatives_that_no_machine_holds_are_refused(
    server: Running, text: str, transform: str, shape: list[int]
) -> None:
    key = source(server, text)
    asked = body(transform, {"x": shape})
    reply = server.client.post(f"/v1/programs/{key}/plan", json=asked)
    assert reply.json()["code"] == "memory_limit"


def test_a_picture_of_many_views(server: Running) -> None:
    key = source(server, "\n".join(["y = x + 1", *["y = y.T"] * 1500]), outputs="y")
    path = f"/v1/programs/{key}/plan?format=svg"
    reply = server.client.post(path, json=body(None, {"x": [2, 3]}))
    assert reply.status_code == 200
    assert "<svg" in reply.text
