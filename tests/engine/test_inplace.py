"""In-place ops: what they write, what they record, what they refuse; expectations are torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, made, numbers, op, plain, refused, slopes, walk_back, write

from gradwire_engine.backward import grad
from gradwire_engine.errors import GradwireError
from gradwire_engine.journal import transaction

pytestmark = pytest.mark.usefixtures("each_library")


# what is written and recorded


@pytest.mark.parametrize(
    ("name", "rest", "value", "of_x", "of_w"),
    [
        ("mul_", "w", [4, 12, 24, 40], [4, 6, 8, 10], [2, 4, 6, 8]),
        ("sub_", "w", [0, 1, 2, 3], [2, 2, 2, 2], [-1, -1, -1, -1]),
        ("div_", "w", [1, 4 / 3, 1.5, 1.6], [1, 2 / 3, 0.5, 0.4], [-0.5, -4 / 9, -0.375, -0.32]),
        ("pow_", 2, [4, 16, 36, 64], [8, 16, 24, 32], None),
        ("square_", (), [4, 16, 36, 64], [8, 16, 24, 32], None),
        ("clamp_", (0, 3), [2, 3, 3, 3], [2, 0, 0, 0], None),
        ("copy_", "w", [2, 3, 4, 5], [0, 0, 0, 0], [1, 1, 1, 1]),
        ("fill_", 7, [7, 7, 7, 7], [0, 0, 0, 0], None),
        ("zero_", (), [0, 0, 0, 0], [0, 0, 0, 0], None),
    ],
)
def test_an_op_in_place_differentiates_by_the_content_from_before(
    name: str, rest: Any, value: Any, of_x: Any, of_w: Any
) -> None:
    x, w, y = made()
    more = (w,) if rest == "w" else rest if isinstance(rest, tuple) else (rest,)
    assert write(name, y, *more) is y
    np.testing.assert_allclose(numbers(y), value)
    found = slopes(y, x, w)
    np.testing.assert_allclose(found[0], of_x)
    assert found[1] is None if of_w is None else np.allclose(found[1], of_w)
    assert y.version == 1


def test_a_result_that_the_rule_needs_must_not_change_afterwards() -> None:
    x, _, y = made()
    write("exp_", y)
    np.testing.assert_allclose(slopes(y, x)[0], 2 * np.exp([2, 4, 6, 8]))
    _, _, y = made()
    write("exp_", y)
    write("add_", y, 1)
    with pytest.raises(GradwireError, match="version 2, expected version 1") as problem:
        walk_back(y)
    assert problem.value.code == "modified_in_place"


def test_square_keeps_its_operand_and_exp_its_result() -> None:
    x = leaf([1.0, 2.0])
    y = op("pow", x, 2)
    write("add_", y, 1)
    assert slopes(y, x) == [[2, 4]]
    y = op("exp", x)
    write("add_", y, 1)
    with pytest.raises(GradwireError) as problem:
        walk_back(y)
    assert problem.value.code == "modified_in_place"


def test_the_same_tensor_as_both_operands_is_modified() -> None:
    x, _, y = made()
    write("add_", y, y)
    assert slopes(y, x) == [[4, 4, 4, 4]]
    write("mul_", y, y)
    with pytest.raises(GradwireError) as problem:
        walk_back(y)
    assert problem.value.code == "modified_in_place"


def test_second_derivatives_go_through() -> None:
    x = leaf([1.0, 2.0])
    y = op("mul", x, 1)
    write("mul_", y, x)
    write("mul_", y, x)
    (g,) = grad([op("sum", y)], [x], create_graph=True)
    assert g is not None
    assert numbers(g) == [3, 12]
    assert slopes(g, x) == [[6, 12]]


def test_a_plain_tensor_takes_over_the_history_of_what_is_written() -> None:
    w = leaf([2.0, 3.0])
    total = plain([0, 0])
    view = op("select", total, 0, 0)
    write("add_", total, w)
    assert (total.is_leaf, view.requires_grad, view.grad_fn.name()) == (  # type: ignore[union-attr]
        False,
        True,
        "AsStridedBackward0",
    )
    assert slopes(view, w) == [[1, 0]]


def test_the_gradient_has_the_operands_dtype() -> None:
    x = leaf([1, 2], dtype="float64")
    y = plain([0, 0], dtype="float32")
    write("add_", y, x)
    assert y.dtype.name == "float32"
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "AddBackward0"
    walk_back(y)
    assert x.grad is not None
    assert x.grad.dtype.name == "float64"


# views


def test_a_write_through_a_view_is_seen_everywhere_and_differentiates() -> None:
    x, w, y = made()
    part, other = op("slice", y, 0, 1, 3), op("view", y, (2, 2))
    write("mul_", part, op("slice", w, 0, 0, 2))
    assert numbers(y) == [2, 8, 18, 8]
    assert numbers(other) == [[2, 8], [18, 8]]
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "CopySlices"
    assert [t.version for t in (y, part, other)] == [1, 1, 1]
    assert slopes(y, x, w) == [[2, 4, 6, 2], [4, 6, 0, 0]]
    assert slopes(part, x, w) == [[0, 4, 6, 0], [4, 6, 0, 0]]
    assert slopes(other, x, w) == [[2, 4, 6, 2], [4, 6, 0, 0]]


def test_what_a_write_through_a_view_saved_stays_as_it_was() -> None:
    x, w, y = made()
    write("mul_", op("slice", y, 0, 1, 3), op("slice", w, 0, 0, 2))
    write("mul_", op("slice", y, 0, 1, 3), op("slice", w, 0, 0, 2))
    assert slopes(y, x, w) == [[2, 8, 18, 2], [2 * 2 * 4, 2 * 3 * 6, 0, 0]]


def test_a_write_to_the_base_renews_its_views() -> None:
    x, _, y = made()
    view = op("select", op("view", y, (2, 2)), 0, 1)
    write("mul_", y, 3)
    assert numbers(view) == [18, 24]
    assert slopes(view, x) == [[0, 0, 6, 6]]
    assert view.grad_fn is not None
    assert view.grad_fn.name() == "AsStridedBackward0"


def test_views_of_views_write_through_all_of_them() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    y = op("mul", x, 1)
    inner = op("select", op("transpose", y, 0, 1), 0, 2)
    write("copy_", inner, plain([10, 20]))
    assert numbers(y) == [[0, 1, 10], [3, 4, 20]]
    assert slopes(y, x) == [[[1, 1, 0], [1, 1, 0]]]


def test_a_slice_copied_within_a_tensor() -> None:
    x, _, y = made()
    write("__setitem__", y, 0, op("__getitem__", y, 1))
    assert numbers(y) == [4, 4, 6, 8]
    assert slopes(y, x) == [[0, 4, 2, 2]]


def test_detach_shares_elements_and_version_but_no_history() -> None:
    x, w, y = made()
    shared = y.detach()
    write("mul_", shared, w)
    assert numbers(y) == numbers(shared) == [4, 12, 24, 40]
    assert y.version == 1
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "MulBackward0"
    assert slopes(y, x, w) == [[2, 2, 2, 2], None]
    assert slopes(shared, w) == [[2, 4, 6, 8]]
    write("mul_", x.detach(), 2)
    assert numbers(x) == [2, 4, 6, 8]
    assert x.version == 1


# gradients kept, detach_, requires_grad_


def test_a_retained_gradient_is_that_of_the_latest_content() -> None:
    x, _, y = made()
    y.retain_grad()
    z = op("mul", y, 1)
    write("mul_", y, 3)
    walk_back(op("add", y, z))
    assert numbers(y.grad) == [1, 1, 1, 1]
    assert numbers(x.grad) == [8, 8, 8, 8]


def test_a_view_retains_its_gradient_over_a_write_to_the_base() -> None:
    x, _, y = made()
    view = op("slice", y, 0, 0, 2).retain_grad()
    write("mul_", y, 3)
    walk_back(view)
    assert numbers(view.grad) == [1, 1]
    assert numbers(x.grad) == [6, 6, 0, 0]


def test_detach_in_place_forgets_the_history() -> None:
    x, _, y = made()
    write("detach_", y)
    assert (y.requires_grad, y.is_leaf) == (False, True)
    refused("view_in_place", "detach_", op("slice", x, 0, 0, 2))


def test_a_view_that_was_made_a_leaf_stays_one_until_its_base_has_a_history() -> None:
    w, y = leaf([1, 2, 3, 4]), plain([0, 0, 0, 0])
    view = op("slice", y, 0, 0, 2).requires_grad_()
    write("add_", y, 1)
    assert (y.requires_grad, view.is_leaf, view.requires_grad) == (False, True, True)
    write("add_", y, w)
    assert (y.requires_grad, view.is_leaf, view.requires_grad) == (True, False, True)


# all or nothing, and without elements


def test_a_transaction_undoes_every_write() -> None:
    x, w, y = made()
    view = op("slice", y, 0, 1, 3)
    before = numbers(y), y.version, y.grad_fn
    with pytest.raises(RuntimeError, match="on purpose"), transaction():
        write("mul_", view, 2)
        write("__setitem__", y, 0, 5)
        write("add_", view, op("slice", w, 0, 0, 2))
        write("exp_", y)
        raise RuntimeError("on purpose")
    assert (numbers(y), y.version, y.grad_fn) == before
    assert slopes(view, x, w) == [[0, 2, 2, 0], None]


def test_a_nested_transaction_undoes_its_own_writes_only() -> None:
    x = plain([0, 0, 0])
    with transaction():
        write("__setitem__", x, 0, 1)
        with pytest.raises(ValueError, match="on purpose"), transaction():
            write("__setitem__", x, 0, 2)
            write("__setitem__", x, 1, 2)
            raise ValueError("on purpose")
        assert numbers(x) == [1, 0, 0]
        write("__setitem__", x, 2, 3)
    assert numbers(x) == [1, 0, 3]


def test_writes_in_one_transaction_copy_the_storage_once() -> None:
    x = plain(np.zeros(1000))
    with transaction():
        before = id(x.storage.array)
        write("__setitem__", x, 0, 1)
        assert id(x.storage.array) == before  # the journal has the one element
        write("__setitem__", x, 1, 1)
        array = id(x.storage.array)
        assert array != before
        for place in range(2, 20):
            write("__setitem__", x, place, 1)
        assert id(x.storage.array) == array
    held = x.numpy()
    write("__setitem__", x, 0, 9)
    assert held[0] == 1
    assert numbers(x)[:2] == [9, 1]


def test_meta_tensors_are_refused_and_counted_alike() -> None:
    x = leaf([1, 2, 3, 4], device="meta")
    y = op("mul", x, 2)
    view = op("slice", y, 0, 0, 2)
    write("mul_", view, 2)
    write("__setitem__", y, 0, 1.0)
    assert (y.version, view.version) == (2, 2)
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "CopySlices"
    for code, target in (("leaf_in_place", x), ("leaf_in_place", op("slice", x, 0, 0, 2))):
        with pytest.raises(GradwireError) as problem:
            write("add_", target, 1)
        assert problem.value.code == code
    with pytest.raises(GradwireError) as problem:
        write("add_", op("chunk", y, 2)[0], 1)
    assert problem.value.code == "view_in_place"
