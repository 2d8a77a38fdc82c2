"""Every dtype through every encoding and back, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.any_arrays import EVERY_DTYPE, SHAPES, Array, arrays, bits, special_values

from gradwire_engine.errors import GradwireError
from gradwire_engine.spec import DType, bfloat16, complex128, dtype_of
from gradwire_service.host import safetensors
from gradwire_service.host.literals import decode
from gradwire_service.host.reply import TensorReply
from gradwire_service.http.codec import json, npy
from gradwire_service.http.codec.negotiation import JSON, NPY, SAFETENSORS
from gradwire_service.http.codec.reply import Written, write_reply
from gradwire_service.http.codec.request import read_request

FIELDS = ("dtype", "shape", "data", "base64")


def replied(array: Array, name: str | None = "x") -> TensorReply:
    return TensorReply(name, dtype_of(array.dtype), array.shape, "cpu", False, True, None, 0, array)


def body(written: Written) -> bytes:
    return b"".join(written.buffers)


def literal(text: bytes) -> dict[str, object]:
    """What a client sends to give back what it got."""
    fields = json.loads(text)
    return {name: fields[name] for name in FIELDS if name in fields}


def through_nested(array: Array) -> Array:
    return decode(literal(body(write_reply(replied(array), JSON))))


def through_flat(array: Array) -> Array:
    text = body(write_reply(replied(array.reshape(-1)), JSON))
    return decode({**literal(text), "shape": list(array.shape)})


def through_base64(array: Array) -> Array:
    return decode(literal(body(write_reply(replied(array), JSON, "base64"))))


def through_safetensors(array: Array) -> Array:
    metadata, found = safetensors.read(body(write_reply({"x": replied(array)}, SAFETENSORS)))
    fields = json.loads(metadata["response"].encode())["x"]
    assert fields["shape"] == list(array.shape)
    return decode({name: fields[name] for name in ("dtype", "binary")}, binaries=found)


def through_npy(array: Array) -> Array:
    return npy.read(body(write_reply(replied(array), NPY)))


JSON_WAYS = [through_nested, through_flat]  # keep one NaN, not its payload
BINARY_WAYS = [through_base64, through_safetensors, through_npy]
Way = Callable[[Array], Array]


def lacks(way: Way, dtype: DType) -> bool:
    return way is through_npy and dtype is bfloat16


@pytest.mark.parametrize("dtype", EVERY_DTYPE, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("way", JSON_WAYS + BINARY_WAYS, ids=lambda way: way.__name__)
@given(data=st.data())
def test_round_trip(way: Way, dtype: DType, data: st.DataObject) -> None:
    array = data.draw(arrays(dtype))
    if lacks(way, dtype):
        with pytest.raises(GradwireError) as caught:
            way(array)
        assert caught.value.code == "not_acceptable"
        return
    back = way(array)
    assert bits(back, way in JSON_WAYS) == bits(array, way in JSON_WAYS)
    assert back.flags.c_contiguous
    assert back.flags.aligned


@pytest.mark.parametrize("dtype", EVERY_DTYPE, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("way", JSON_WAYS + BINARY_WAYS, ids=lambda way: way.__name__)
def test_special_values_all_at_once(way: Way, dtype: DType) -> None:
    if not lacks(way, dtype):
        array = special_values(dtype)
        assert bits(way(array), way in JSON_WAYS) == bits(array, way in JSON_WAYS)


@pytest.mark.parametrize("dtype", [d for d in EVERY_DTYPE if d.itemsize == 2], ids=str)
def test_every_half_there_is_through_json(dtype: DType) -> None:
    array = np.arange(2**16, dtype=np.uint16).view(dtype.numpy)
    assert bits(through_nested(array), True) == bits(array, True)


@given(data=st.data(), dtypes=st.lists(st.sampled_from(EVERY_DTYPE), max_size=6))
def test_many_tensors_in_one_file(data: st.DataObject, dtypes: list[DType]) -> None:
    """Names may repeat, be absent or look like the format's own key; each keeps its array."""
    name = st.sampled_from(["w", "a.b", "__metadata__", None])
    sources = [data.draw(arrays(dtype)) for dtype in dtypes]
    reply = {"items": [replied(array, data.draw(name)) for array in sources], "none": None}
    metadata, found = safetensors.read(body(write_reply(reply, SAFETENSORS)))
    items = json.loads(metadata["response"].encode())["items"]
    backs = [decode({k: item[k] for k in ("dtype", "binary")}, binaries=found) for item in items]
    assert [bits(back) for back in backs] == [bits(array) for array in sources]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_request_brings_arrays_without_copies(shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    text = '{"steps": [{"tensor": "w", "value": {"binary": "w"}}]}'
    sent = b"".join(safetensors.write({"w": array}, {"request": text}))
    request, found = read_request(SAFETENSORS, sent)
    value = decode(request["steps"][0]["value"], binaries=found)
    assert bits(value) == bits(array)
    if array.size:
        assert np.shares_memory(value, np.frombuffer(sent, np.uint8))
        assert not value.flags.writeable


def test_complex128_travels_as_pairs_of_float64() -> None:
    array = np.array([[1 + 2j], [3 - 4j]])
    _, found = safetensors.read(body(write_reply(replied(array), SAFETENSORS)))
    assert found["x"].dtype == np.float64
    assert found["x"].shape == (2, 1, 2)
    typed = {"binary": "x", "dtype": "complex128"}
    assert bits(decode(typed, binaries=found)) == bits(array)
    assert bits(decode({"binary": "x"}, dtype=complex128, binaries=found)) == bits(array)


def test_buffers_are_the_tensors_own_memory() -> None:
    array = np.zeros((64, 64), np.float32)
    for accept in (SAFETENSORS, NPY):
        written = write_reply(replied(array), accept)
        assert np.shares_memory(np.frombuffer(written.buffers[1], np.uint8), array)
