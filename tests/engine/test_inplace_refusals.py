"""What in-place ops refuse, at the same places as torch; expectations are torch's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.calls import leaf, made, numbers, op, plain, refused, slopes, write

from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import inference_mode, no_grad

pytestmark = pytest.mark.usefixtures("each_library")


def test_a_leaf_that_requires_grad_and_its_views_are_refused() -> None:
    x = leaf([1, 2, 3, 4])
    refused("leaf_in_place", "mul_", x, 2)
    refused("leaf_in_place", "mul_", op("slice", x, 0, 0, 2), 2)
    view = op("slice", plain([1, 2, 3]), 0, 0, 2).requires_grad_()
    refused("leaf_in_place", "mul_", view, 2)
    with no_grad():
        write("mul_", x, 2)
        write("add_", op("slice", x, 0, 0, 2), 1)
    assert numbers(x) == [3, 5, 6, 8]
    assert x.version == 2
    assert x.requires_grad
    assert x.is_leaf


def test_one_of_several_views_is_refused_once_gradients_flow() -> None:
    x, w, y = made()
    first, _ = op("chunk", y, 2)
    refused("view_in_place", "mul_", first, 2)
    refused("view_in_place", "mul_", op("slice", first, 0, 0, 1), 2)
    first, second = op("chunk", plain([1, 2, 3, 4]), 2)
    write("mul_", first, 2)
    refused("view_in_place", "copy_", second, op("slice", w, 0, 0, 2))
    alone, _ = op("tensor_split", y, 2)
    write("mul_", alone, 2)
    assert slopes(y, x) == [[4, 4, 2, 2]]


def test_several_views_cannot_be_used_after_a_write_to_their_base() -> None:
    _, _, y = made()
    first, _ = op("chunk", y, 2)
    write("mul_", y, 2)
    assert first.requires_grad
    with pytest.raises(GradwireError) as problem:
        op("mul", first, 2)
    assert problem.value.code == "view_in_place"


def test_a_view_made_without_grad_mode_is_refused_with_it() -> None:
    x, _, y = made()
    with no_grad():
        view, of_leaf = op("slice", y, 0, 0, 2), op("slice", x, 0, 0, 2)
    assert view.requires_grad
    assert view.grad_fn is None
    assert not view.retain_grad().retains_grad
    refused("view_in_place", "mul_", view, 2)
    refused("view_in_place", "mul_", of_leaf, 2)
    with no_grad():
        write("mul_", view, 2)
    assert numbers(y) == [4, 8, 6, 8]
    write("mul_", y, 2)
    with pytest.raises(GradwireError) as problem:
        op("mul", view, 2)
    assert problem.value.code == "view_in_place"


def test_inference_tensors_are_refused_outside_inference_mode() -> None:
    with inference_mode():
        made_there = op("zeros", (4,))
        write("add_", made_there, 1)
    refused("inference_tensor", "add_", made_there, 1)
    with no_grad():
        refused("inference_tensor", "add_", made_there, 1)
    normal = plain([0, 0, 0, 0])
    with inference_mode():
        view = op("slice", normal, 0, 0, 2)
        write("add_", normal, 1)
    write("add_", view, 1)
    assert numbers(normal) == [2, 2, 1, 1]
    _, _, y = made()
    with inference_mode():
        view = op("slice", y, 0, 0, 2)
    refused("view_in_place", "add_", view, 1)


def test_expanded_tensors_take_one_value_only() -> None:
    wide = op("expand", plain([1]), (4,))
    refused("view_in_place", "add_", wide, 1)
    refused("view_in_place", "copy_", wide, plain([1, 2, 3, 4]))
    write("fill_", wide, 3)
    assert numbers(wide) == [3, 3, 3, 3]
    write("__setitem__", wide, 0, 5)
    assert numbers(wide) == [5, 5, 5, 5]


def test_operands_that_share_some_of_the_memory_are_refused() -> None:
    x = plain([0, 1, 2, 3, 4])
    late, early = op("slice", x, 0, 1), op("slice", x, 0, 0, 4)
    refused("view_in_place", "add_", late, early)
    refused("view_in_place", "copy_", late, early)
    refused("view_in_place", "add_", x, op("select", x, 0, 0))
    square = plain([[0, 1], [2, 3]])
    refused("view_in_place", "add_", square, op("transpose", square, 0, 1))
    write("add_", x, op("slice", x, 0, 0, 5))
    assert numbers(x) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("dtype", "name", "operand"),
    [
        ("int64", "add_", 1.5),
        ("int64", "div_", 2),
        ("bool", "add_", 1),
        ("float32", "mul_", 1j),
    ],
)
def test_a_result_of_a_higher_category_does_not_fit(dtype: str, name: str, operand: Any) -> None:
    refused("dtype_mismatch", name, plain([0, 1], dtype), operand)


def test_copies_and_fills_convert() -> None:
    whole = plain([0, 0], "int64")
    write("copy_", whole, plain([1.7, -1.7]))
    assert numbers(whole) == [1, -1]
    write("fill_", whole, 2.9)
    assert numbers(whole) == [2, 2]


def test_a_result_must_not_be_larger_than_the_target() -> None:
    refused("shape_mismatch", "add_", plain([1, 2]), plain([[1, 2], [3, 4]]))
    refused("shape_mismatch", "copy_", plain([1, 2]), plain([[1, 2], [3, 4]]))
    wide = plain([[1, 2], [3, 4]])
    write("add_", wide, plain([10, 20]))
    assert numbers(wide) == [[11, 22], [13, 24]]


def test_an_op_without_an_in_place_form_is_not_found() -> None:
    with pytest.raises(GradwireError) as problem:
        write("sum_", plain([1, 2]))
    assert problem.value.code == "op_not_found"
