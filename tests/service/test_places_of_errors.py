"""Errors say which output, input or argument they are about."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.conftest import Client, Running

LEAF = {"tensor": "x", "value": [1.0, 2.0], "requires_grad": True}
MADE = [
    LEAF,
    {"op": "sum", "args": ["x"], "out": "z"},
    {"op": "mul", "args": ["x", 2], "out": "y"},
    {"tensor": "c", "value": 1.0},
]
RAGGED = [1, [2]]
PROGRAM = {"inputs": ["a", "b"], "source": "z = (a * b).sum()\ny = a * b", "outputs": ["z", "y"]}
INPUTS = {"a": [1.0, 2.0], "b": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [
        ({"backward": {"tensors": ["z", "y"]}}, "not_scalar", "output 1 (y) has shape [2]"),
        ({"grad": {"outputs": ["y"], "inputs": ["x"]}}, "not_scalar", "output 0 (y) has shape [2]"),
        ({"backward": {"tensors": ["z", "c"]}}, "requires_no_grad", "backward: output 1 (c), "),
        (
            {"backward": {"tensors": ["z", "y"], "grad_tensors": [None, [1, 2, 3]]}},
            "shape_mismatch",
            "output 1 (y) has shape [2], its cotangent has [3]",
        ),
        (
            {"backward": {"tensors": ["z", "y"], "grad_tensors": [None, RAGGED]}},
            "shape_mismatch",
            "grad_tensors[1]: tensor literal: ",
        ),
        ({"tensor": "q", "value": RAGGED}, "shape_mismatch", "q: tensor literal: "),
        ({"set_grad": "x", "value": RAGGED}, "shape_mismatch", "x.grad: tensor literal: "),
        (
            {"op": "add", "args": ["x", RAGGED], "out": "q"},
            "shape_mismatch",
            "other: tensor literal: ",
        ),
        (
            {"op": "where", "args": ["x"], "kwargs": {"input": RAGGED, "other": 1}, "out": "q"},
            "shape_mismatch",
            "input: tensor literal: ",
        ),
    ],
)
def test_in_steps(session: Client, step: dict[str, Any], code: str, said: str) -> None:
    found = session.refused(*MADE, step)
    assert (found["code"], found["step"]) == (code, len(MADE))
    assert said in found["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [("/grad", {"outputs": ["z", "y"], "inputs": ["x"]}), ("/backward", {"tensors": ["z", "y"]})],
)
def test_in_walks(session: Client, path: str, body: dict[str, Any]) -> None:
    session.steps(*MADE)
    found = session.post(path, body).json()
    assert found["code"] == "not_scalar"
    assert "output 1 (y) has shape [2]" in found["detail"]


def test_in_a_call(server: Running, session: Client) -> None:
    key = server.client.post("/v1/programs", json=PROGRAM).json()["id"]
    found = session.refused(LEAF, {"call": key, "args": ["x", RAGGED], "out": "p"})
    assert found["detail"].startswith("args[1]: tensor literal: ")


@pytest.mark.parametrize(
    ("transform", "more", "said"),
    [
        ("value_and_grad", {}, "output 1 (y) has shape [2]"),
        ("value_and_grad", {"grad_outputs": {"y": None}}, "output 0 (y) has shape [2]"),
        ("value_and_grad", {"inputs": {"a": [1.0], "b": RAGGED}}, "inputs.b: tensor literal: "),
        (
            "value_and_grad",
            {"grad_outputs": {"z": 1, "y": RAGGED}},
            "grad_outputs.y: tensor literal: ",
        ),
        ("vjp", {"cotangents": {"y": ["q", 1]}}, "cotangents.y: tensor literal: "),
        ("jvp", {"tangents": {"b": ["q", 1]}}, "tangents.b: tensor literal: "),
    ],
)
def test_in_transforms(server: Running, transform: str, more: dict[str, Any], said: str) -> None:
    body = {"program": PROGRAM, "inputs": INPUTS, **more}
    found = server.client.post(f"/v1/{transform}", json=body).json()
    assert said in found["detail"]
