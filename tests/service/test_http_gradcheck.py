"""gradcheck and gradgradcheck over HTTP: right rules pass, kinks, coarse dtypes and dice don't."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.conftest import Running, running
from tests.service.test_http_derivatives import ask, f64
from tests.service.test_http_programs import source

from gradwire_service.host.limits import Limits

BOTH = pytest.mark.parametrize("name", ["gradcheck", "gradgradcheck"])


def check(server: Running, name: str, program: str | dict, **body: Any) -> dict[str, Any]:
    reply = ask(server, name, program, **body)
    assert reply.status_code == 200, reply.text
    return reply.json()


@BOTH
def test_right_rules_pass(server: Running, name: str) -> None:
    program = {
        "inputs": ["x", "w"],
        "source": "y = tanh(x @ w)\nz = y.prod()",
        "outputs": ["y", "z"],
    }
    inputs = {"x": [[0.5, -1.0]], "w": [[1.0, 2.0, 0.3], [0.1, -0.7, 0.4]]}
    found = check(server, name, program, inputs=inputs)
    assert (found["ok"], found["reason"], found["warnings"]) == (True, None, [])
    worst = found["worst"]
    assert worst["numerical"] == pytest.approx(worst["analytical"], rel=1e-3, abs=1e-5)


@BOTH
def test_complex_programs(server: Running, name: str) -> None:
    key = source(server, "z = (x * x.conj() * x).sum()")
    x = {"dtype": "complex128", "data": [[1.0, 2.0], [-0.5, 0.3]]}
    assert check(server, name, key, inputs={"x": x})["ok"]


def test_a_kink_is_found_with_its_place(server: Running) -> None:
    """The slope of |x| at 0 is 0 by rule; of relu it is 0, and by differences 1/2."""
    key = source(server, "y = relu(x)", outputs="y")
    found = check(server, "gradcheck", key, inputs={"x": f64([[1.0, 0.0], [2.0, 3.0]])})
    assert not found["ok"]
    assert found["worst"]["index"] == {"output": [0, 1], "input": [0, 1]}
    assert (found["worst"]["input"], found["worst"]["output"]) == ("x", "y")
    assert found["worst"]["numerical"] == pytest.approx(0.5)
    assert found["worst"]["analytical"] == 0.0


def test_tolerances_decide(server: Running) -> None:
    key = source(server, "z = x ** 4")
    inputs = {"x": f64(1.0)}
    assert not check(server, "gradcheck", key, inputs=inputs, eps=0.1)["ok"]
    assert check(server, "gradcheck", key, inputs=inputs, eps=0.1, atol=0.1)["ok"]
    assert check(server, "gradcheck", key, inputs=inputs, eps=0.1, rtol=0.1)["ok"]


def test_a_gradient_that_stops_is_found(server: Running) -> None:
    key = source(server, "z = (x * x.detach()).sum()")
    found = check(server, "gradcheck", key, inputs={"x": [1.0, 3.0]})
    assert not found["ok"]
    assert found["worst"]["numerical"] == pytest.approx(2 * found["worst"]["analytical"])


@BOTH
def test_a_program_that_rolls_dice_is_told(server: Running, name: str) -> None:
    key = source(server, "z = (x * rand(2)).sum()")
    found = check(server, name, key, inputs={"x": [1.0, 3.0]})
    assert (found["ok"], found["worst"]) == (False, None)
    assert "not deterministic" in found["reason"]


def test_coarse_dtypes_are_warned_about(server: Running) -> None:
    key = source(server, "z = (x * w).sum()", "x w")
    x = {"dtype": "float32", "data": [1.0, 2.0]}
    found = check(server, "gradcheck", key, inputs={"x": x, "w": [1.0, 1.0]}, wrt=["w"])
    assert found["warnings"] == []
    found = check(server, "gradcheck", key, inputs={"x": x, "w": [1.0, 1.0]})
    assert len(found["warnings"]) == 1
    assert found["warnings"][0].startswith("x is float32")


@BOTH
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"inputs": {"x": {"dtype": "int64", "data": [1]}}}, "requires_no_grad"),
        ({"inputs": {"x": [1.0]}, "wrt": []}, "requires_no_grad"),
        ({"inputs": {"x": [1.0]}, "wrt": ["w"]}, "invalid_request"),
        ({"inputs": {"x": [1.0]}, "eps": 0}, "invalid_request"),
        ({"inputs": {"x": [1.0]}, "atol": -1}, "invalid_request"),
        ({"inputs": {"x": [1.0]}, "rtol": "NaN"}, "invalid_request"),
        ({"inputs": {"x": [1.0]}, "fast": True}, "invalid_request"),
        ({"inputs": {}}, "invalid_request"),
    ],
)
def test_refused(server: Running, name: str, body: dict[str, Any], code: str) -> None:
    key = source(server, "z = (x * x).sum()")
    held = server.service.host.ledger.held
    assert ask(server, name, key, **body).json()["code"] == code
    assert server.service.host.ledger.held == held


@BOTH
@pytest.mark.parametrize("text", ["z = zeros(2)", "z = x.detach() * 2"])
def test_results_without_a_gradient(server: Running, name: str, text: str) -> None:
    """Nothing depends on the input by any rule; gradgradcheck has no gradient to look at."""
    found = check(server, name, source(server, text), inputs={"x": [1.0]}, fast_mode=True)
    assert found["ok"] == (name == "gradgradcheck" or "x" not in text)


@pytest.mark.parametrize(
    "text", ["z = x.masked_select(x > 0)", "z = x.masked_select(rand(99) > 0.5)"]
)
def test_results_of_changing_shapes(server: Running, text: str) -> None:
    body = {"inputs": {"x": [0.0] * 99}, "eps": 0.5}
    found = check(server, "gradcheck", source(server, text), **body)
    assert not found["ok"]
    assert "shape" in found["reason"]


@BOTH
@pytest.mark.parametrize("text", ["z = x * 1", "y = x.sum()\nz = x.reshape(-1)"])
def test_whole_jacobians_are_asked_for_before_they_are_made(name: str, text: str) -> None:
    """80 MB each way for ten thousand elements; a program without ops asks for nothing itself."""
    with running(Limits(session_bytes=2**26)) as server:
        body = {"inputs": {"x": f64([0.5] * 10_000)}}
        reply = ask(server, name, source(server, text), **body)
        assert (reply.status_code, reply.json()["code"]) == (507, "memory_limit")
