"""Indexing: every form against NumPy's, the places it writes, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.calls import leaf, numbers, op, plain, slopes, write

from gradwire_engine.errors import GradwireError

pytestmark = pytest.mark.usefixtures("each_library")

SHAPE = (3, 4, 5)
on_each = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
"""A library is set for all examples of a test alike."""


def slices() -> st.SearchStrategy[slice]:
    ends = st.none() | st.integers(-6, 6)
    return st.builds(slice, ends, ends, st.none() | st.integers(1, 3))


@st.composite
def index_arrays(draw: st.DrawFn, size: int) -> np.ndarray:
    """Indices of an axis, of a shape that broadcasts with the others'."""
    shape = draw(st.sampled_from([(2,), (1,), (3, 2), (3, 1)]))
    places = draw(
        st.lists(st.integers(-size, size - 1), min_size=shape[0] * 3, max_size=shape[0] * 3)
    )
    return np.resize(np.array(places, np.int64), shape)


@st.composite
def indices(draw: st.DrawFn) -> tuple[Any, ...]:
    """An index of up to three axes: slices, new axes, ellipsis and tensors, or ints."""
    entries: list[Any] = []
    with_ints = draw(st.booleans())
    for size in SHAPE[: draw(st.integers(0, 3))]:
        of_axis = st.integers(-size, size - 1) if with_ints else index_arrays(size)
        entries += draw(st.lists(st.none(), max_size=1))
        entries.append(draw(slices() | of_axis))
    if draw(st.booleans()) and len(entries) < 3:
        entries.append(...)
    return tuple(entries)


def tensors(index: Any) -> Any:
    """The index with tensors for NumPy's arrays."""
    if isinstance(index, tuple):
        return tuple(map(tensors, index))
    return leaf(index, False, index.dtype.name) if isinstance(index, np.ndarray) else index


@on_each
@given(indices())
def test_an_index_gives_what_numpy_gives(index: tuple[Any, ...]) -> None:
    source = np.arange(60.0).reshape(SHAPE)
    wanted = source[index]
    x = leaf(source)
    found = op("__getitem__", x, tensors(index))
    np.testing.assert_array_equal(found.numpy(), wanted)
    counts = np.zeros(SHAPE)
    np.add.at(counts, index, 1)
    np.testing.assert_array_equal(slopes(found, x)[0], counts)
    bare = op("__getitem__", leaf(source, device="meta"), tensors_on_meta(index))
    assert bare.shape == wanted.shape


def tensors_on_meta(index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(leaf(i, False, "int64", "meta") if isinstance(i, np.ndarray) else i for i in index)


@on_each
@given(indices())
def test_a_write_at_an_index_changes_just_those_places(index: tuple[Any, ...]) -> None:
    source = np.arange(60.0).reshape(SHAPE)
    wanted = source.copy()
    wanted[index] = -1.0
    x, value = leaf(source), leaf(-1.0)
    target = op("mul", x, 1)
    write("__setitem__", target, tensors(index), value)
    np.testing.assert_array_equal(target.numpy(), wanted)
    kept = (wanted != -1).astype(float)
    of_x, of_value = slopes(target, x, value)
    np.testing.assert_array_equal(of_x, kept)
    entries = source[index].size
    assert entries == 0 or of_value == entries


@pytest.mark.parametrize("mask_shape", [(3,), (3, 4), (3, 4, 5)])
def test_masks_pick_and_write(mask_shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    source, mask = rng.standard_normal(SHAPE), rng.random(mask_shape) > 0.5
    x = leaf(source)
    picked = op("__getitem__", x, plain(mask, "bool"))
    np.testing.assert_array_equal(picked.numpy(), source[mask])
    assert picked.grad_fn is not None
    assert picked.grad_fn.name() == "IndexBackward0"
    target, value = op("mul", x, 1), leaf(7.0)
    write("__setitem__", target, plain(mask, "bool"), value)
    source[mask] = 7.0
    np.testing.assert_array_equal(target.numpy(), source)
    assert target.grad_fn is not None
    assert target.grad_fn.name() == "IndexPutBackward0"
    assert slopes(target, value) == [(source == 7.0).sum()]


def test_masks_beside_other_entries() -> None:
    source = np.arange(60.0).reshape(SHAPE)
    mask = np.array([True, False, True, True])
    found = op("__getitem__", plain(source), (1, plain(mask, "bool"), slice(0, 2)))
    np.testing.assert_array_equal(found.numpy(), source[1][mask, 0:2])
    assert numbers(op("__getitem__", plain([1, 2]), True)) == [[1, 2]]
    assert op("__getitem__", plain([1, 2]), False).shape == (0, 2)


def test_lists_count_as_tensors_or_as_tuples() -> None:
    source = np.arange(12.0).reshape(3, 4)
    x = plain(source)
    assert numbers(op("__getitem__", x, [0, 2])) == source[[0, 2]].tolist()
    assert numbers(op("__getitem__", x, [True, False, True])) == source[[0, 2]].tolist()
    assert numbers(op("__getitem__", x, [[0, 1], [1, 2]])) == source[[0, 1], [1, 2]].tolist()
    assert numbers(op("__getitem__", x, [slice(0, 2), 0])) == source[0:2, 0].tolist()
    assert op("__getitem__", x, []).shape == (0, 4)


def test_a_scalar_tensor_selects_a_view() -> None:
    x = leaf(np.arange(12.0).reshape(3, 4))
    found = op("__getitem__", x, plain(1, "int64"))
    assert found.storage is x.storage
    assert numbers(found) == [4, 5, 6, 7]
    until = op("__getitem__", x, slice(plain(1, "int64"), None))
    assert until.shape == (2, 4)


BAD: list[tuple[Any, str]] = [
    (np.array([0, 3]), "index 3 is out of bounds for dimension 0 with size 3"),
    (np.array([-4]), "index -4 is out of bounds"),
    ((0, np.array([4])), "index 4 is out of bounds for dimension 0 with size 4"),
    (np.array([0.5]), "must hold ints or bools"),
    (np.array([True, False]), "the mask has shape"),
    (np.ones((3, 5), bool), "the mask has shape"),
    ((np.array([0, 1]), np.array([0, 1, 2])), "don't broadcast"),
    ((0, 0, 0, 0), "too many indices"),
    ([0.5], "must hold ints or bools"),
    ("a", "only ints, slices"),
]


@pytest.mark.parametrize(("index", "text"), BAD)
def test_what_is_no_index_is_refused(index: Any, text: str) -> None:
    for call in (
        lambda: op("__getitem__", plain(np.zeros(SHAPE)), tensors(index)),
        lambda: write("__setitem__", plain(np.zeros(SHAPE)), tensors(index), 1.0),
    ):
        with pytest.raises(GradwireError, match=text) as problem:
            call()
        assert isinstance(problem.value, IndexError)


def test_values_broadcast_from_the_right() -> None:
    target = plain(np.zeros((2, 3)))
    write("__setitem__", target, 0, plain([[1, 2, 3]]))
    write("__setitem__", target, (slice(None), plain([0, 0], "int64")), plain([[7, 7], [8, 8]]))
    assert numbers(target) == [[7, 2, 3], [8, 0, 0]]
    for index, value in ((0, [[1, 2, 3], [4, 5, 6]]), ([0, 1], [[1, 2], [3, 4]])):
        with pytest.raises(GradwireError) as problem:
            write("__setitem__", target, index, plain(value))
        assert problem.value.code == "shape_mismatch"


def test_what_is_written_is_converted_by_views_and_not_by_tensors() -> None:
    whole = plain([0, 0, 0], "int64")
    write("__setitem__", whole, 0, 1.9)
    write("__setitem__", whole, slice(1, 2), plain([2.9]))
    write("__setitem__", whole, [2], 3.9)
    assert numbers(whole) == [1, 2, 3]
    with pytest.raises(GradwireError) as problem:
        write("__setitem__", whole, [2], plain([3.9]))
    assert problem.value.code == "dtype_mismatch"
    with pytest.raises(GradwireError) as problem:
        write("__setitem__", plain([0.0]), 0, 1j)
    assert problem.value.code == "dtype_mismatch"


def test_index_put_adds_where_it_is_told_to() -> None:
    x, value = leaf([0, 0, 0]), leaf([1, 2, 4])
    places = [plain([0, 0, 2], "int64")]
    y = op("index_put", x, places, value, True)
    assert numbers(y) == [3, 0, 4]
    assert slopes(y, x, value) == [[1, 1, 1], [1, 1, 1]]
    target = op("mul", x, 1)
    write("index_put_", target, [plain([True, False, True], "bool")], plain([5, 6]))
    assert numbers(target) == [5, 0, 6]


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("index_select", (0, [3])),
        ("index_select", (0, [-1])),
        ("gather", (0, [[3, 0]])),
        ("gather", (1, [[-1, 0]])),
        ("take", ([12],)),
        ("index_fill", (0, [5], 1)),
        ("nn.functional.one_hot", (2,)),
    ],
)
def test_places_out_of_range_are_refused_everywhere(name: str, rest: tuple[Any, ...]) -> None:
    args = [plain(r, "int64") if isinstance(r, list) else r for r in rest]
    source = plain([2], "int64") if "one_hot" in name else plain(np.zeros((3, 4)))
    with pytest.raises(GradwireError, match="out of bounds"):
        op(name, source, *args)


def test_many_places_add_up_quickly_and_exactly() -> None:
    rng = np.random.default_rng(0)
    table, places = leaf(np.zeros((50, 8))), rng.integers(0, 50, 20_000)
    found = op("nn.functional.embedding", plain(places, "int64"), table)
    counts = np.bincount(places, minlength=50)
    np.testing.assert_array_equal(slopes(found, table)[0], np.repeat(counts, 8).reshape(50, 8))
    whole = plain([2**60, 2**60, 1], "int64")
    summed = op("index_add", plain([0], "int64"), 0, plain([0, 0, 0], "int64"), whole)
    assert numbers(summed) == [2**61 + 1]


def test_padding_and_frequency_shape_the_gradient_of_an_embedding() -> None:
    table, places = leaf(np.ones((4, 1))), plain([0, 2, 2, 3], "int64")
    found = op("nn.functional.embedding", places, table, padding_idx=3)
    assert slopes(found, table) == [[[1], [0], [2], [0]]]
    found = op("nn.functional.embedding", places, table, scale_grad_by_freq=True)
    assert slopes(found, table) == [[[1], [0], [1], [1]]]


def test_a_mask_that_chose_places_is_kept() -> None:
    """A write to it is refused as in torch, though its places are known by then."""
    for name, rest in (("__getitem__", ()), ("masked_select", ()), ("index_put", (plain([5.0]),))):
        x, mask = leaf([1.0, 2.0, 3.0]), plain([True, False, True], "bool")
        found = op(name, x, (mask,) if name == "index_put" else mask, *rest)
        write("fill_", mask, False)
        with pytest.raises(GradwireError, match="modified in place"):
            slopes(found, x)
