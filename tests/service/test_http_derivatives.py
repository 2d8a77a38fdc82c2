"""Transforms of programs, by id, inline and as steps, against derivatives in closed form."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from tests.service.conftest import Client, Running
from tests.service.test_http_programs import source, stored

from gradwire_service.host.protocol.transforms import TRANSFORMS

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 3.0, -2.0])
A = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
F64 = {"dtype": "float64"}


def f64(array: Any) -> dict[str, Any]:
    return {"dtype": "float64", "data": np.asarray(array).tolist()}


def call(server: Running, transform: str, program: str | dict, **body: Any) -> dict[str, Any]:
    """A transform that has to go well."""
    reply = ask(server, transform, program, **body)
    assert reply.status_code == 200, reply.text
    found = reply.json()
    assert found.keys() == {"outputs"} | ({_part(transform)} - {"evaluate"})
    return found


def ask(server: Running, transform: str, program: str | dict, **body: Any) -> httpx.Response:
    if isinstance(program, dict):
        return server.client.post(f"/v1/{transform}", json={"program": program, **body})
    return server.client.post(f"/v1/programs/{program}/{transform}", json=body)


def _part(transform: str) -> str:
    return "grads" if transform == "value_and_grad" else transform


def data(tensor: dict[str, Any]) -> np.ndarray:
    return np.array(tensor["data"])


def close(tensor: dict[str, Any], wanted: Any) -> None:
    assert tensor["dtype"] == "float64"
    np.testing.assert_allclose(data(tensor), wanted, rtol=1e-12, atol=1e-12)


TEXT = "y = a @ sin(x)"
LOSS = "y = a @ sin(x)\nloss = (y * y).sum()"


@pytest.fixture(params=["by id", "inline"])
def vector(request: pytest.FixtureRequest, server: Running) -> str | dict:
    """y = A sin(x)."""
    program = {"inputs": ["x", "a"], "source": TEXT, "outputs": ["y"]}
    return program if request.param == "inline" else stored(server, **program)


@pytest.fixture(params=["by id", "inline"])
def scalar(request: pytest.FixtureRequest, server: Running) -> str | dict:
    """|A sin(x)|²."""
    program = {"inputs": ["x", "a"], "source": LOSS, "outputs": ["loss"]}
    return program if request.param == "inline" else stored(server, **program)


INPUTS = {"x": f64(X), "a": f64(A)}
JACOBIAN = A * np.cos(X)
GRADIENT = 2 * JACOBIAN.T @ (A @ np.sin(X))
HESSIAN = 2 * JACOBIAN.T @ JACOBIAN - np.diag(2 * A.T @ (A @ np.sin(X)) * np.sin(X))


def test_evaluate(server: Running, vector: str | dict) -> None:
    found = call(server, "evaluate", vector, inputs=INPUTS)
    close(found["outputs"]["y"], A @ np.sin(X))


def test_value_and_grad(server: Running, scalar: str | dict) -> None:
    found = call(server, "value_and_grad", scalar, inputs=INPUTS)
    assert list(found["grads"]) == ["x", "a"]
    close(found["grads"]["x"], GRADIENT)
    close(found["grads"]["a"], 2 * np.outer(A @ np.sin(X), np.sin(X)))
    found = call(server, "value_and_grad", scalar, inputs=INPUTS, wrt=["x"])
    assert list(found["grads"]) == ["x"]


def test_vjp(server: Running, vector: str | dict) -> None:
    g = [2.0, -1.0]
    found = call(server, "vjp", vector, inputs=INPUTS, cotangents={"y": f64(g)})
    close(found["vjp"]["x"], g @ JACOBIAN)
    close(found["vjp"]["a"], np.outer(g, np.sin(X)))
    close(found["outputs"]["y"], A @ np.sin(X))


def test_batched_vjp(server: Running, vector: str | dict) -> None:
    g = np.arange(8.0).reshape(4, 2)
    body = {"inputs": INPUTS, "cotangents": {"y": f64(g)}, "wrt": ["x"], "batched": True}
    found = call(server, "vjp", vector, **body)
    close(found["vjp"]["x"], g @ JACOBIAN)


def test_jvp(server: Running, vector: str | dict) -> None:
    found = call(server, "jvp", vector, inputs=INPUTS, tangents={"x": f64(V)})
    close(found["jvp"]["y"], JACOBIAN @ V)
    found = call(server, "jvp", vector, inputs=INPUTS, tangents={"x": f64(V), "a": f64(A)})
    close(found["jvp"]["y"], JACOBIAN @ V + A @ np.sin(X))
    close(found["outputs"]["y"], A @ np.sin(X))


def test_batched_jvp(server: Running, vector: str | dict) -> None:
    v = np.arange(12.0).reshape(4, 3)
    found = call(server, "jvp", vector, inputs=INPUTS, tangents={"x": f64(v)}, batched=True)
    close(found["jvp"]["y"], v @ JACOBIAN.T)
    close(found["outputs"]["y"], A @ np.sin(X))


@pytest.mark.parametrize("name", ["hvp", "vhp"])
def test_products_with_the_hessian(server: Running, scalar: str | dict, name: str) -> None:
    found = call(server, name, scalar, inputs=INPUTS, vector={"x": f64(V)})
    assert list(found[name]) == ["x"]
    close(found[name]["x"], HESSIAN @ V)
    close(found["outputs"]["loss"], np.sum((A @ np.sin(X)) ** 2))


@pytest.mark.parametrize("strategy", [None, "forward-mode", "reverse-mode"])
def test_jacobian(server: Running, vector: str | dict, strategy: str | None) -> None:
    found = call(server, "jacobian", vector, inputs=INPUTS, strategy=strategy)
    close(found["jacobian"]["y"]["x"], JACOBIAN)
    close(found["jacobian"]["y"]["a"], np.einsum("ij,k->ijk", np.eye(2), np.sin(X)))
    close(found["outputs"]["y"], A @ np.sin(X))


@pytest.mark.parametrize("strategy", [None, "forward-mode", "reverse-mode"])
def test_hessian(server: Running, scalar: str | dict, strategy: str | None) -> None:
    found = call(server, "hessian", scalar, inputs=INPUTS, strategy=strategy)
    close(found["hessian"]["x"]["x"], HESSIAN)
    assert data(found["hessian"]["a"]["x"]).shape == (2, 3, 3)
    mixed = data(found["hessian"]["x"]["a"])
    np.testing.assert_allclose(mixed, data(found["hessian"]["a"]["x"]).transpose(2, 0, 1))
    close(found["outputs"]["loss"], np.sum((A @ np.sin(X)) ** 2))


def test_a_wide_jacobian_goes_forward(server: Running) -> None:
    key = source(server, "y = x.expand(50) * w", "x w", "y")
    inputs = {"x": f64(2.0), "w": f64(np.arange(50.0))}
    found = call(server, "jacobian", key, inputs=inputs, wrt=["x"])
    close(found["jacobian"]["y"]["x"], np.arange(50.0))


def test_outputs_without_derivatives_stand_beside(server: Running) -> None:
    key = source(server, "y = x * x\ni = x.argmax()", outputs="i y")
    inputs = {"x": f64([1.0, 3.0])}
    found = call(server, "jacobian", key, inputs=inputs)
    assert found["outputs"]["i"]["data"] == 1
    assert list(found["jacobian"]) == ["y"]
    found = call(server, "jvp", key, inputs=inputs, tangents={"x": f64([1.0, 1.0])})
    assert {name: t["data"] for name, t in found["jvp"].items()} == {"y": [2.0, 6.0]}
    found = call(server, "vjp", key, inputs=inputs, cotangents={"y": f64([1.0, 0.0])})
    close(found["vjp"]["x"], [2.0, 0.0])


def test_what_depends_on_nothing_is_zero(server: Running) -> None:
    key = source(server, "y = x * 2\nz = (w * 3).sum()", "x w", "y z")
    inputs = {"x": f64([1.0, 2.0]), "w": f64([3.0])}
    found = call(server, "jacobian", key, inputs=inputs)
    close(found["jacobian"]["z"]["x"], [0.0, 0.0])
    found = call(server, "vjp", key, inputs=inputs, cotangents={"z": f64(1.0)})
    close(found["vjp"]["x"], [0.0, 0.0])
    found = call(server, "jvp", key, inputs=inputs, tangents={"w": f64([1.0])})
    close(found["jvp"]["y"], [0.0, 0.0])
    assert call(server, "value_and_grad", key, inputs=inputs, grad_outputs={"z": None})["grads"][
        "x"
    ] is None  # fmt: skip


def test_random_programs_draw_once_for_a_jacobian(server: Running) -> None:
    key = source(server, "r = rand(3)\ny = x * r", outputs="y r")
    for strategy in ("forward-mode", "reverse-mode"):
        found = call(server, "jacobian", key, inputs={"x": [1, 1, 1]}, strategy=strategy)
        jacobian = data(found["jacobian"]["y"]["x"])
        np.testing.assert_array_equal(jacobian, np.diag(data(found["outputs"]["r"])))


def test_grad_steps_under_transforms(server: Running) -> None:
    ops = [
        {"op": "pow", "args": ["x", 3], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "s"},
        {"grad": {"outputs": ["s"], "inputs": ["x"], "create_graph": True}, "out": ["g"]},
    ]
    key = stored(server, inputs=["x"], ops=ops, outputs=["g"])
    inputs = {"x": f64([1.0, 2.0])}
    inline = {"inputs": ["x"], "ops": ops, "outputs": ["g"]}
    for program in (key, inline):
        found = call(server, "evaluate", program, inputs=inputs)
        close(found["outputs"]["g"], [3.0, 12.0])
        assert not found["outputs"]["g"]["requires_grad"]
    found = call(server, "jacobian", key, inputs=inputs, strategy="reverse-mode")
    close(found["jacobian"]["g"]["x"], [[6.0, 0.0], [0.0, 12.0]])
    found = call(server, "jvp", key, inputs=inputs, tangents={"x": f64([1.0, 10.0])})
    close(found["jvp"]["g"], [6.0, 120.0])


def test_transforms_of_tensors_of_a_session(server: Running, session: Client) -> None:
    key = source(server, "y = x * x", outputs="y")
    session.steps({"tensor": "w", "value": [1.0, 2.0]}, {"tensor": "v", "value": [3.0, 5.0]})
    here = {"session": session.id}
    body = {"inputs": {"x": here | {"tensor": "w"}}, "tangents": {"x": here | {"tensor": "v"}}}
    found = call(server, "jvp", key, **body)
    assert found["jvp"]["y"]["data"] == [6.0, 20.0]


def test_a_transform_as_a_step(server: Running, session: Client) -> None:
    key = source(server, "z = (x ** 3).sum()")
    values = session.steps(
        {"tensor": "x", "value": [1.0, 2.0], "requires_grad": True},
        {"tensor": "v", "value": [1.0, 10.0]},
        {"transform": "hessian", "call": key, "args": ["x"], "out": "h", "values": ["z"]},
        {"transform": "hvp", "call": key, "args": ["x"], "vector": {"x": "v"}, "out": "hv"},
        {"transform": "jvp", "call": key, "args": ["x"], "tangents": {"x": [1, 1]}, "out": ["d"]},
        returns=("h", "hv", "d", "z"),
    )
    assert values["h"]["data"] == [[6.0, 0.0], [0.0, 12.0]]
    assert values["hv"]["data"] == [6.0, 120.0]
    assert (values["d"]["data"], values["z"]["data"]) == (15.0, 9.0)
    assert not any(value["requires_grad"] for value in values.values())


@pytest.mark.parametrize(
    ("step", "slope"),
    [
        ({"transform": "vjp", "wrt": ["x"]}, 6.0),
        ({"transform": "value_and_grad", "wrt": ["x"]}, 6.0),
        ({"transform": "jvp", "tangents": {"x": 1.0}}, 6.0),
        ({"transform": "jacobian", "wrt": ["x"]}, 6.0),
        ({"transform": "jacobian", "wrt": ["x"], "strategy": "forward-mode"}, 6.0),
        ({"transform": "hessian", "wrt": ["x"]}, 0.0),
        ({"transform": "hvp", "vector": {"x": 1.0}}, 0.0),
        ({"transform": "vhp", "vector": {"x": 1.0}}, 0.0),
    ],
)
def test_a_step_with_create_graph_can_be_differentiated(
    server: Running, session: Client, step: dict[str, Any], slope: float
) -> None:
    """Of z = 3 w x², the derivative by x has the slope 6 x by w, and by x the second one 6 w."""
    key = source(server, "z = 3 * w * x * x", "x w")
    session.steps(
        {"tensor": "x", "value": 1.0, "requires_grad": True},
        {"tensor": "w", "value": 2.0, "requires_grad": True},
        {"call": key, "args": ["x", "w"], "out": "z"},
        step | {"call": key, "args": ["x", "w"], "create_graph": True, "out": "d"},
        {"backward": {"tensors": ["d"]}},
    )
    second = step["transform"] in ("hessian", "hvp", "vhp")
    assert session.data("d") == 12.0  # 6 w x, and 6 w
    assert session.data("w.grad") == 6.0
    assert (session.data("x.grad") or 0.0) == (0.0 if second else 12.0)


def test_results_of_a_step_in_order(server: Running, session: Client) -> None:
    key = source(server, "a = x * w\nb = x + w", "x w", "a b")
    session.steps(
        {"tensor": "x", "value": 2.0},
        {"tensor": "w", "value": 5.0},
        {"transform": "jacobian", "call": key, "args": ["x", "w"], "out": "j"},
        {"transform": "vjp", "call": key, "args": ["x", "w"], "cotangents": {"a": 1}, "out": "g"},
    )
    assert [session.data(f"j.{k}") for k in range(4)] == [5.0, 2.0, 1.0, 1.0]
    assert [session.data(f"g.{k}") for k in range(2)] == [5.0, 2.0]


def test_transforms_inside_programs(server: Running) -> None:
    inner = source(server, "z = (x ** 3).sum()")
    ops = [
        {"transform": "vjp", "call": inner, "args": ["x"], "create_graph": True, "out": "g"},
        {"op": "mul", "args": ["g", "x"], "out": "y"},
    ]
    key = stored(server, inputs=["x"], ops=ops, outputs=["y"])
    found = call(server, "jacobian", key, inputs={"x": f64([1.0, 2.0])})
    close(found["outputs"]["y"], [3.0, 24.0])
    close(found["jacobian"]["y"]["x"], [[9.0, 0.0], [0.0, 36.0]])


@pytest.mark.parametrize("transform", [name for name in TRANSFORMS if name != "plan"])
def test_nothing_is_kept(server: Running, transform: str) -> None:
    host = server.service.host
    key = source(server, "z = (x * x).sum()")
    held, sessions = host.ledger.held, len(host.sessions())
    body = {"inputs": {"x": [1.0] * 20}}
    beside = {"jvp": "tangents", "hvp": "vector", "vhp": "vector"}.get(transform)
    if beside:
        body[beside] = {"x": [1.0] * 20}
    assert ask(server, transform, key, **body).status_code == 200
    assert ask(server, transform, key, inputs={"x": "no"}).status_code == 422
    assert (host.ledger.held, len(host.sessions())) == (held, sessions)


def test_vmap(server: Running, session: Client) -> None:
    key = source(server, "y = (x * w).sum()\nd = x - w", "x w", "y d")
    values = session.steps(
        {"tensor": "x", "value": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "requires_grad": True},
        {"tensor": "w", "value": [10.0, 100.0]},
        {"vmap": key, "args": ["x", "w"], "in_dims": [0, None], "out_dims": [0, 1], "out": "p"},
        {"op": "sum", "args": ["p.0"], "out": "s"},
        {"backward": {"tensors": ["s"]}},
        returns=("p.0", "p.1", "x.grad"),
    )
    assert values["p.0"]["data"] == [210.0, 430.0, 650.0]
    assert values["p.1"]["data"] == [[-9.0, -7.0, -5.0], [-98.0, -96.0, -94.0]]
    assert values["x.grad"]["data"] == [[10.0, 100.0]] * 3


def test_vmap_of_a_gradient_gives_one_for_each_example(server: Running, session: Client) -> None:
    loss = source(server, "z = (x @ w) ** 2", "w x")
    ops = [{"transform": "vjp", "call": loss, "args": ["w", "x"], "wrt": ["w"], "out": "g"}]
    key = stored(server, inputs=["w", "x"], ops=ops, outputs=["g"])
    session.steps(
        {"tensor": "w", "value": [1.0, 2.0]},
        {"tensor": "x", "value": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]},
        {"vmap": key, "args": ["w", "x"], "in_dims": [None, 0], "out": "g"},
    )
    assert session.data("g") == [[2.0, 0.0], [0.0, 4.0], [6.0, 6.0]]


def test_random_ops_under_vmap(server: Running, session: Client) -> None:
    key = source(server, "z = rand(2) + x")
    session.steps({"tensor": "x", "value": [0.0, 0.0]})
    step = {"vmap": key, "args": ["x"], "out": "z"}
    assert session.refused(step)["code"] == "invalid_argument"
    session.steps(step | {"randomness": "same"})
    first, second = session.data("z")
    assert first == second
    session.steps(step | {"randomness": "different"})
    first, second = session.data("z")
    assert first != second


def test_in_place_ops_under_vmap(server: Running, session: Client) -> None:
    key = source(server, "y = x * 2\ny += 1\ny[0] = 7", outputs="y")
    session.steps({"vmap": key, "args": [[[1.0, 2.0], [3.0, 4.0]]], "out": "y"})
    assert session.data("y") == [[7.0, 5.0], [7.0, 9.0]]


def test_grad_steps_under_vmap(server: Running, session: Client) -> None:
    ops = [
        {"op": "pow", "args": ["x", 3], "out": "y"},
        {"grad": {"outputs": ["y"], "inputs": ["x"]}, "out": ["g"]},
    ]
    key = stored(server, inputs=["x"], ops=ops, outputs=["g"])
    session.steps({"vmap": key, "args": [[1.0, 2.0]], "out": "g"})
    assert session.data("g") == [3.0, 12.0]


def test_inline_programs_call_stored_ones(server: Running) -> None:
    """Over and over, so that what is kept of them for the next time is used as well."""
    inner = source(server, "z = (x * x * rand(3).ceil()).sum()")
    ops = [{"call": inner, "args": ["x"], "out": "z"}]
    program = {"inputs": ["x"], "ops": ops, "outputs": ["z"]}
    for k in range(5):
        inputs = {"x": f64([1.0, 2.0, float(k)])}
        found = call(server, "value_and_grad", program, inputs=inputs)
        close(found["grads"]["x"], [2.0, 4.0, 2.0 * k])
        close(call(server, "evaluate", program, inputs=inputs)["outputs"]["z"], 5.0 + k * k)
    server.client.delete(f"/v1/programs/{inner}")
    assert ask(server, "evaluate", program, inputs=inputs).json()["code"] == "program_not_found"


def test_many_tangents_through_a_grad_step(server: Running) -> None:
    """All of the program runs on a batch then; the outputs are those of one run."""
    program = {
        "inputs": ["x"],
        "ops": [
            {"op": "mul", "args": ["x", "x"], "out": "q"},
            {"op": "sum", "args": ["q"], "out": "s"},
            {"grad": {"outputs": ["s"], "inputs": ["x"], "create_graph": True}, "out": ["y"]},
        ],
        "outputs": ["y"],
    }
    tangents = {"x": f64(np.eye(3))}
    found = call(server, "jvp", program, inputs={"x": f64(X)}, tangents=tangents, batched=True)
    np.testing.assert_allclose(data(found["outputs"]["y"]), 2 * X)
    np.testing.assert_allclose(data(found["jvp"]["y"]), 2 * np.eye(3))
