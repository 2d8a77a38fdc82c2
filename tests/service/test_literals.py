"""Tensor literals: every form, the dtype that follows, and a clear refusal of everything else."""

from __future__ import annotations

import tracemalloc
from base64 import b64encode
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.spec import (
    DTYPES,
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype_of,
    float16,
    float32,
    float64,
    int8,
    int64,
    uint8,
)
from gradwire_service.host.elements import shown
from gradwire_service.host.literals import decode

NAN, INF = float("nan"), float("inf")
BINARIES = {
    "w": np.array([[1, 2], [3, 4]], np.float64),
    "i": np.array([-1, 300]),
    "c": np.array([1j], np.complex64),
}


def same(array: np.ndarray[Any, Any], expected: object, dtype: DType) -> None:
    assert dtype_of(array.dtype) is dtype
    wanted = np.array(expected, dtype.numpy)
    assert array.shape == wanted.shape
    assert array.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("literal", "preferred", "expected", "dtype"),
    [
        (3, False, 3, int64),
        (3, True, 3, float32),
        (3.0, False, 3, float32),
        (-0.0, False, -0.0, float32),
        (True, False, True, bool_),
        (True, True, True, bool_),
        ([1, 2, 3], False, [1, 2, 3], int64),
        ([1, 2, 3], True, [1, 2, 3], float32),
        ([1, 2.0], False, [1, 2], float32),
        ([[1], [2]], False, [[1], [2]], int64),
        ([], False, [], float32),
        ([[], []], False, [[], []], float32),
        ([[[]]], True, [[[]]], float32),
        (["NaN", 1, "-Infinity"], False, [NAN, 1, -INF], float32),
        ("Infinity", False, INF, float32),
        ([1e300, -1e300, 1e-300], False, [INF, -INF, 0], float32),
        (2**53 + 1, False, 2**53 + 1, int64),
        ([-(2**63), 2**63 - 1], False, [-(2**63), 2**63 - 1], int64),
        ([2**63], True, [2.0**63], float32),
        ({"data": [1, 2]}, False, [1, 2], int64),
        ({"data": [1, 2]}, True, [1, 2], float32),
        ({"data": [[True]], "shape": [1, 1]}, True, [[True]], bool_),
        ({"complex": [1, -2]}, False, 1 - 2j, complex64),
        ({"complex": ["NaN", 0]}, False, complex(NAN, 0), complex64),
    ],
)
def test_numbers_without_a_dtype(
    literal: object, preferred: bool, expected: object, dtype: DType
) -> None:
    with np.errstate(over="ignore"):
        same(decode(literal, prefer_default=preferred), expected, dtype)


@pytest.mark.parametrize(
    ("literal", "asked", "expected", "dtype"),
    [
        ([1, 2], float16, [1, 2], float16),
        ([1.0, 2.0], int64, [1, 2], int64),
        ([0, 1, True and 1], bool_, [False, True, True], bool_),
        ([True, False], float32, [1, 0], float32),
        ([1, 2.5], complex128, [1, 2.5], complex128),
        (70000, float16, INF, float16),
        (10**39, float32, INF, float32),
        ([10**39, 0], complex64, [INF, 0], complex64),
        ({"data": [1, 2], "dtype": "int8"}, float64, [1, 2], float64),
        ({"data": [[1, 2]], "shape": [1]}, complex64, [1 + 2j], complex64),
        ({"complex": [1, 2]}, complex128, 1 + 2j, complex128),
        ({"binary": "w"}, None, [[1, 2], [3, 4]], float64),
        ({"binary": "w", "shape": [2, 2]}, bfloat16, [[1, 2], [3, 4]], bfloat16),
        ({"binary": "w", "dtype": "complex128"}, None, [1 + 2j, 3 + 4j], complex128),
        ({"binary": "w", "dtype": "complex64"}, None, [[1, 2], [3, 4]], complex64),
        ({"base64": "AQID", "dtype": "uint8", "shape": [3]}, None, [1, 2, 3], uint8),
        ({"base64": "AQID", "shape": [3, 1]}, int8, [[1], [2], [3]], int8),
        ({"base64": "", "dtype": "float32", "shape": [0, 3]}, None, [[]] * 0, float32),
    ],
)
def test_a_dtype_is_kept(
    literal: object, asked: DType | None, expected: object, dtype: DType
) -> None:
    array = decode(literal, dtype=asked, binaries=BINARIES)
    shape = array.shape
    with np.errstate(over="ignore"):
        same(array, np.array(expected, dtype.numpy).reshape(shape), dtype)


def test_floats_take_the_default_dtype() -> None:
    same(decode([1.5], default=float64), [1.5], float64)
    same(decode([1], default=float64, prefer_default=True), [1], float64)
    same(decode([1], default=float64), [1], int64)
    same(decode({"complex": [0.1, 0]}, default=float64), 0.1, complex128)


@pytest.mark.parametrize("shape", [(2, 3), (3, 0, 2), (0,), (0, 4), (), (1, 1, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nested_flat_and_base64_say_the_same(shape: tuple[int, ...], dtype: str) -> None:
    flat = (np.arange(np.prod(shape, dtype=int)) % 2).astype(DTYPES[dtype].numpy)
    array = flat.reshape(shape)
    if dtype.startswith("complex"):
        flat = flat.view(f"f{flat.itemsize // 2}").reshape(-1, 2)
    nested = flat.reshape(shape + flat.shape[1:])
    base = {"dtype": dtype, "shape": list(shape)}
    for data in (nested.tolist(), flat.tolist()):
        same(decode({**base, "data": data}), array, DTYPES[dtype])
    text = b64encode(array.tobytes()).decode()
    same(decode({**base, "base64": text}), array, DTYPES[dtype])


@given(st.integers(-(2**63), 2**63 - 1))
def test_int64_is_exact(number: int) -> None:
    assert decode(number).item() == number
    assert decode([[number]], dtype=int64).item() == number


@given(st.floats(width=32))
def test_a_number_rounds_once(number: float) -> None:
    assert decode(number, dtype=float64).tobytes() == np.float64(number).tobytes()
    assert decode([number]).tobytes() == np.float32(number).tobytes()


def nested(depth: int, value: object = 1) -> object:
    for _ in range(depth):
        value = [value]
    return value


def str_of(value: object) -> str:
    return value or "fits" if isinstance(value, str | None) else shown(value)


BASE64 = {"dtype": "float32", "shape": [2]}
BAD = [
    # shapes of nested lists
    ([[1, 2], [3]], "shape_mismatch"),
    ([[1], 2], "shape_mismatch"),
    ([1, [2]], "shape_mismatch"),
    ([[], [1]], "shape_mismatch"),
    ([[[1]], [[]]], "shape_mismatch"),
    (nested(65), "shape_mismatch"),
    (nested(5000), "shape_mismatch"),
    (nested(65, []), "shape_mismatch"),
    # elements
    (None, "invalid_request"),
    ("one", "invalid_request"),
    ("nan", "invalid_request"),
    ("inf", "invalid_request"),
    ("", "invalid_request"),
    ([None], "invalid_request"),
    ([1, None], "invalid_request"),
    ([1, "2"], "invalid_request"),
    (["Nan"], "invalid_request"),
    ([1, {}], "invalid_request"),
    ([{"complex": [1, 2]}], "invalid_request"),
    ([[1, 2], {"data": [3, 4]}], "shape_mismatch"),
    ([True, 1], "dtype_mismatch"),
    ([1.5, False], "dtype_mismatch"),
    ([True, "NaN"], "dtype_mismatch"),
    (2**63, "dtype_mismatch"),
    ([-(2**63) - 1], "dtype_mismatch"),
    ([10**5000], "dtype_mismatch"),
    # objects
    ({}, "invalid_request"),
    ({"dtype": "float32"}, "invalid_request"),
    ({"shape": [1]}, "invalid_request"),
    ({"data": [1], "base64": "AA=="}, "invalid_request"),
    ({"data": [1], "shpae": [1]}, "invalid_request"),
    ({"session": "s_1", "tensor": "w"}, "invalid_request"),
    ({"data": {"data": [1]}}, "invalid_request"),
    ({"data": None}, "invalid_request"),
    ({"data": "1"}, "invalid_request"),
    # dtypes
    ({"data": [1], "dtype": "float"}, "dtype_mismatch"),
    ({"data": [1], "dtype": "torch.float32"}, "dtype_mismatch"),
    ({"data": [1], "dtype": 32}, "dtype_mismatch"),
    ({"data": [1], "dtype": ["float32"]}, "dtype_mismatch"),
    ({"data": [1], "dtype": "O"}, "dtype_mismatch"),
    ({"data": [256], "dtype": "uint8"}, "dtype_mismatch"),
    ({"data": [-1], "dtype": "uint8"}, "dtype_mismatch"),
    ({"data": [-129], "dtype": "int8"}, "dtype_mismatch"),
    ({"data": [1, 2**31], "dtype": "int32"}, "dtype_mismatch"),
    ({"data": [1.5], "dtype": "int64"}, "dtype_mismatch"),
    ({"data": [1e300], "dtype": "int64"}, "dtype_mismatch"),
    ({"data": ["NaN"], "dtype": "int64"}, "dtype_mismatch"),
    ({"data": ["Infinity"], "dtype": "bool"}, "dtype_mismatch"),
    ({"data": [2], "dtype": "bool"}, "dtype_mismatch"),
    ({"data": [10**400], "dtype": "float64"}, "dtype_mismatch"),
    # shapes
    ({"data": [1, 2, 3], "shape": [2]}, "shape_mismatch"),
    ({"data": [[1, 2], [3, 4]], "shape": [4]}, "shape_mismatch"),
    ({"data": [[1, 2, 3], [4, 5, 6]], "shape": [3, 2]}, "shape_mismatch"),
    ({"data": 1, "shape": [1]}, "shape_mismatch"),
    ({"data": [], "shape": []}, "shape_mismatch"),
    ({"data": [[]], "shape": [0, 1]}, "shape_mismatch"),
    ({"data": [], "shape": [2, 0, 3], "dtype": "bool"}, None),
    ({"data": [[], []], "shape": [2, 0, 3]}, None),
    ({"data": [1, 2], "shape": [-1, 2]}, "shape_mismatch"),
    ({"data": [1, 2], "shape": [-1, -2]}, "shape_mismatch"),
    ({"data": [1], "shape": 1}, "shape_mismatch"),
    ({"data": [1], "shape": [True]}, "shape_mismatch"),
    ({"data": [1], "shape": [1.0]}, "shape_mismatch"),
    ({"data": [1], "shape": ["1"]}, "shape_mismatch"),
    ({"data": [1], "shape": [None]}, "shape_mismatch"),
    ({"data": [1], "shape": [1] * 65}, "shape_mismatch"),
    ({"data": [1], "shape": [2**40]}, "shape_mismatch"),
    ({"data": [], "shape": [0, 2**63]}, "shape_mismatch"),
    ({"data": [], "shape": [0, 2**62, 2**62]}, "shape_mismatch"),
    ({"data": [1], "shape": [10**100]}, "shape_mismatch"),
    ({"data": [1], "shape": {"0": 1}}, "shape_mismatch"),
    ({"data": [1], "shape": nested(5000)}, "shape_mismatch"),
    ({"data": [1], "shape": [[1] * 1000]}, "shape_mismatch"),
    # complex
    ({"data": [1, 2, 3], "dtype": "complex64"}, "shape_mismatch"),
    ({"data": 1, "dtype": "complex64"}, "shape_mismatch"),
    ({"data": [1, 2], "shape": [2], "dtype": "complex64"}, "shape_mismatch"),
    ({"data": [[True, False]], "dtype": "complex64"}, None),
    ({"complex": 1}, "invalid_request"),
    ({"complex": [1]}, "invalid_request"),
    ({"complex": [1, 2, 3]}, "invalid_request"),
    ({"complex": [[1, 2]]}, "invalid_request"),
    ({"complex": [True, False]}, "invalid_request"),
    ({"complex": ["1", "2"]}, "invalid_request"),
    ({"complex": [1, 2], "shape": [1]}, "invalid_request"),
    ({"complex": [1, 2], "dtype": "float32"}, "dtype_mismatch"),
    # base64
    ({"base64": "AACAPwAAAEA="}, "invalid_request"),
    ({"base64": "AACAPwAAAEA=", "dtype": "float32"}, "invalid_request"),
    ({"base64": "AACAPwAAAEA=", "shape": [2]}, "invalid_request"),
    ({**BASE64, "base64": 1}, "invalid_request"),
    ({**BASE64, "base64": None}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwAAAEA"}, "shape_mismatch"),
    ({**BASE64, "base64": "AACAPwAAAEA=AAAA"}, "shape_mismatch"),
    ({**BASE64, "base64": ""}, "shape_mismatch"),
    ({**BASE64, "base64": "AACAPwAA AEA"}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwAA\nEA="}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwA_-EA="}, "invalid_request"),
    ({**BASE64, "base64": "AACAPw==AEA="}, "invalid_request"),
    ({**BASE64, "base64": "=ACAPwAAAEA="}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwAAAEAA"}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwAAAE=="}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwAAAEé="}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwAAAE\ud800="}, "invalid_request"),
    ({**BASE64, "base64": "AACAPwAAAEA=", "shape": [2**37]}, "shape_mismatch"),
    ({"base64": "AgE=", "dtype": "bool", "shape": [2]}, "invalid_request"),
    # arrays of the body
    ({"binary": "nowhere"}, "invalid_request"),
    ({"binary": 1}, "invalid_request"),
    ({"binary": ["w"]}, "invalid_request"),
    ({"binary": "w", "shape": [4]}, "shape_mismatch"),
    ({"binary": "w", "dtype": "int64"}, "dtype_mismatch"),
    ({"binary": "i", "dtype": "uint8"}, "dtype_mismatch"),
    ({"binary": "i", "dtype": "bool"}, "dtype_mismatch"),
    ({"binary": "c", "dtype": "float32"}, "dtype_mismatch"),
]


@pytest.mark.parametrize(("literal", "code"), BAD, ids=str_of)
def test_bad_literals(literal: object, code: str | None) -> None:
    if code is None:
        decode(literal, binaries=BINARIES)
        return
    with pytest.raises(GradwireError) as caught:
        decode(literal, binaries=BINARIES)
    assert caught.value.code == code
    assert caught.value.detail.startswith("tensor literal: ")
    assert len(caught.value.detail) < 300
    assert caught.value.hint


def test_nothing_is_allocated_before_sizes_agree() -> None:
    tracemalloc.start()
    for form in ({"data": [1.0]}, {"base64": "AAAA"}):
        with pytest.raises(GradwireError):
            decode({**form, "dtype": "float64", "shape": [2**30]})
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


class Purse:
    """Counts bytes, and refuses beyond a number of them."""

    def __init__(self, room: int) -> None:
        self.room = room

    def charge(self, nbytes: int) -> None:
        self.room -= nbytes
        if self.room < 0:
            raise error("memory_limit", f"{nbytes} bytes are {-self.room} too many")


@pytest.mark.parametrize(
    ("literal", "asked", "nbytes"),
    [
        ([1, 2, 3], None, 24),
        ([1, 2, 3], uint8, 3),
        ({"data": [[1, 2]], "dtype": "complex128"}, None, 16),
        ({"data": [1, 2], "dtype": "uint8"}, float64, 16),
        ({"base64": "AQID", "dtype": "uint8", "shape": [3]}, None, 3),
        ({"binary": "w"}, None, 32),
        ({"complex": [1, 2]}, None, 8),
    ],
)
def test_bytes_are_charged_before_they_are_taken(
    literal: object, asked: DType | None, nbytes: int
) -> None:
    purse = Purse(nbytes)
    array = decode(literal, dtype=asked, binaries=BINARIES, limits=purse)
    assert array.nbytes == nbytes
    assert purse.room == 0
    with pytest.raises(GradwireError) as caught:
        decode(literal, dtype=asked, binaries=BINARIES, limits=purse)
    assert caught.value.code == "memory_limit"


@pytest.mark.parametrize(
    ("value", "picture"),
    [
        (None, "null"),
        (True, "true"),
        ("a" * 100, '"' + "a" * 56 + "..."),
        ({"a": 1}, "an object"),
        ([1] * 1000, "a list of 1000"),
        ([1, 2], "[1, 2]"),
        (10**5000, "an integer of 16610 bits"),
        ([10**5000, "b", None], '[an integer of 16610 bits, "b", null]'),
        (nested(5000), "a list of 1"),
    ],
    ids=str_of,
)
def test_an_error_shows_little_of_what_came(value: object, picture: str) -> None:
    assert shown(value) == picture


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_rows_are_rounded_as_numpy_rounds(values: list[float]) -> None:
    with np.errstate(over="ignore"):
        wanted = np.array(values, np.float32)
    found = decode(values)
    assert found.dtype == np.float32 and found.tobytes() == wanted.tobytes()
    assert found.flags.owndata and found.flags.writeable
