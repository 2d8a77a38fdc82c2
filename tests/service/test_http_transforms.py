"""Programs run in one call."""

from __future__ import annotations

import json

import httpx
import numpy as np
import pytest
from tests.service.conftest import Running

from gradwire_service.host import safetensors

SQUARE = {"inputs": ["x"], "source": "y = x ** 2\nz = y.sum()", "outputs": ["z", "y"]}


def call(server: Running, name: str = "value_and_grad", **body: object) -> httpx.Response:
    return server.client.post(f"/v1/{name}", json=body)


def test_evaluate(server: Running) -> None:
    reply = call(server, "evaluate", program=SQUARE, inputs={"x": [1, 2]})
    assert reply.json().keys() == {"outputs"}
    outputs = reply.json()["outputs"]
    assert list(outputs) == ["z", "y"]
    assert outputs["y"]["data"] == [1.0, 4.0]
    assert outputs["y"]["dtype"] == "float32"
    assert not outputs["y"]["requires_grad"]


def test_ops_as_data(server: Running) -> None:
    ops = [{"op": "mul", "args": ["x", "w"], "out": "y"}, {"op": "sum", "args": ["y"], "out": "z"}]
    program = {"inputs": ["x", "w"], "ops": ops, "outputs": ["z"]}
    reply = call(server, program=program, inputs={"x": [1, 2], "w": [3, 4]})
    grads = reply.json()["grads"]
    assert {name: grad["data"] for name, grad in grads.items()} == {
        "x": [3.0, 4.0], "w": [1.0, 2.0],
    }  # fmt: skip


def test_wrt(server: Running) -> None:
    program = {"inputs": ["x", "w", "i"], "source": "z = (x * w)[i].sum()", "outputs": ["z"]}
    inputs = {"x": [1, 2], "w": [3, 4], "i": {"dtype": "int64", "data": [0, 0]}}
    assert set(call(server, program=program, inputs=inputs).json()["grads"]) == {"x", "w"}
    reply = call(server, program=program, inputs=inputs, wrt=["w"])
    assert {n: g["data"] for n, g in reply.json()["grads"].items()} == {"w": [2.0, 0.0]}
    assert call(server, program=program, inputs=inputs, wrt=[]).json()["grads"] == {}


def test_an_input_without_part_in_the_output_has_no_gradient(server: Running) -> None:
    program = {"inputs": ["x", "w"], "source": "z = x.sum()", "outputs": ["z"]}
    reply = call(server, program=program, inputs={"x": [1.0], "w": [1.0]})
    assert reply.json()["grads"]["w"] is None


def test_cotangents_choose_the_outputs(server: Running) -> None:
    reply = call(server, program=SQUARE, inputs={"x": [1, 2]}, grad_outputs={"y": [1, 10]})
    assert reply.json()["grads"]["x"]["data"] == [2.0, 40.0]
    reply = call(server, program=SQUARE, inputs={"x": [1, 2]}, grad_outputs={"z": None})
    assert reply.json()["grads"]["x"]["data"] == [2.0, 4.0]


def test_vectors_that_do_not_fit_are_named(server: Running) -> None:
    program = {"inputs": ["a", "b"], "source": "n = b.detach()\nc = a @ b", "outputs": ["n", "c"]}
    body = {"program": program, "inputs": {"a": [[1.0, 2.0]], "b": [[3.0], [4.0]]}}
    wrong = {"c": [1.0, 2.0]}
    reply = call(server, "vjp", **body, cotangents={"n": [[1.0], [1.0]], **wrong}).json()
    assert reply["code"] == "shape_mismatch"
    assert "vjp: output 1 (c) has shape [1, 1], its cotangent has [2]" in reply["detail"]
    reply = call(server, "jvp", **body, tangents={"b": [1.0, 2.0]}).json()
    assert reply["code"] == "shape_mismatch"
    assert "jvp: input 1 (b) has shape [2, 1], its tangent has [2]" in reply["detail"]


def test_a_program_may_write_over_its_inputs(server: Running) -> None:
    program = {"inputs": ["x"], "source": "x = x * 3\nx += 1\nz = (x * x).sum()", "outputs": ["z"]}
    reply = call(server, program=program, inputs={"x": [1.0, 2.0]})
    assert reply.json()["outputs"]["z"]["data"] == 65.0
    assert reply.json()["grads"]["x"]["data"] == [24.0, 42.0]


def test_grad_steps_in_a_program(server: Running) -> None:
    ops = [
        {"op": "pow", "args": ["x", 3], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "s"},
        {"grad": {"outputs": ["s"], "inputs": ["x"], "create_graph": True}, "out": ["g"]},
        {"op": "sum", "args": ["g"], "out": "z"},
    ]
    program = {"inputs": ["x"], "ops": ops, "outputs": ["z"]}
    reply = call(server, program=program, inputs={"x": [1.0, 2.0]})
    assert reply.json()["grads"]["x"]["data"] == [6.0, 12.0]


def test_tensors_of_a_session(server: Running) -> None:
    session = server.session()
    session.steps({"tensor": "w", "value": [1.0, 2.0], "requires_grad": True})
    inputs = {"x": {"session": session.id, "tensor": "w"}}
    reply = call(server, program=SQUARE, inputs=inputs, grad_outputs={"z": None})
    assert reply.json()["grads"]["x"]["data"] == [2.0, 4.0]
    assert session.data("w.grad") is None
    program = {"inputs": ["x"], "source": "y = x.clone()\ny += 1", "outputs": ["y"]}
    assert call(server, "evaluate", program=program, inputs=inputs).status_code == 200
    assert session.data("w") == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["float64", "complex64", "float16"])
def test_dtypes_are_kept(server: Running, dtype: str) -> None:
    data = [[1, 2]] if dtype == "complex64" else [2]
    program = {"inputs": ["x"], "source": "z = (x * x).abs().sum()", "outputs": ["z"]}
    reply = call(server, program=program, inputs={"x": {"dtype": dtype, "data": data}})
    assert reply.json()["grads"]["x"]["dtype"] == dtype


def test_inputs_may_be_fixed(server: Running) -> None:
    fixed = [{"name": "x", "dtype": "float32", "shape": [None, 2]}]
    program = {"inputs": fixed, "source": "z = x.sum()", "outputs": ["z"]}
    assert call(server, program=program, inputs={"x": [[1, 2], [3, 4]]}).status_code == 200


def test_binary(server: Running) -> None:
    x = np.arange(1000, dtype=np.float32)
    request = {"program": SQUARE, "inputs": {"x": {"binary": "x"}}, "grad_outputs": {"z": 1}}
    body = b"".join(safetensors.write({"x": x}, {"request": json.dumps(request)}))
    kind = "application/x-safetensors"
    reply = server.client.post(
        "/v1/value_and_grad", content=body, headers={"content-type": kind, "accept": kind}
    )
    metadata, arrays = safetensors.read(reply.content)
    said = json.loads(metadata["response"])
    assert (arrays[said["grads"]["x"]["binary"]] == 2 * x).all()


def test_nothing_is_kept(server: Running) -> None:
    host = server.service.host
    sessions, held = len(host.sessions()), host.ledger.held
    call(server, program=SQUARE, inputs={"x": [1.0] * 100_000}, grad_outputs={"z": 1})
    call(server, program=SQUARE, inputs={"x": [1.0] * 10}, grad_outputs={"nope": 1})
    assert len(host.sessions()) == sessions
    assert host.ledger.held == held


def test_work_too_large_for_the_event_loop(server: Running) -> None:
    program = {"inputs": ["n"], "source": "z = (zeros(300000) + n).sum()", "outputs": ["z"]}
    reply = call(server, program=program, inputs={"n": 1.0})
    assert reply.json()["outputs"]["z"]["data"] == 300000.0
    assert reply.json()["grads"]["n"]["data"] == 300000.0
