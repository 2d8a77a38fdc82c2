"""Anomaly mode: which node made the first NaN, and where it came from."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.calls import leaf, numbers, op, plain, walk_back

from gradwire_engine.anomaly import detect_anomaly
from gradwire_engine.backward import grad
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import using
from gradwire_engine.tensor import Tensor

pytestmark = pytest.mark.usefixtures("each_library")


def faulty() -> tuple[Tensor, Tensor]:
    """x, and a result whose gradient by x is 0 · inf."""
    x = leaf([0.0, 1.0])
    return x, op("mul", op("mul", op("sqrt", x), 0), 5)


def caught(run: Any) -> GradwireError:
    with pytest.raises(GradwireError) as problem:
        run()
    assert problem.value.code == "nan_gradient"
    assert isinstance(problem.value, RuntimeError)
    return problem.value


def test_the_node_that_made_the_first_nan_is_named() -> None:
    x, y = faulty()
    with detect_anomaly():
        problem = caught(lambda: walk_back(y))
    assert "Function 'SqrtBackward0' returned nan values in its 0th output" in problem.detail
    assert x.grad is None
    walk_back(y)
    assert str(numbers(x.grad)) == "[nan, 0.0]"


def test_which_of_the_gradients_is_nan_is_said() -> None:
    a, b = leaf([1.0]), leaf([float("inf")])
    y = op("mul", a, op("mul", b, 0))  # the gradient of b is finite, that of a is nan
    with detect_anomaly():
        assert (
            "'MulBackward0' returned nan values in its 0th" in caught(lambda: walk_back(y)).detail
        )


def test_the_step_that_built_it_is_named() -> None:
    _, y = faulty()
    with using(origin=lambda seq: "step 3, tensor h"), detect_anomaly():
        assert "step 3, tensor h" in caught(lambda: walk_back(y)).detail


def test_batched_cotangents() -> None:
    x = leaf([0.0, 1.0])
    y = op("mul", op("sqrt", x), 0)
    with detect_anomaly():
        caught(lambda: grad([y], [x], [plain([[1, 0], [0, 1]])], is_grads_batched=True))


def test_infinities_are_no_anomaly() -> None:
    x = leaf([0.0])
    with detect_anomaly():
        walk_back(op("sqrt", x))
    assert numbers(x.grad) == [float("inf")]


def test_a_nan_that_comes_in_is_found_where_it_is_passed_on() -> None:
    x = leaf([1.0])
    y = op("mul", x, 2)
    with detect_anomaly():
        problem = caught(lambda: grad([y], [x], [plain([float("nan")])]))
    assert "MulBackward0" in problem.detail


@pytest.mark.parametrize("create_graph", [False, True])
def test_with_create_graph(create_graph: bool) -> None:
    x, y = faulty()
    with detect_anomaly():
        caught(lambda: grad([op("sum", y)], [x], create_graph=create_graph))


def test_it_can_be_switched_off_inside_and_told_not_to_look() -> None:
    x, y = faulty()
    with detect_anomaly(), detect_anomaly(False):
        walk_back(y)
    _, y = faulty()
    with detect_anomaly(check_nan=False):
        walk_back(y)
    assert x.grad is not None


def test_nothing_else_changes() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = op("sum", op("exp", op("matmul", x, x)))
    plain_ = numbers(grad([y], [x], retain_graph=True)[0])
    with detect_anomaly():
        assert numbers(grad([y], [x])[0]) == plain_
