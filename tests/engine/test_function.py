"""Custom functions: what the backward gets and may give, and how outputs stand in the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain, slopes, walk_back, write
from tests.engine.programs import Python

from gradwire_engine.backward import backward, grad
from gradwire_engine.errors import GradwireError
from gradwire_engine.fork import fork
from gradwire_engine.function import Made, apply
from gradwire_engine.function_rule import Function
from gradwire_engine.mode import inference_mode, local, no_grad
from gradwire_engine.tensor import Tensor

pytestmark = pytest.mark.usefixtures("each_library")


def custom(
    back: Callable[..., Any],
    *args: Any,
    forward: Callable[..., Any] = lambda x, *_: op("mul", x, 2),
    save: Callable[..., Any] = lambda args, outs: (),
    dirty: Callable[..., Any] = lambda args, outs: (),
    apart: Callable[..., Any] = lambda args, outs: (),
    **options: Any,
) -> Any:
    """Apply a function with this forward and backward; save, dirty and apart pick tensors."""

    def run(*given: Any) -> Made:
        found = forward(*given)
        outs = found if isinstance(found, tuple) else (found,)
        made = Function("Mine", Python(back), **options)
        return Made(made, outs, save(given, outs), apart(given, outs), dirty(given, outs))

    found = apply(run, args)
    return found[0] if len(found) == 1 else found


def squared(x: Tensor, **options: Any) -> Tensor:
    """x² by a function that saves x."""
    return custom(  # type: ignore[no-any-return]
        lambda x, g: op("mul", op("mul", x, 2), g),
        x,
        forward=lambda x: op("mul", x, x),
        save=lambda args, outs: args,
        **options,
    )


def refused(code: str, run: Callable[[], object], *words: str) -> None:
    with pytest.raises(GradwireError) as caught:
        run()
    assert caught.value.code == code
    assert isinstance(caught.value, RuntimeError)
    assert all(word in caught.value.detail for word in words), caught.value.detail


def test_the_backward_decides_the_gradient() -> None:
    x = leaf([1, 2])
    y = custom(lambda g: op("mul", g, 5), x)
    assert y.grad_fn.name() == "MineBackward"
    walk_back(op("mul", y, 3))
    assert (numbers(y), numbers(x.grad)) == ([2, 4], [15, 15])


def test_forward_and_backward_record_nothing_unless_asked_to() -> None:
    modes: list[bool] = []
    x = leaf([1, 2])
    y = custom(
        lambda g: modes.append(local.state.grad) or g,  # type: ignore[func-returns-value]
        x,
        forward=lambda x: modes.append(local.state.grad) or op("exp", x),  # type: ignore[func-returns-value]
    )
    grad([op("sum", y)], [x], retain_graph=True)
    grad([op("sum", y)], [x], create_graph=True)
    assert modes == [False, False, True]


def test_saved_arguments_come_back() -> None:
    assert slopes(squared(x := leaf([1, 2, 3])), x) == [[2, 4, 6]]


def test_a_recorded_backward_is_differentiated() -> None:
    x = leaf([1, 2, 3])
    (first,) = grad([op("sum", op("pow", squared(x), 2))], [x], create_graph=True)  # x⁴
    assert first is not None
    (second,) = grad([op("sum", first)], [x], create_graph=True)
    assert second is not None
    (third,) = grad([op("sum", second)], [x])
    found = [numbers(g) for g in (first, second, third)]
    assert found == [[4, 32, 108], [12, 48, 108], [24, 48, 72]]


def test_a_saved_result_leads_back_to_its_node() -> None:
    x = leaf([0.0, 1.0])
    y = custom(
        lambda y, g: op("mul", y, g),
        x,
        forward=lambda x: op("exp", x),
        save=lambda args, outs: outs,
    )
    (first,) = grad([op("sum", y)], [x], create_graph=True)
    assert first is not None
    np.testing.assert_allclose(slopes(first, x)[0], np.exp([0, 1]))


def test_what_is_saved_from_elsewhere_is_a_constant() -> None:
    x, k = leaf([1, 2]), plain([10, 20])
    y = custom(lambda k, g: op("mul", k, g), x, save=lambda args, outs: (k,))
    assert slopes(y, x) == [[10, 20]]
    write("add_", k, 1)
    refused("modified_in_place", lambda: slopes(y, x), "a tensor", "MineBackward")


def test_numbers_and_null_may_be_saved() -> None:
    x = leaf([1, 2])
    y = custom(
        lambda k, nothing, g: op("mul", g, k) if nothing is None else None,
        x,
        save=lambda args, outs: (7, None),
    )
    assert slopes(y, x) == [[7, 7]]


def test_saved_tensors_are_freed_and_their_versions_watched() -> None:
    x = leaf([1, 2])
    y = squared(x)
    walk_back(y)
    refused("graph_freed", lambda: walk_back(y), "MineBackward")
    z = squared(op("mul", x, 1))
    h = op("mul", x, 1)
    z = squared(h)
    write("add_", h, 1)
    refused("modified_in_place", lambda: walk_back(z), "operand 0", "MineBackward")


def test_a_function_that_saves_nothing_is_walked_as_often_as_one_likes() -> None:
    x = leaf([1, 2])
    y = custom(lambda g: g, x)
    walk_back(y)
    walk_back(y)
    assert numbers(x.grad) == [2, 2]


def test_arguments_that_are_no_tensors() -> None:
    x = leaf([1, 2])
    y = custom(
        lambda g: (op("mul", g, 3), None, None),
        x,
        3,
        "word",
        forward=lambda x, n, word: op("mul", x, n),
    )
    assert slopes(y, x) == [[3, 3]]
    assert [n.name() for n, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]


@pytest.mark.parametrize(
    ("back", "words"),
    [
        (lambda g: g, "incorrect number of gradients (expected 2, got 1)"),
        (lambda g: (g, None, g), "incorrect number of gradients (expected 2, got 3)"),
        (lambda g: (g, g), "different than None at position 2"),
        (lambda g: (op("sum", g), None), "at index 0 - got [] but expected shape compatible"),
        (lambda g: (plain([1, 2, 3]), None), "got [3] but expected shape compatible with [2]"),
        (lambda g: (op("mul", g, 1j), None), "got complex128 for an input of float64"),
        (lambda g: (3, None), "expected a tensor or None, got int"),
    ],
)
def test_wrong_gradients(back: Callable[..., Any], words: str) -> None:
    x = leaf([1, 2])
    y = custom(back, x, 2)
    refused("invalid_gradient", lambda: walk_back(y), words, "MineBackward")
    assert x.grad is None


def test_gradients_are_brought_to_shape_and_dtype() -> None:
    x = leaf([[1, 2], [3, 4]], dtype="float32")
    y = custom(lambda g: (op("to", op("expand", g, (3, 2, 2)), "float64"), None), x)
    (g,) = grad([op("sum", y)], [x])
    assert g is not None
    assert (numbers(g), g.dtype.name) == ([[3, 3], [3, 3]], "float32")


def test_gradients_of_arguments_that_need_none_may_be_anything() -> None:
    x = leaf([1, 2])
    y = custom(lambda g: (g, plain([1, 2, 3, 4, 5])), x, plain([1, 1]))
    assert slopes(y, x) == [[1, 1]]


def test_null_is_no_gradient() -> None:
    x = leaf([1, 2])
    walk_back(custom(lambda g: (None,), x))
    assert x.grad is None


def two(x: Tensor, seen: list[Any], **options: Any) -> Any:
    def back(g: Any, h: Any) -> Any:
        seen.append([numbers(g), numbers(h)])
        return g if g is not None else h

    return custom(back, x, forward=lambda x: (op("mul", x, 2), op("mul", x, 3)), **options)


@pytest.mark.parametrize("materialize", [True, False])
def test_absent_gradients_are_zeros_or_null(materialize: bool) -> None:
    seen: list[Any] = []
    x = leaf([1, 2])
    a, b = two(x, seen, materialize_grads=materialize)
    walk_back(a)
    walk_back(b)
    walk_back(op("add", a, b))
    nothing = [0, 0] if materialize else None
    assert seen == [[[1, 1], nothing], [nothing, [1, 1]], [[1, 1], [1, 1]]]


def test_outputs_that_are_not_differentiable() -> None:
    seen: list[Any] = []
    a, b = two(leaf([1, 2]), seen, apart=lambda args, outs: outs[1:])
    assert (a.requires_grad, b.requires_grad, b.is_leaf) == (True, False, True)
    walk_back(a)
    assert seen == [[[1, 1], [0, 0]]]


def test_outputs_of_all_kinds() -> None:
    seen: list[Any] = []
    x = leaf([1, 2])
    a, word, whole = custom(
        lambda *g: seen.append(list(map(numbers, g))) or g[0],  # type: ignore[func-returns-value]
        x,
        forward=lambda x: (op("mul", x, 3), "word", op("to", x, "int64")),
    )
    assert (word, whole.requires_grad) == ("word", False)
    walk_back(a)
    assert seen == [[[1, 1], None, [0, 0]]]


def test_nothing_is_recorded_where_nothing_can_be() -> None:
    assert not custom(lambda g: g, plain([1])).requires_grad
    with no_grad():
        assert not custom(lambda g: g, leaf([1])).requires_grad


# arguments given back, views, in place


def test_an_argument_given_back_is_a_view_with_the_functions_node() -> None:
    x = leaf([1, 2])
    y = custom(lambda g: op("mul", g, 5), x, forward=lambda x: x)
    assert y is not x
    assert (y.storage is x.storage, x.is_leaf, y.grad_fn.name()) == (True, True, "MineBackward")
    assert slopes(y, x) == [[5, 5]]
    refused("view_in_place", lambda: write("mul_", y, 2), "custom function")


def test_an_argument_given_back_twice() -> None:
    x = leaf([1, 2])
    a, b = custom(lambda g, h: op("add", g, op("mul", h, 10)), x, forward=lambda x: (x, x))
    assert a is not b
    assert slopes(op("add", a, op("mul", b, 2)), x) == [[21, 21]]


def test_a_view_of_an_argument_is_restricted() -> None:
    x = op("mul", leaf([1, 2]), 1)
    y = custom(lambda g: g, x, forward=lambda x: op("slice", x, 0, 0, 1))
    assert y.grad_fn.name() == "MineBackward"
    refused("view_in_place", lambda: write("mul_", y, 2), "custom function")
    write("mul_", x, 2)
    refused("view_in_place", lambda: y.grad_fn, "custom function")


def dirty(x: Tensor) -> Any:
    return custom(
        lambda g: op("mul", g, 5),
        x,
        forward=lambda x: write("mul_", x, 3),
        dirty=lambda args, outs: args,
    )


def test_a_dirty_argument_gets_the_functions_node() -> None:
    x = leaf([1, 2])
    z = op("mul", x, 1)
    y = dirty(z)
    assert y is z
    assert (z.grad_fn.name(), z.version, numbers(z)) == ("MineBackward", 2, [3, 6])
    assert slopes(z, x) == [[5, 5]]


def test_a_dirty_view_rewrites_its_base() -> None:
    x = leaf([1, 2])
    z = op("mul", x, 1)
    view = op("slice", z, 0, 0, 1)
    dirty(view)
    assert numbers(z) == [3, 2]
    assert slopes(z, x) == [[5, 1]]
    assert view.grad_fn.name() == "AsStridedBackward0"


def test_a_dirty_leaf_is_refused_and_stays_as_it_was() -> None:
    x = leaf([1, 2])
    refused("leaf_in_place", lambda: dirty(x))
    assert (numbers(x), x.version, x.is_leaf) == ([1, 2], 0, True)


def test_what_is_dirty_must_be_given_back() -> None:
    z = op("mul", leaf([1, 2]), 1)
    forget = lambda x: op("mul", write("mul_", x, 3), 1)  # noqa: E731
    refused(
        "invalid_argument",
        lambda: custom(lambda g: g, z, forward=forget, dirty=lambda args, outs: args),
        "dirty",
    )
    assert (numbers(z), z.version) == ([1, 2], 0)


def test_a_dirty_view_can_not_be_one_of_several_outputs() -> None:
    z = op("mul", leaf([1, 2]), 1)
    refused(
        "view_in_place",
        lambda: custom(
            lambda g, h: g,
            op("slice", z, 0, 0, 1),
            forward=lambda x: (write("mul_", x, 3), op("mul", x, 1)),
            dirty=lambda args, outs: args,
        ),
    )
    assert numbers(z) == [1, 2]


# once differentiable


def test_once_differentiable_is_differentiated_once() -> None:
    x = leaf([1, 2])
    y = squared(op("mul", x, 1), once_differentiable=True)
    v = leaf([1, 1])
    (g,) = grad([y], [x], [v], create_graph=True)
    assert g is not None and numbers(g) == [2, 4] and g.requires_grad
    refused("requires_no_grad", lambda: walk_back(g), "once_differentiable")


def test_without_create_graph_it_is_like_any_other() -> None:
    x = leaf([1, 2])
    assert slopes(squared(x, once_differentiable=True), x) == [[2, 4]]


# around it


@pytest.mark.parametrize("create_graph", [False, True])
def test_batched_cotangents(create_graph: bool) -> None:
    x = leaf([1, 2])
    rows = plain([[1, 0], [0, 1], [2, 2]])
    (g,) = grad([squared(x)], [x], [rows], is_grads_batched=True, create_graph=create_graph)
    assert numbers(g) == [[2, 0], [0, 4], [4, 8]]


def test_a_fork_walks_it_too() -> None:
    x = leaf([1, 2])
    y = squared(x)
    two = fork({"x": x, "y": y})
    walk_back(y)
    walk_back(two["y"])
    assert numbers(two["x"].grad) == [2, 4]


def test_inference_tensors_are_not_saved() -> None:
    with inference_mode():
        k = plain([1, 2])
    refused(
        "inference_tensor",
        lambda: custom(lambda k, g: g, leaf([1, 2]), save=lambda args, outs: (k,)),
    )


def test_retained_gradients_and_hooks_of_its_outputs() -> None:
    x = leaf([1, 2])
    y = squared(x)
    y.retain_grad()
    backward([op("sum", op("mul", y, 3))])
    assert (numbers(y.grad), numbers(x.grad)) == ([3, 3], [6, 12])
