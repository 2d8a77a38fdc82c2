"""Tensors from nothing: dtypes, devices, sizes that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain

from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import using
from gradwire_engine.spec import bool_, complex64, float32, float64, int8, int64, uint8
from gradwire_engine.tensor import Tensor

TERABYTE = 10**12


class Meter:
    """Counts what is asked for, and has so much to give."""

    def __init__(self, limit: int) -> None:
        self.limit, self.asked = limit, 0

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        self.asked += nbytes
        if nbytes > self.limit:
            from gradwire_engine.errors import error

            raise error("memory_limit", f"{nbytes} bytes")


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, int64, ()),
        (1.5, float32, ()),
        (True, bool_, ()),
        (1j, complex64, ()),
        ([1, 2], int64, (2,)),
        ([1, 2.5], float32, (2,)),
        ([[True], [False]], bool_, (2, 1)),
        ([], float32, (0,)),
        ([[], []], float32, (2, 0)),
        (np.zeros(2), float64, (2,)),
        (2**62, int64, ()),
    ],
)
def test_data_say_their_dtype(data: Any, dtype: Any, shape: Any) -> None:
    made = op("tensor", data)
    assert (made.dtype, made.shape) == (dtype, shape)


def test_the_default_dtype_decides_about_floats_only() -> None:
    with using(default_dtype=float64):
        assert op("tensor", [1.5]).dtype is float64
        assert op("tensor", [1]).dtype is int64
        assert op("zeros", (2,)).dtype is float64
        assert op("arange", 0.5, 2.0).dtype is float64
        assert op("arange", 3).dtype is int64
    assert op("zeros", (2,)).dtype is float32


def test_large_integers_keep_every_digit() -> None:
    assert numbers(op("tensor", [2**62 + 1, -1])) == [2**62 + 1, -1]
    assert numbers(op("tensor", 2**62 + 1, dtype=int64)) == 2**62 + 1


@pytest.mark.parametrize("data", [[[1], [2, 3]], ["a"], [None], object()])
def test_what_are_no_numbers_are_no_tensor(data: Any) -> None:
    with pytest.raises(GradwireError) as problem:
        op("tensor", data)
    assert problem.value.code == "invalid_argument"


def test_a_tensor_of_an_array_is_a_copy() -> None:
    source = np.zeros(2)
    made = op("tensor", source)
    source[0] = 1
    assert numbers(made) == [0, 0]
    again = op("tensor", made)
    assert not np.shares_memory(again.array, made.array)


@pytest.mark.parametrize(
    ("value", "dtype"), [(1j, float32), (300, uint8), (-256, uint8), (2**63, int64), (128, int8)]
)
def test_a_number_must_fit_its_dtype(value: Any, dtype: Any) -> None:
    with pytest.raises(GradwireError):
        op("full", (2,), value, dtype=dtype)


def test_the_device_comes_from_the_attribute_the_operand_or_the_thread() -> None:
    assert op("zeros", (2,)).device == "cpu"
    assert op("zeros", (2,), device="meta").device == "meta"
    with using(device="strict"):
        assert op("zeros", (2,)).device == "strict"
        assert op("arange", 3).device == "strict"
        assert op("rand", (2,)).device == "strict"
        assert op("tensor", [1.0]).device == "strict"
        assert op("zeros_like", leaf([1], device="cpu")).device == "cpu"
    assert op("ones_like", plain([1]), device="meta").device == "meta"
    with pytest.raises(GradwireError) as problem:
        op("zeros", (2,), device="tpu")
    assert problem.value.code == "unsupported_device"


def test_empty_never_shows_what_memory_held() -> None:
    for _ in range(50):
        junk = np.full(1000, 7.0)
        del junk
        assert not op("empty", (1000,)).numpy().any()
        assert not op("empty_like", plain([1] * 1000)).numpy().any()


HUGE: list[tuple[str, tuple[Any, ...]]] = [
    ("zeros", ((TERABYTE,),)),
    ("ones", ((TERABYTE, TERABYTE, TERABYTE),)),
    ("full", ((TERABYTE,), 1)),
    ("empty", ((TERABYTE,),)),
    ("eye", (10**7,)),
    ("arange", (TERABYTE,)),
    ("linspace", (0, 1, TERABYTE)),
    ("tril_indices", (10**6, 10**6)),
    ("rand", ((TERABYTE,),)),
    ("randn", ((TERABYTE,),)),
    ("randint", (5, (TERABYTE,))),
    ("randperm", (TERABYTE,)),
]


@pytest.mark.parametrize(("name", "rest"), HUGE)
def test_a_terabyte_is_refused_before_anything_is_allocated(
    name: str, rest: tuple[Any, ...]
) -> None:
    for meter in (Meter(2**30), None):
        with using(meter=meter), pytest.raises(GradwireError) as problem:
            op(name, *rest)
        assert problem.value.code == "memory_limit"
        assert isinstance(problem.value, MemoryError)


def test_bytes_are_asked_for_before_they_are_taken() -> None:
    meter = Meter(2**30)
    with using(meter=meter):
        op("zeros", (10, 10))
        assert meter.asked == 400
        op("randn", (10,), dtype=float64)
        assert meter.asked == 480
        op("expand", op("zeros", (1,)), (TERABYTE,))
    assert meter.asked == 484


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("zeros", ((-1,),)),
        ("rand", ((2, -1),)),
        ("eye", (-1,)),
        ("arange", (5, 0)),
        ("arange", (0, 5, 0)),
        ("arange", (0.0, float("inf"))),
        ("linspace", (0, 1, -1)),
        ("randint", (3, 3, (2,))),
        ("randperm", (-1,)),
        ("rand", ((2,), None)),
    ],
)
def test_sizes_and_bounds_that_make_no_sense(name: str, rest: tuple[Any, ...]) -> None:
    with pytest.raises(GradwireError) as problem:
        op(name, *rest)
    assert problem.value.code == "invalid_argument"


def test_random_floats_have_a_floating_dtype() -> None:
    with pytest.raises(GradwireError) as problem:
        op("rand", (2,), dtype=int64)
    assert problem.value.code == "dtype_mismatch"


def test_nothing_made_here_requires_grad() -> None:
    made = [op("zeros", (2,)), op("rand", (2,)), op("tensor", [1.0]), op("normal", 0.0, 1.0, (2,))]
    assert all(isinstance(t, Tensor) and t.is_leaf and not t.requires_grad for t in made)
