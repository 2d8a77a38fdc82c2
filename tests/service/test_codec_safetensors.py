"""The safetensors reader and writer, held against the library; and against files that lie."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors as library
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import save
from tests.service.any_arrays import EVERY_DTYPE, Array, arrays, bits

from gradwire_engine.errors import GradwireError
from gradwire_engine.spec import DTYPES, complex128
from gradwire_service.host.safetensors import read, write
from gradwire_service.http.codec.negotiation import SAFETENSORS
from gradwire_service.http.codec.request import read_request

STORED = [dtype for dtype in EVERY_DTYPE if dtype is not complex128]
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(
    lambda name: name != "__metadata__"
)
WORDS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.characters(exclude_categories=["Cs"])),
)
# an element, or a shape of 0 bytes, so that files have holes to fill and edges to miss
FILES = st.dictionaries(NAMES, st.sampled_from(STORED).flatmap(arrays), max_size=5)


def joined(contents: dict[str, Array], metadata: dict[str, str] | None = None) -> bytes:
    return b"".join(write(contents, metadata or {}))


@given(contents=FILES, metadata=WORDS)
def test_the_library_reads_what_we_write(contents: dict[str, Array], metadata: Any) -> None:
    found = dict(library.deserialize(joined(contents, metadata)))
    assert found.keys() == contents.keys()
    for name, array in contents.items():
        assert tuple(found[name]["shape"]) == array.shape
        assert bytes(found[name]["data"]) == np.ascontiguousarray(array).tobytes()


@given(contents=FILES, metadata=WORDS)
def test_we_read_what_the_library_writes(contents: dict[str, Array], metadata: Any) -> None:
    dense = {name: np.ascontiguousarray(a).reshape(a.shape) for name, a in contents.items()}
    words, found = read(save(dense, metadata or None))
    assert words == metadata
    assert found.keys() == dense.keys()
    for name, array in dense.items():
        assert bits(found[name]) == bits(array)


def test_the_library_finds_our_metadata(tmp_path: Path) -> None:
    path = tmp_path / "reply.safetensors"
    path.write_bytes(joined({"w": np.ones(3, np.float32)}, {"response": '{"ä": "\\"\n"}'}))
    with library.safe_open(path, "np") as file:
        assert file.metadata() == {"response": '{"ä": "\\"\n"}'}
        assert np.array_equal(file.get_tensor("w"), np.ones(3, np.float32))


@given(contents=FILES, buffer=st.sampled_from([bytes, bytearray, memoryview]))
def test_views_are_read_only_and_aligned(contents: dict[str, Array], buffer: Any) -> None:
    body = buffer(joined(contents))
    for array in read(body)[1].values():
        assert array.flags.aligned
        if array.size:
            assert not array.flags.writeable
            assert np.shares_memory(array, np.frombuffer(body, np.uint8))


def packed(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(
    begin: object = 0, end: object = 4, dtype: object = "F32", shape: object = (1,)
) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


FOUR = b"\0\0\x80?"
ONE = json.dumps(entry()).encode()
BAD = [
    # the length of the header
    (b"", "0 bytes"),
    (b"\1\0\0", "3 bytes"),
    (bytes(8), "begins with"),
    (b"\xff" * 8, "said to have"),
    (b"\xff" * 8 + b"{}", "said to have"),
    (packed({}, length=3), "said to have 3 bytes; 2 follow"),
    (packed({}, length=2**63), "said to have"),
    (packed({}, length=100_000_001), "said to have"),
    (packed({"a": entry()}, FOUR, length=10), "not JSON"),
    (pickle.dumps({"w": np.ones(3)}), "said to have"),
    (b"PK\3\4" + bytes(30), "said to have"),
    (b"\x93NUMPY\1\0" + bytes(60), "said to have"),
    (b'{"steps": []}', "said to have"),
    # the header as JSON
    (packed(b""), "begins with"),
    (packed(b" {}"), "begins with"),
    (packed(b"[]"), "begins with"),
    (packed(b"null"), "begins with"),
    (packed(b"{"), "not JSON"),
    (packed(b"{} {}"), "not JSON"),
    (packed(b'{"\xff": 1}'), "not JSON in UTF-8"),
    (packed(b'{"\\ud800": ' + ONE + b"}", FOUR), "not JSON in UTF-8"),
    (packed(b'{"a": ' + ONE + b', "a": ' + ONE + b"}", FOUR), "stands twice"),
    (packed(b'{"a": {"dtype": "F32", "dtype": "F32"}}', FOUR), "stands twice"),
    (packed(b'{"a": NaN}'), "not JSON"),
    (packed(b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "nests too deeply"),
    (packed(b'{"a":' * 100_000), "nests too deeply"),
    (packed(b'{"a": ' + b"9" * 10_000 + b"}"), "not JSON"),
    # an entry
    (packed({"a": None}), "needs dtype"),
    (packed({"a": []}), "needs dtype"),
    (packed({"a": {}}), "needs dtype"),
    (packed({"a": {"dtype": "F32", "shape": [1]}}, FOUR), "needs dtype"),
    (packed({"a": {**entry(), "pickle": "x"}}, FOUR), "no more"),
    (packed({"a": entry(dtype="O")}, FOUR), 'dtype "O"'),
    (packed({"a": entry(dtype="float32")}, FOUR), "dtype"),
    (packed({"a": entry(dtype="U32")}, FOUR), "dtype"),
    (packed({"a": entry(dtype="F8_E4M3", end=1)}, b"\0"), "dtype"),
    (packed({"a": entry(dtype=["F32"])}, FOUR), "dtype"),
    (packed({"a": entry(dtype=None)}, FOUR), "dtype null"),
    (packed({"a": entry(shape=1)}, FOUR), "shape 1"),
    (packed({"a": entry(shape=[-1])}, FOUR), "shape [-1]"),
    (packed({"a": entry(shape=[-1, -1])}, FOUR), "shape"),
    (packed({"a": entry(shape=[1.0])}, FOUR), "shape"),
    (packed({"a": entry(shape=[True])}, FOUR), "shape"),
    (packed({"a": entry(shape=["1"])}, FOUR), "shape"),
    (packed({"a": entry(shape=[1] * 65)}, FOUR), "shape"),
    (packed({"a": entry(shape=[2**62, 4])}, FOUR), "shape"),
    (packed({"a": entry(shape=[0, 2**63], end=0)}), "shape"),
    (packed({"a": entry(shape=[[1]])}, FOUR), "shape"),
    (packed({"a": entry(shape=[2])}, FOUR), "float32[2], 8 bytes"),
    (packed({"a": entry(shape=[2**50])}, FOUR), "data_offsets say 4"),
    (packed({"a": entry(dtype="F64")}, FOUR), "8 bytes"),
    (packed({"a": entry(shape=[0])}, FOUR), "0 bytes"),
    (packed({"a": entry(begin=4, end=0)}, FOUR), "say -4"),
    (packed({"a": entry(begin=-4, end=0)}, FOUR), "data_offsets"),
    (packed({"a": entry(begin=None)}, FOUR), "data_offsets"),
    (packed({"a": entry(begin=0.0)}, FOUR), "data_offsets"),
    (packed({"a": {**entry(), "data_offsets": [0, 4, 8]}}, FOUR), "data_offsets"),
    (packed({"a": {**entry(), "data_offsets": "04"}}, FOUR), "data_offsets"),
    (packed({"a": {**entry(), "data_offsets": []}}, FOUR), "data_offsets"),
    # entries and the data
    (packed({"a": entry()}), "4 bytes after the body"),
    (packed({"a": entry()}, FOUR[:3]), "1 bytes after the body"),
    (packed({"a": entry()}, FOUR + b"\0"), "1 bytes follow"),
    (packed({}, FOUR), "4 bytes follow"),
    (packed({"a": entry(4, 8)}, FOUR * 2), "leaves a gap"),
    (packed({"a": entry(), "b": entry(8, 12)}, FOUR * 3), '"b" leaves a gap'),
    (packed({"a": entry(), "b": entry()}, FOUR), "overlaps"),
    (packed({"a": entry(0, 8, shape=[2]), "b": entry(4, 8)}, FOUR * 2), "overlaps"),
    (packed({"a": entry(0, 8, shape=[2]), "b": entry(4, 12, shape=[2])}, FOUR * 3), "overlaps"),
    (packed({"a": entry(0, 2**40, shape=[2**38])}, FOUR), "after the body"),
    (packed({"a": entry(end=2, dtype="BOOL", shape=[2])}, b"\1\2"), "a bool of 2"),
    # metadata
    (packed({"__metadata__": None}), "object of strings"),
    (packed({"__metadata__": []}), "object of strings"),
    (packed({"__metadata__": {"request": {}}}), "object of strings"),
    (packed({"__metadata__": {"request": 1}}), "object of strings"),
    (packed({"__metadata__": entry()}), "object of strings"),
    # the request in it
    (packed({}), "request"),
    (packed({"__metadata__": {"response": "{}"}}), "request"),
    (packed(b'{"__metadata__": {"request": "\\ud800"}}'), "request"),
]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(("body", "words"), BAD, ids=lambda value: repr(value)[-40:])
def test_files_that_lie(body: bytes, words: str, kind: type) -> None:
    with pytest.raises(GradwireError) as caught:
        read_request(SAFETENSORS, kind(body))
    assert caught.value.code == "invalid_body"
    assert words in caught.value.detail
    assert len(caught.value.detail) < 300
    caught.value.detail.encode()


@pytest.mark.parametrize(
    ("request_text", "code"),
    [
        ("", "invalid_json"),
        ("{", "invalid_json"),
        ("[]", "invalid_request"),
        ("[" * 500 + "]" * 500, "limit_exceeded"),
    ],
)
def test_bad_requests_in_good_files(request_text: str, code: str) -> None:
    with pytest.raises(GradwireError) as caught:
        read_request(SAFETENSORS, joined({}, {"request": request_text}))
    assert caught.value.code == code


def test_a_lying_header_costs_nothing() -> None:
    lies = [packed({"a": entry(0, 2**40, shape=[2**38])}), packed({}, length=99_000_000)]
    tracemalloc.start()
    for body in lies:
        with pytest.raises(GradwireError):
            read(body)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_names_are_only_names() -> None:
    """A name like a path, a pickle or a format's key is a key in a dict and nothing more."""
    names = ["", "../../etc/passwd", "cos\nsystem\n(S'x'\ntR.", "__class__", "\0", "a" * 10_000]
    assert read(joined({name: np.ones(1) for name in names}))[1].keys() == set(names)


def test_an_array_at_an_odd_address_is_copied() -> None:
    header = {"b": entry(0, 1, "BOOL"), "f": entry(1, 9, "F32", [2])}
    body = packed(header, b"\1" + np.array([1.5, -2], np.float32).tobytes())
    arrays = read(body)[1]
    assert arrays["f"].flags.aligned
    assert arrays["f"].tolist() == [1.5, -2]


def accepted(body: bytes) -> bool:
    try:
        read(body)
    except GradwireError as problem:
        return problem.code != "invalid_body"
    return True


def accepted_by_the_library(body: bytes) -> bool:
    try:
        library.deserialize(body)
    except library.SafetensorError:
        return False
    return True


OFFSET = st.sampled_from([0, 1, 2, 4, 8, 12])
ENTRIES = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "I8", "F64", "C64", "BF16"]),
        "shape": st.lists(st.sampled_from([0, 1, 2, 3]), max_size=2),
        "data_offsets": st.tuples(OFFSET, OFFSET),
    }
)


@given(st.dictionaries(NAMES, ENTRIES, max_size=3), st.binary(max_size=16))
@example({"a": entry(0, 4), "b": entry(4, 8)}, bytes(8))
@example({"a": entry(0, 0, shape=[0]), "b": entry(0, 4), "c": entry(4, 4, shape=[0])}, bytes(4))
def test_the_same_headers_are_files_for_the_library(header: object, data: bytes) -> None:
    body = packed(header, data)
    assert accepted(body) == accepted_by_the_library(body)


@given(FILES, st.data())
def test_broken_files_are_refused_and_never_crash(contents: Any, data: st.DataObject) -> None:
    body = bytearray(joined(contents, {"request": "{}"}))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    for broken in (bytes(body), bytes(body[:cut])):
        assert not accepted(broken) or accepted_by_the_library(broken)


def test_every_dtype_has_a_name_in_the_format() -> None:
    assert set(STORED) == set(DTYPES.values()) - {complex128}
    for dtype in STORED:
        assert read(joined({"x": np.zeros(3, dtype.numpy)}))[1]["x"].dtype == dtype.numpy
