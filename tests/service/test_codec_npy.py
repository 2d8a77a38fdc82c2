""".npy bodies: what NumPy writes is read, whatever its layout; what could do harm is not."""

from __future__ import annotations

import io
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.any_arrays import EVERY_DTYPE, Array, arrays, bits

from gradwire_engine.errors import GradwireError
from gradwire_engine.spec import bfloat16
from gradwire_service.host.literals import decode
from gradwire_service.http.codec.negotiation import NPY
from gradwire_service.http.codec.npy import read, write
from gradwire_service.http.codec.request import read_request

STORED = [dtype for dtype in EVERY_DTYPE if dtype is not bfloat16]


def saved(array: Any, version: tuple[int, int] | None = None, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), version, pickled)
    return file.getvalue()


def joined(array: Array) -> bytes:
    return b"".join(write(array))


@given(st.sampled_from(STORED).flatmap(arrays))
def test_numpy_reads_what_we_write(array: Array) -> None:
    assert bits(np.load(io.BytesIO(joined(array)), allow_pickle=False)) == bits(array)


@given(
    st.sampled_from(STORED).flatmap(arrays),
    st.sampled_from([(1, 0), (2, 0), None]),
    st.sampled_from([bytes, bytearray, memoryview]),
    st.sampled_from(["<", ">"]),
)
def test_we_read_what_numpy_writes(
    array: Array, version: tuple[int, int] | None, kind: Any, order: str
) -> None:
    """Both byte orders and both memory orders come out native and row by row."""
    back = read(kind(saved(array.astype(array.dtype.newbyteorder(order)), version)))
    assert bits(back) == bits(array)
    assert back.flags.c_contiguous
    assert back.flags.aligned
    assert not back.flags.writeable


def test_a_body_is_not_copied() -> None:
    body = saved(np.arange(100.0))
    assert np.shares_memory(read(body), np.frombuffer(body, np.uint8))


def test_one_tensor_as_a_whole_request() -> None:
    request, binaries = read_request(NPY, saved(np.eye(2)), lone=True)
    assert np.array_equal(decode(request["value"], binaries=binaries), np.eye(2))


def headed(text: str, data: bytes = b"", version: bytes = b"\1\0") -> bytes:
    """A file with any header; its length is told truly."""
    size = 2 if version == b"\1\0" else 4
    return b"\x93NUMPY" + version + len(text).to_bytes(size, "little") + text.encode() + data


def header(
    descr: object = "<f4", fortran_order: object = False, shape: object = (1,), **more: object
) -> str:
    fields = {"descr": descr, "fortran_order": fortran_order, "shape": shape, **more}
    return str(fields) + "\n"


ONE = b"\0\0\x80?"
OBJECTS = saved(np.array([{}, None]), pickled=True)
BAD = [
    (b"", "invalid_body"),
    (b"\x93NUMP", "invalid_body"),
    (b"\x93NUMPY", "invalid_body"),
    (b"\x93NUMPY\1\0", "invalid_body"),
    (b"\x93NUMPY\1\0\xff\xff", "invalid_body"),
    (b"\x93NUMPY\2\0\xff\xff\xff\xff{}", "invalid_body"),
    (b"\x93NUMPZ\1\0" + bytes(100), "invalid_body"),
    (b'{"value": 1}', "invalid_body"),
    (pickle.dumps(np.ones(3)), "invalid_body"),
    (b"PK\3\4" + bytes(100), "invalid_body"),
    (headed(header(), ONE, b"\3\0"), "invalid_body"),
    (headed(header(), ONE, b"\0\0"), "invalid_body"),
    (headed(header(), ONE, b"\xff\xff"), "invalid_body"),
    # the header's text
    (headed(""), "invalid_body"),
    (headed("\n"), "invalid_body"),
    (headed("[]\n"), "invalid_body"),
    (headed("{}\n"), "invalid_body"),
    (headed("None\n"), "invalid_body"),
    (headed("{'descr': '<f4'}\n"), "invalid_body"),
    (headed("__import__('os').abort()\n"), "invalid_body"),
    (headed("{'descr': open('/etc/passwd'), 'fortran_order': 0, 'shape': ()}\n"), "invalid_body"),
    (headed("(" * 9000 + "\n"), "invalid_body"),
    (headed("[" * 150 + "]" * 150 + "\n"), "invalid_body"),
    (headed("-" * 9000 + "1\n"), "invalid_body"),
    (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}\n"),
     "invalid_body"),
    (headed(header() + " " * 20_000, ONE), "invalid_body"),
    (headed(header(more=1), ONE), "invalid_body"),
    (headed(header(fortran_order=0), ONE), "invalid_body"),
    (headed(header(fortran_order="False"), ONE), "invalid_body"),
    (headed("{'descr': '<f4', 'fortran_order': False, 'shape': (1L,), }\n", ONE), "invalid_body"),
    # shapes
    (headed(header(shape=1), ONE), "invalid_body"),
    (headed(header(shape=[1]), ONE), "invalid_body"),
    (headed(header(shape=None), ONE), "invalid_body"),
    (headed(header(shape=("1",)), ONE), "invalid_body"),
    (headed(header(shape=(1.0,)), ONE), "invalid_body"),
    (headed(header(shape=(True,)), ONE), "invalid_body"),
    (headed(header(shape=(-1,)), ONE), "invalid_body"),
    (headed(header(shape=(-1, -1)), ONE), "invalid_body"),
    (headed(header(shape=(1,) * 65), ONE), "invalid_body"),
    (headed(header(shape=(2**70,)), ONE), "invalid_body"),
    (headed(header(shape=(0, 2**62, 2**62))), "invalid_body"),
    # shapes and data
    (headed(header()), "invalid_body"),
    (headed(header(), ONE[:3]), "invalid_body"),
    (headed(header(), ONE + b"\0"), "invalid_body"),
    (headed(header(shape=(2**40,)), ONE), "invalid_body"),
    (headed(header(shape=(0,)), ONE), "invalid_body"),
    (headed(header("|b1"), b"\2"), "invalid_body"),
    # dtypes
    (OBJECTS, "invalid_body"),
    (headed(header("|O"), ONE * 2), "invalid_body"),
    (headed(header([("a", "O")]), ONE * 2), "invalid_body"),
    (headed(header("nonsense"), ONE), "invalid_body"),
    (headed(header(7), ONE), "invalid_body"),
    (headed(header(""), ONE), "invalid_body"),
    (headed(header("<f4,<f4"), ONE * 2), "dtype_mismatch"),
    (headed(header([("a", "<f4")]), ONE), "dtype_mismatch"),
    (headed(header("<u4"), ONE), "dtype_mismatch"),
    (headed(header("<U1"), ONE), "dtype_mismatch"),
    (headed(header("|S4"), ONE), "dtype_mismatch"),
    (headed(header("<M8[s]"), ONE * 2), "dtype_mismatch"),
    (headed(header("|V2"), ONE[:2]), "unsupported_media_type"),
    (headed(header("<V2"), ONE[:2]), "unsupported_media_type"),
]  # fmt: skip


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(("body", "code"), BAD, ids=lambda value: repr(value)[-50:])
def test_files_that_lie(body: bytes, code: str, kind: type) -> None:
    with pytest.raises(GradwireError) as caught:
        read_request(NPY, kind(body), lone=True)
    assert caught.value.code == code
    assert len(caught.value.detail) < 400
    caught.value.detail.encode()


def test_bfloat16_is_refused_both_ways() -> None:
    array = np.zeros(2, bfloat16.numpy)
    with pytest.raises(GradwireError) as caught:
        write(array)
    assert caught.value.code == "not_acceptable"
    with pytest.raises(GradwireError) as caught:
        read(saved(array))
    assert caught.value.code == "unsupported_media_type"


def test_a_lying_header_costs_nothing() -> None:
    tracemalloc.start()
    with pytest.raises(GradwireError):
        read(headed(header(shape=(2**40,)), ONE))
    assert tracemalloc.get_traced_memory()[1] < 200_000
    tracemalloc.stop()


@given(st.sampled_from(STORED).flatmap(arrays), st.data())
def test_broken_files_are_refused_and_never_crash(array: Array, data: st.DataObject) -> None:
    body = bytearray(saved(array))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    for broken in (bytes(body), bytes(body[:cut])):
        try:
            read(broken)
        except GradwireError as problem:
            code = problem.code
        else:
            code = "invalid_body"
        assert code in ("invalid_body", "dtype_mismatch", "unsupported_media_type")
