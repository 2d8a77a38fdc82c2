"""`api.md`'s first page, as it stands there."""

from __future__ import annotations

from tests.service.conftest import Running

STEPS = {
    "steps": [
        {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
        {"op": "pow", "args": ["x", 2], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"backward": {"tensors": ["z"]}},
    ],
    "return": ["z", "x.grad"],
}


def test_a_session(server: Running) -> None:
    made = server.client.post("/v1/sessions", json={})
    assert made.status_code == 201
    key = made.json()["id"]
    assert made.headers["location"] == f"/v1/sessions/{key}"
    reply = server.client.post(f"/v1/sessions/{key}/steps", json=STEPS)
    assert reply.status_code == 200
    values = reply.json()["values"]
    assert values["z"] == {
        "name": "z", "dtype": "float32", "shape": [], "device": "cpu", "requires_grad": True,
        "is_leaf": False, "grad_fn": "SumBackward0", "version": 0, "data": 14.0,
    }  # fmt: skip
    assert values["x.grad"]["data"] == [2.0, 4.0, 6.0]
    assert values["x.grad"]["shape"] == [3]
    assert values["x.grad"]["dtype"] == "float32"


def test_without_a_session(server: Running) -> None:
    reply = server.client.post(
        "/v1/value_and_grad",
        json={
            "program": {
                "inputs": ["x"], "source": "y = x ** 2\nz = y.sum()", "outputs": ["z"]
            },
            "inputs": {"x": [1, 2, 3]},
        },
    )  # fmt: skip
    assert reply.status_code == 200
    assert reply.json()["outputs"]["z"]["data"] == 14.0
    assert reply.json()["grads"]["x"]["data"] == [2.0, 4.0, 6.0]


def test_a_second_backward_says_what_to_do(server: Running) -> None:
    session = server.session()
    session.steps(*STEPS["steps"])
    problem = session.refused(
        {"op": "mul", "args": ["z", 1], "out": "w"}, {"backward": {"tensors": ["z"]}}
    )
    assert problem == {
        "type": "/errors/graph_freed",
        "title": "Graph freed",
        "status": 409,
        "code": "graph_freed",
        "detail": "backward: the saved tensors of PowBackward0 (step 1, tensor y) were freed "
        "by an earlier backward",
        "hint": "pass retain_graph=true to the first call",
        "step": 1,
        "op": None,
        "raised": "RuntimeError",
        "request_id": problem["request_id"],
    }
