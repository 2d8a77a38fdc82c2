"""What autograd records of a call: the node's name, what requires grad, what a walk frees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradwire


def _leaf(m: Any, *shape: int) -> Any:
    return m.ones(shape, dtype=m.float64).requires_grad_()


def _turned(m: Any, *shape: int) -> Any:
    return _leaf(m, *shape[::-1]).t()


def _rms(m: Any, x: Any, *weight: Any) -> Any:
    return m.nn.functional.rms_norm(x, (x.shape[-1],), *weight)


RESULTS: dict[str, Callable[[Any], Any]] = {
    "rms_norm of columns": lambda m: _rms(m, _turned(m, 3, 2)),
    "rms_norm of columns, for the weight": lambda m: _rms(
        m, _turned(m, 3, 2).detach(), _leaf(m, 2)
    ),
    "rms_norm of one column": lambda m: _rms(m, _turned(m, 3, 1)),
    "rms_norm of one column of several": lambda m: _rms(m, _turned(m, 3, 2)[:1]),
    "rms_norm of columns, among axes of size 1": lambda m: _rms(m, _turned(m, 3, 2)[:, None]),
    "inner with a number": lambda m: m.inner(_leaf(m, 2), _leaf(m)),
    "linear of a matrix, to numbers": lambda m: m.nn.functional.linear(_leaf(m, 3, 2), _leaf(m, 2)),
    "linear of a vector, to a number": lambda m: m.nn.functional.linear(_leaf(m, 2), _leaf(m, 2)),
    "the largest of no columns": lambda m: m.linalg.matrix_norm(_leaf(m, 2, 0), ord=1),
    "the largest of no rows": lambda m: m.linalg.matrix_norm(_leaf(m, 0, 2), ord=float("inf")),
    "the largest of empty columns": lambda m: m.linalg.matrix_norm(_leaf(m, 2, 0), ord=2),
    "masked_scatter of nothing": lambda m: _leaf(m, 0).masked_scatter(
        m.tensor([True]), _leaf(m, 0)
    ),
    "masked_scatter of nothing into something": lambda m: m.ones(2, dtype=m.float64).masked_scatter(
        m.tensor([False]), _leaf(m, 0)
    ),
    "areas of nothing": lambda m: m.cumulative_trapezoid(_leaf(m, 2, 0)),
    "addr for the sum": lambda m: m.addr(
        _leaf(m, 2, 2), m.ones(2, dtype=m.float64), m.ones(2, dtype=m.float64), beta=2
    ),
    "addr without the sum": lambda m: m.addr(
        _leaf(m, 2, 2), m.ones(2, dtype=m.float64), m.ones(2, dtype=m.float64), beta=0, alpha=2
    ),
}


def _recorded(result: Any) -> tuple[Any, ...]:
    """The name of a result's node; and whether what it keeps is freed by a walk."""
    if result.grad_fn is None:
        return result.requires_grad, None
    result.sum().backward()
    try:
        result.backward(result.detach())
    except RuntimeError:
        return result.requires_grad, result.grad_fn.name(), "freed"
    return result.requires_grad, result.grad_fn.name()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_recorded_as_in_torch(name: str) -> None:
    found, wanted = (_recorded(RESULTS[name](m)) for m in (gradwire, torch))
    assert found == wanted


def _weight_of_rms(m: Any) -> tuple[Any, Any]:
    x = m.ones(2, dtype=m.float64)
    return x, _rms(m, x, _leaf(m, 2))


def _middle_of_three(m: Any) -> tuple[Any, Any]:
    middle, last = m.ones(2, 2), m.ones(2, 2)
    return middle, m.linalg.multi_dot([m.ones(2, 2).requires_grad_(), middle, last])


def _one_number(m: Any, x: Any) -> tuple[Any, Any]:
    return x, m.tensordot(x, m.ones(3, 2).requires_grad_())


WRITES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "what rms_norm takes, for the weight": _weight_of_rms,
    "the middle one of three matrices": _middle_of_three,
    "the vector that vdot conjugates": lambda m: (
        (x := m.ones(2, dtype=m.complex128)),
        m.vdot(x, m.ones(2, dtype=m.complex128).requires_grad_()).real,
    ),
    "columns, of which one number comes": lambda m: _one_number(m, m.ones(2, 3).t()),
    "rows, of which one number comes": lambda m: _one_number(m, m.ones(3, 2)),
    "every other number of a vector": lambda m: (
        (x := m.ones(6)[::2]),
        m.inner(x, m.ones(3).requires_grad_()),
    ),
}
"""An operand to write to, and a result that goes backward then."""


def _written_before_the_walk(m: Any, name: str) -> str:
    operand, result = WRITES[name](m)
    with m.no_grad():
        operand.mul_(2)
    try:
        result.sum().backward()
    except RuntimeError as problem:
        return "modified" if "modified" in str(problem) else str(problem)
    return "fine"


@pytest.mark.parametrize("name", WRITES)
def test_a_write_to_an_operand_is_refused_as_in_torch(name: str) -> None:
    assert _written_before_the_walk(gradwire, name) == _written_before_the_walk(torch, name)
