"""Views: which ops share memory, under which name, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain, slopes, write

from gradwire_engine.errors import GradwireError
from gradwire_engine.tensor import Tensor

pytestmark = pytest.mark.usefixtures("each_library")

NAMES: list[tuple[str, tuple[Any, ...], str]] = [
    ("transpose", (0, 1), "TransposeBackward0"),
    ("swapaxes", (0, 1), "TransposeBackward0"),
    ("permute", ((1, 0),), "PermuteBackward0"),
    ("t", (), "TBackward0"),
    ("T", (), "PermuteBackward0"),
    ("mT", (), "TransposeBackward0"),
    ("H", (), "TransposeBackward0"),
    ("movedim", (0, 1), "PermuteBackward0"),
    ("squeeze", (), "SqueezeBackward0"),
    ("squeeze", (0,), "SqueezeBackward1"),
    ("squeeze", ((0, 1),), "SqueezeBackward2"),
    ("unsqueeze", (0,), "UnsqueezeBackward0"),
    ("flatten", (), "ViewBackward0"),
    ("unflatten", (1, (2, 3)), "ViewBackward0"),
    ("ravel", (), "ViewBackward0"),
    ("view", ((24,),), "ViewBackward0"),
    ("reshape", ((3, 8),), "ViewBackward0"),
    ("expand", ((2, 4, 6),), "ExpandBackward0"),
    ("broadcast_to", ((2, 4, 6),), "ExpandBackward0"),
    ("select", (0, 1), "SelectBackward0"),
    ("narrow", (0, 1, 2), "SliceBackward0"),
    ("diagonal", (), "DiagonalBackward0"),
    ("unfold", (0, 2, 1), "UnfoldBackward0"),
    ("split", (2,), "SplitBackward0"),
    ("split", ((1, 3),), "SplitWithSizesBackward0"),
    ("chunk", (2,), "SplitBackward0"),
    ("tensor_split", (2,), "SliceBackward0"),
    ("hsplit", (2,), "SliceBackward0"),
    ("unbind", (), "UnbindBackward0"),
    ("as_strided", ((2, 2), (1, 2)), "AsStridedBackward0"),
    ("__getitem__", (0,), "SelectBackward0"),
    ("__getitem__", (slice(None),), "SliceBackward0"),
    ("__getitem__", (slice(0, 4),), "SliceBackward0"),
    ("__getitem__", ((slice(0, 4), slice(None)),), "AliasBackward0"),
    ("__getitem__", (...,), "AliasBackward0"),
    ("__getitem__", ((),), "AliasBackward0"),
    ("__getitem__", (None,), "UnsqueezeBackward0"),
    ("__getitem__", ((slice(None), slice(1, None)),), "SliceBackward0"),
]


def first(result: Any) -> Tensor:
    return result[0] if isinstance(result, (list, tuple)) else result


@pytest.mark.parametrize(("name", "rest", "node"), NAMES)
def test_a_view_shares_memory_and_is_named_as_in_torch(
    name: str, rest: tuple[Any, ...], node: str
) -> None:
    x = leaf(np.arange(24.0).reshape(4, 6))
    seen = first(op(name, x, *rest))
    assert seen.storage is x.storage
    assert seen.view is not None
    assert seen.view.base is x
    assert seen.grad_fn is not None
    assert seen.grad_fn.name() == node


COPIES: list[tuple[str, tuple[Any, ...], str]] = [
    ("flip", ((0,),), "FlipBackward0"),
    ("roll", (1,), "RollBackward0"),
    ("rot90", (), "Rot90Backward0"),
    ("tril", (), "TrilBackward0"),
    ("diag", (), "DiagonalBackward0_copy"),
    ("diag_embed", (), "DiagEmbedBackward0"),
    ("repeat", ((2, 1),), "RepeatBackward0"),
    ("constant_pad_nd", ((1, 1),), "ConstantPadNdBackward0"),
    ("nn.functional.pad", ((1, 1), "reflect"), "ReflectionPad1DBackward0"),
    ("nn.functional.pad", ((1, 1), "replicate"), "ReplicationPad1DBackward0"),
    ("__getitem__", ([0, 2],), "IndexBackward0"),
    ("__getitem__", (True,), "IndexBackward0"),
    ("fill", (2,), "FillBackward0"),
]


@pytest.mark.parametrize(("name", "rest", "node"), COPIES)
def test_a_copy_shares_nothing_and_is_named_as_in_torch(
    name: str, rest: tuple[Any, ...], node: str
) -> None:
    x = leaf(np.arange(24.0).reshape(4, 6))
    made = op(name, x, *rest)
    assert made.storage is not x.storage
    assert made.grad_fn.name() == node
    before = numbers(x)
    write("fill_", made, 7)
    assert numbers(x) == before


@pytest.mark.parametrize(
    ("name", "rest"), [("flatten", (0, 0)), ("contiguous", ()), ("atleast_1d", ())]
)
def test_an_op_with_nothing_to_do_gives_the_tensor_itself(name: str, rest: tuple[Any, ...]) -> None:
    x = leaf([1, 2, 3])
    assert op(name, x, *rest) is x


def test_reshape_copies_only_where_it_must() -> None:
    x = leaf(np.arange(6.0).reshape(2, 3))
    across = op("transpose", x, 0, 1)
    assert op("reshape", across, (6,)).storage is not x.storage
    assert numbers(op("reshape", across, (6,))) == [0, 3, 1, 4, 2, 5]
    assert op("reshape", across, (3, 2, 1)).storage is x.storage
    with pytest.raises(GradwireError) as problem:
        op("view", across, (6,))
    assert problem.value.code == "shape_mismatch"


REFUSED: list[tuple[str, tuple[Any, ...], type[Exception]]] = [
    ("transpose", (0, 2), IndexError),
    ("permute", ((0,),), RuntimeError),
    ("permute", ((0, 0),), RuntimeError),
    ("squeeze", (2,), IndexError),
    ("unsqueeze", (4,), IndexError),
    ("flatten", (1, 0), RuntimeError),
    ("unflatten", (1, (5, -1)), RuntimeError),
    ("view", ((5, 5),), RuntimeError),
    ("view", ((-1, -1),), RuntimeError),
    ("view", ((-2, 3),), RuntimeError),
    ("expand", ((5, 6),), RuntimeError),
    ("expand", ((6,),), RuntimeError),
    ("select", (0, 4), IndexError),
    ("select", (0, -5), IndexError),
    ("narrow", (0, 2, 3), RuntimeError),
    ("narrow", (0, 5, 0), IndexError),
    ("narrow", (0, 0, -1), RuntimeError),
    ("diagonal", (0, 1, 1), RuntimeError),
    ("unfold", (0, 5, 1), RuntimeError),
    ("unfold", (0, 1, 0), RuntimeError),
    ("split", (-1,), RuntimeError),
    ("split", (0,), RuntimeError),
    ("split", ((1, 2),), RuntimeError),
    ("chunk", (0,), RuntimeError),
    ("hsplit", (4,), RuntimeError),
    ("dsplit", (2,), RuntimeError),
    ("as_strided", ((2, 2), (1,)), RuntimeError),
    ("as_strided", ((25,), (1,)), RuntimeError),
    ("as_strided", ((1,), (1,), 24), RuntimeError),
    ("as_strided", ((2,), (-1,), 1), RuntimeError),
    ("__getitem__", (4,), IndexError),
    ("__getitem__", ((0, 0, 0),), IndexError),
    ("__getitem__", (slice(None, None, -1),), ValueError),
    ("__getitem__", (slice(0, 2, 0),), ValueError),
    ("__getitem__", (1.0,), IndexError),
    ("__getitem__", (slice("a", None),), TypeError),
]


@pytest.mark.parametrize(("name", "rest", "raised"), REFUSED)
def test_what_does_not_fit_is_refused_with_or_without_elements(
    name: str, rest: tuple[Any, ...], raised: type[Exception]
) -> None:
    for device in (None, "meta"):
        with pytest.raises(GradwireError) as problem:
            op(name, leaf(np.zeros((4, 6)), device=device), *rest)
        assert isinstance(problem.value, raised)
        assert problem.value.detail


def test_as_strided_counts_in_the_storage_and_sees_no_more_than_that() -> None:
    whole = plain(np.arange(10.0))
    part = op("slice", whole, 0, 4, 8)
    assert numbers(op("as_strided", part, (2,), (2,))) == [4, 6]
    assert numbers(op("as_strided", part, (2,), (2,), 1)) == [1, 3]
    assert numbers(op("as_strided", part, (2,), (5,))) == [4, 9]
    for wrong in (((2,), (6,)), ((1,), (1,), 10), ((1,), (1,), -1), ((11,), (1,), 0)):
        with pytest.raises(GradwireError, match="as_strided"):
            op("as_strided", part, *wrong)


def test_as_strided_beside_a_view_shares_its_memory_and_has_its_gradient() -> None:
    whole = plain(np.arange(10.0))
    part = op("slice", whole, 0, 4, 8).requires_grad_()
    beside = op("as_strided", part, (4,), (1,), 2)
    assert beside.grad_fn.name() == "AsStridedBackward0"
    assert slopes(beside, part) == [[1, 1, 0, 0]]
    write("add_", whole, 10)
    assert numbers(beside) == [12, 13, 14, 15]


def test_elements_seen_twice_add_up() -> None:
    x = leaf([1, 2, 3, 4])
    assert slopes(op("as_strided", x, (3, 2), (1, 1)), x) == [[1, 2, 2, 1]]
    assert slopes(op("unfold", x, 0, 2, 1), x) == [[1, 2, 2, 1]]
    assert slopes(op("expand", x, (3, 4)), x) == [[3, 3, 3, 3]]


def test_unused_parts_get_zeros() -> None:
    x = leaf([1, 2, 3, 4])
    _, second, _ = op("split", x, (1, 2, 1))
    assert slopes(second, x) == [[0, 1, 1, 0]]


@pytest.mark.parametrize(
    ("one", "many", "needs", "name"),
    [
        ((2, 1), (3, 1, 2), (True, False), "CloneBackward0"),
        ((1, 2), (3, 2, 2), (True, True), "TransposeBackward0"),
        ((1, 2, 2), (3, 2, 1), (True, False), "TransposeBackward0"),
        ((2, 2), (1, 2, 1), (True, False), "TransposeBackward0"),
        ((2, 2), (3, 2, 2), (False, True), "UnsafeViewBackward0"),
        ((2, 2, 2), (1, 2, 2), (True, True), "UnsafeViewBackward0"),
    ],
)
def test_one_matrix_times_many_may_be_a_view(one: Any, many: Any, needs: Any, name: str) -> None:
    """Torch takes it for the transpose of a product of rows: written to, it is a view."""
    a, b = (
        (leaf if need else plain)(np.arange(float(np.prod(shape))).reshape(shape))
        for need, shape in zip(needs, (one, many), strict=True)
    )
    for _ in range(2):
        made = op("matmul", a, b)
        assert made.grad_fn.name() == name
        np.testing.assert_array_equal(numbers(made), np.matmul(numbers(a), numbers(b)))
    write("mul_", made, 2)
    assert made.grad_fn.name() == ("AsStridedBackward0" if "Trans" in name else "MulBackward0")
