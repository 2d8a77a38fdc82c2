"""JSON: exact digits on the way out, a bounded parser and clear refusals on the way in."""

from __future__ import annotations

import json as stdlib
from math import copysign
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire_engine.errors import GradwireError
from gradwire_engine.spec import bfloat16, dtype_of
from gradwire_service.host.reply import TensorReply, plain
from gradwire_service.http.codec.json import dumps, elements, loads
from gradwire_service.http.codec.reply import write_reply
from gradwire_service.http.codec.request import read_request


def text(array: Any, dtype: Any = np.float32) -> str:
    source = np.array(array, np.float32 if dtype is bfloat16.numpy else dtype)
    return dumps(elements(source.astype(dtype))).decode()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (text(0.1), "0.1"),
        (text([0.1, -0.0, 1e-45, 3.4028235e38, 16777216]), None),
        (text([0.1, 5e-324, 1.7976931348623157e308], np.float64), None),
        (text(["nan", "inf", "-inf", 1.5]), '["NaN","Infinity","-Infinity",1.5]'),
        (text("nan"), '"NaN"'),
        (text("-inf", np.float64), '"-Infinity"'),
        (text([[1, 2], [3, 4]], np.int64), "[[1,2],[3,4]]"),
        (text([2**53 + 1, -(2**63)], np.int64), "[9007199254740993,-9223372036854775808]"),
        (text([True, False], bool), "[true,false]"),
        (text(True, bool), "true"),
        (text(7, np.uint8), "7"),
        (text([], np.float32), "[]"),
        (text(np.zeros((2, 0))), "[[],[]]"),
        (text(1 - 2j, np.complex64), "[1.0,-2.0]"),
        (text([[complex("nan+infj")]], np.complex128), '[[["NaN","Infinity"]]]'),
        (text([1.5, 0.1], np.float16), "[1.5,0.099975586]"),
        (text([1.5, 0.1, "-inf"], bfloat16.numpy), '[1.5,0.100097656,"-Infinity"]'),
    ],
)
def test_digits(written: str, expected: str | None) -> None:
    if expected is not None:
        assert written == expected
    else:
        assert "null" not in written
        assert all(len(number) <= 24 for number in written.strip("[]").split(","))


def test_shortest_digits_that_read_back() -> None:
    assert text([0.1, -0.0, 1e-45, 3.4028235e38]) == "[0.1,-0.0,1e-45,3.4028235e+38]"
    assert text([0.1, 5e-324], np.float64) == "[0.1,5e-324]"
    assert copysign(1, stdlib.loads(text(-0.0))) == -1


@given(st.lists(st.floats(width=32)))
def test_any_parser_reads_float32_back(numbers: list[float]) -> None:
    """No digits of ours need our own reader: the standard library's gives the same bits."""
    array = np.array(numbers, np.float32)
    read = [float(number) for number in stdlib.loads(text(array))]
    assert np.array_equal(np.array(read, np.float32), array, equal_nan=True)


def test_deepest_tensor() -> None:
    assert text(np.ones((1,) * 64)) == "[" * 64 + "1.0" + "]" * 64
    assert text(np.ones((1,) * 63), complex) == "[" * 64 + "1.0,0.0" + "]" * 64
    with pytest.raises(GradwireError) as caught:
        elements(np.ones((1,) * 64, complex))
    assert caught.value.code == "invalid_argument"


def test_a_reply_as_a_tree() -> None:
    array = np.array([[1, 2]], np.float32)
    tensor = TensorReply(
        "x", dtype_of(array.dtype), array.shape, "cpu", True, False, "MulBackward0", 3, array
    )
    shown = {
        "name": "x",
        "dtype": "float32",
        "shape": [1, 2],
        "device": "cpu",
        "requires_grad": True,
        "is_leaf": False,
        "grad_fn": "MulBackward0",
        "version": 3,
    }
    reply = {"values": {"x": tensor, "g": None}, "list": [tensor], "n": 1, "f": plain(0.5)}
    for data, extra in (
        ("nested", {"data": [[1.0, 2.0]]}),
        ("base64", {"base64": "AACAPwAAAEA="}),
        ("none", {}),
    ):
        written = write_reply(reply, None, data)  # type: ignore[arg-type]
        assert written.media_type == "application/json"
        assert stdlib.loads(b"".join(written.buffers)) == {
            "values": {"x": shown | extra, "g": None},
            "list": [shown | extra],
            "n": 1,
            "f": 0.5,
        }


def test_plain_numbers() -> None:
    words = [plain(value) for value in (1.5, float("nan"), float("inf"), float("-inf"))]
    assert words == [1.5, "NaN", "Infinity", "-Infinity"]


def test_what_no_reply_holds_is_refused() -> None:
    with pytest.raises(TypeError):
        write_reply({"x": object()})


BAD = [
    (b"", "invalid_json", "nothing in it"),
    (b" \n\t", "invalid_json", "nothing in it"),
    (b"{", "invalid_json", "line 1, column 2"),
    (b'{"steps": [', "invalid_json", "line 1, column 12"),
    (b'{"a": 1,}', "invalid_json", "line 1"),
    (b'{"a"\n: 1,\n"b" 2}', "invalid_json", "line 3"),
    (b"{'a': 1}", "invalid_json", "line 1, column 2"),
    (b"{a: 1}", "invalid_json", "line 1"),
    (b'{"a": NaN}', "invalid_json", "column 7"),
    (b'{"a": Infinity}', "invalid_json", "column 7"),
    (b'{"a": -Infinity}', "invalid_json", "column"),
    (b'{"a": 1e999}', "invalid_json", "infinity"),
    (b'{"a": 01}', "invalid_json", ""),
    (b'{"a": +1}', "invalid_json", ""),
    (b'{"a": 0x10}', "invalid_json", ""),
    (b'{"a": .5}', "invalid_json", ""),
    (b'{"a": undefined}', "invalid_json", ""),
    (b'{"a": 1} {}', "invalid_json", "column 10"),
    (b'{"a": 1}\x00', "invalid_json", ""),
    (b"\xef\xbb\xbf{}", "invalid_json", ""),
    ('{"a": 1}'.encode("utf-16"), "invalid_json", "byte 0 is not UTF-8"),
    (b'{"a": "\xff"}', "invalid_json", "byte 7 is not UTF-8"),
    (b'{"a": "\xed\xa0\x80"}', "invalid_json", "byte 7 is not UTF-8"),
    (b'{"a": "\\ud800"}', "invalid_json", "surrogate"),
    (b'{"a": "\\x"}', "invalid_json", ""),
    (b'{"a": "line\nbreak"}', "invalid_json", ""),
    (b"{1: 2}", "invalid_json", ""),
    (b"\x80\x04\x95.", "invalid_json", ""),
    (b"<html>", "invalid_json", ""),
    (b"steps=1", "invalid_json", ""),
    (b"[" * 200, "invalid_json", ""),
    (b"[" * 900, "invalid_json", "before its brackets close"),
    (b"[" * 100_000, "limit_exceeded", "deeper than 100"),
    (b"[" * 101 + b"]" * 101, "limit_exceeded", "deeper than 100"),
    (b'{"a":' * 101 + b"1" + b"}" * 101, "limit_exceeded", "deeper than 100"),
    (b'{"a":[' * 5000 + b"]}" * 5000, "limit_exceeded", "deeper than 100"),
    (b'[{"a":' * 51 + b"1" + b"}]" * 51, "limit_exceeded", "deeper than 100"),
    (b"[]", "invalid_request", "is []"),
    (b"null", "invalid_request", "null"),
    (b"3", "invalid_request", "is 3"),
    (b'"steps"', "invalid_request", '"steps"'),
]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(("body", "code", "words"), BAD, ids=lambda value: repr(value)[:40])
def test_bad_bodies(body: bytes, code: str, words: str, kind: type) -> None:
    with pytest.raises(GradwireError) as caught:
        read_request("application/json", kind(body))
    assert caught.value.code == code
    assert words in caught.value.detail
    assert len(caught.value.detail) < 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100 + b"]" * 100,
        b'{"a":[' * 50 + b"]}" * 50,
        b"[" + b",".join([b"[[],{}]"] * 500) + b"]",
        b'["' + b"[" * 500 + b'"]',
        b'["' + b"[" * 500 + b"]" * 9 + b'", {"]]]": "}}}"}]',
    ],
)
def test_depth_is_of_lists_not_of_strings(body: bytes) -> None:
    assert loads(body) == stdlib.loads(body)


def test_ints_and_floats_stay_apart() -> None:
    value = loads(b"[1, 1.0, 1e0, -0.0, 9223372036854775807, 18446744073709551615]")
    assert [type(number) for number in value] == [int, float, float, float, int, int]
    assert value[-2:] == [2**63 - 1, 2**64 - 1]


def test_of_equal_names_the_last_counts() -> None:
    assert loads(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}') == {"a": 3, "b": {"c": 2}}


Json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(Json, st.booleans())
def test_reads_what_the_standard_library_writes(value: object, ascii: bool) -> None:
    assert loads(stdlib.dumps(value, ensure_ascii=ascii).encode()) == value


@given(st.binary(max_size=60) | st.text('[]{}",:0123456789.eE+-truefalsn\\u ', max_size=60))
def test_any_bytes_are_json_or_an_error(body: bytes | str) -> None:
    try:
        loads(body.encode() if isinstance(body, str) else body)
    except GradwireError as problem:
        code = problem.code
    else:
        code = "invalid_json"
    assert code == "invalid_json"
