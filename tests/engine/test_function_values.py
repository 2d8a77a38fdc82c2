"""Custom functions on what transforms wrap: under vmap and in forward mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain, walk_back
from tests.engine.test_function import custom, refused, squared

from gradwire_engine.backward import grad
from gradwire_engine.func import jvp
from gradwire_engine.vmap import vmap

pytestmark = pytest.mark.usefixtures("each_library")


def test_one_run_for_all_examples() -> None:
    runs = []

    def forward(x: Any) -> Any:
        runs.append(x.shape)
        return op("mul", x, 2)

    x = leaf([[1, 2], [3, 4], [5, 6]])
    y = vmap(lambda x: custom(lambda g: op("mul", g, 5), x, forward=forward))(x)
    assert numbers(y) == [[2, 4], [6, 8], [10, 12]]
    assert runs == [(2,)]
    assert numbers(grad([y], [x], [plain(np.ones((3, 2)))])[0]) == [[5, 5]] * 3


def test_nested() -> None:
    x = leaf([[1, 2], [3, 4]])
    y = vmap(vmap(squared))(x)
    (g,) = grad([op("sum", y)], [x], create_graph=True)
    assert numbers(g) == [[2, 4], [6, 8]]
    assert numbers(grad([op("sum", g)], [x])[0]) == [[2, 2], [2, 2]]


def _scaled(x: Any, w: Any) -> Any:
    return custom(
        lambda x, w, g: (op("mul", g, w), op("mul", g, x)),
        x,
        w,
        forward=lambda x, w: op("mul", x, w),
        save=lambda args, outs: args,
    )


def test_the_gradient_of_what_all_share_is_the_sum() -> None:
    x, w = leaf([[1, 2], [3, 4]]), leaf([5, 6])
    y = vmap(_scaled, in_dims=(0, None))(x, w)
    found = grad([op("sum", y)], [x, w])
    assert [numbers(g) for g in found] == [[[5, 6], [5, 6]], [4, 6]]


def test_gradients_wider_than_an_example_are_summed() -> None:
    x = leaf([[1, 2], [3, 4]])
    y = vmap(lambda x: custom(lambda g: op("stack", [g, g]), x))(x)
    assert numbers(grad([op("sum", y)], [x])[0]) == [[2, 2], [2, 2]]


def test_a_saved_result_leads_back_to_its_node() -> None:
    x = leaf([[1, 2], [3, 4]])
    y = vmap(
        lambda x: custom(
            lambda y, g: op("mul", y, g),
            x,
            forward=lambda x: op("exp", x),
            save=lambda args, outs: outs,
        )
    )(x)
    (g,) = grad([op("sum", y)], [x], create_graph=True)
    assert np.allclose(numbers(grad([op("sum", g)], [x])[0]), np.exp([[1, 2], [3, 4]]))


def test_wrong_gradients_are_named() -> None:
    x = leaf([[1, 2], [3, 4]])
    y = op("sum", vmap(lambda x: custom(lambda g: (g, g), x))(x))
    refused("invalid_gradient", lambda: walk_back(y), "expected 1, got 2")


def test_tangents_follow_the_backward() -> None:
    x, t = plain([1, 2]), plain([10, 100])
    value, moved = jvp(squared, (x,), (t,))
    assert (numbers(value), numbers(moved)) == ([1, 4], [20, 400])
    _, moved = jvp(lambda x: custom(lambda g: op("mul", g, 7), x), (x,), (t,))
    assert numbers(moved) == [70, 700], "not what the forward's ops would give"


def test_tangents_of_tangents_and_over_batches() -> None:
    x, t = plain([1, 2]), plain([10, 100])
    _, second = jvp(lambda x: jvp(squared, (x,), (t,))[1], (x,), (t,))
    assert numbers(second) == [200, 20000]
    rows = plain([[1, 0], [0, 1], [1, 1]])
    along = vmap(lambda t: jvp(squared, (x,), (t,))[1])(rows)
    assert numbers(along) == [[2, 0], [0, 4], [2, 4]]
    _, moved = jvp(vmap(squared), (rows,), (rows,))
    assert numbers(moved) == [[2, 0], [0, 2], [2, 2]]


def test_tangents_are_differentiated() -> None:
    x = leaf([1, 2])
    _, moved = jvp(squared, (x,), (plain([3, 4]),))
    assert numbers(grad([op("sum", moved)], [x])[0]) == [6, 8]


def test_outputs_that_are_not_differentiable_have_no_tangent() -> None:
    def both(x: Any) -> Any:
        return custom(
            lambda g, h: op("mul", g, 2),
            x,
            forward=lambda x: (op("mul", x, 2), op("mul", x, 3)),
            apart=lambda args, outs: outs[1:],
        )[:]

    _, (moved, still) = jvp(lambda x: tuple(both(x)), (plain([1, 2]),), (plain([1, 1]),))
    assert (numbers(moved), numbers(still)) == ([2, 2], [0, 0])


def test_an_argument_without_gradient_moves_nothing() -> None:
    _, moved = jvp(lambda x: custom(lambda g: None, x), (plain([1, 2]),), (plain([1, 1]),))
    assert numbers(moved) == [0, 0]
