"""Hints of refusals that newcomers meet: each says how to mend what was sent."""

from __future__ import annotations

import pytest
from tests.service.conftest import Client

MATRIX = {"tensor": "X", "value": [[1.0, 2.0], [3.0, 4.0]]}


@pytest.mark.parametrize("asked", ["m", "m.values", "m.indices", "m.2"])
def test_several_results_say_their_names(session: Client, asked: str) -> None:
    made = [MATRIX, {"op": "max", "args": ["X", 0], "out": "m"}]
    found = session.refused(*made, **{"return": [asked]})
    assert found["code"] == "tensor_not_found"
    assert "m.0 and m.1" in found["hint"]


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ({"tensor": 5, "value": [1.0]}, '{"tensor": "x"}'),
        ({"grad": {"inputs": ["x"]}}, '{"outputs": ["loss"]}'),
        ({"backward": {}}, '{"tensors": ["loss"]}'),
        ({"call": 5, "args": []}, '{"call": "p_'),
    ],
)
def test_a_field_that_lacks_or_misfits_is_shown(session: Client, step: dict, field: str) -> None:
    found = session.refused(step)
    assert found["code"] == "invalid_request"
    assert field in found["hint"]


def test_an_argument_that_lacks_says_how_it_is_given(session: Client) -> None:
    found = session.refused(MATRIX, {"op": "dropout", "args": ["X", 0.5], "out": "y"})
    assert "'train' is missing: give it by its place or by its name" in found["detail"]


def test_capital_letters_are_no_other_op(session: Client) -> None:
    found = session.refused(MATRIX, {"op": "Relu", "args": ["X"], "out": "y"})
    assert found["hint"] == "did you mean relu?"


@pytest.mark.parametrize("source", ["y = np.sin(x)", "y = F.sin(x)", "y = x + math.sin(x)"])
def test_libraries_are_no_tensors(session: Client, source: str) -> None:
    body = {"inputs": ["x"], "source": source, "outputs": ["y"]}
    found = session.http.post("/v1/programs", json=body).json()
    assert found["code"] == "invalid_source"
    assert found["hint"].startswith("sin(")


def test_a_tensor_may_be_called_as_a_library_is(session: Client) -> None:
    body = {"inputs": ["F"], "source": "y = F.sin()", "outputs": ["y"]}
    assert session.http.post("/v1/programs", json=body).status_code == 201


def test_whole_numbers_have_no_gradients(session: Client) -> None:
    found = session.refused(
        {"tensor": "n", "value": 2},
        {"op": "mul", "args": ["n", 2.0], "out": "y"},
        {"grad": {"outputs": ["y"], "inputs": ["n"]}, "out": ["g"]},
    )
    assert found["code"] == "requires_no_grad"
    assert "int64" in found["detail"]
    assert "2.0" in found["hint"]
