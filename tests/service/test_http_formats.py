"""Every dtype, in every format, of every layout, through a running server, bit for bit."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from tests.service.any_arrays import Array, laid_out, special_values
from tests.service.conftest import Client

from gradwire_engine.spec import COMPLEX, DTYPES, FLOAT, DType, bfloat16, real_of
from gradwire_service.host import safetensors

FORMATS = ["json", "base64", "safetensors", "npy"]
SHAPES: dict[str, tuple[int, ...]] = {
    "0-d": (), "empty": (0, 3), "vector": (24,), "4-d": (2, 3, 2, 2), "strided": (4, 6),
}  # fmt: skip
JSON, SAFETENSORS, NPY = "application/json", "application/x-safetensors", "application/x-npy"
WORDS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def values(dtype: DType, kind: str) -> Array:
    """Special values of a dtype in a shape; "strided" ones don't lie in a row."""
    shape = SHAPES[kind]
    special = special_values(dtype)
    found = np.resize(special, shape).astype(dtype.numpy)
    if kind == "0-d":
        return np.array(special[-1], dtype.numpy)
    return laid_out(found, "strided") if kind == "strided" else found


def bits(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def one_nan(array: Array) -> Array:
    """The same with one kind of NaN, since JSON has no more than one."""
    found = np.array(array, order="C")
    if array.dtype.kind == "c":
        parts = found.reshape(-1).view(array.real.dtype)
        parts[np.isnan(parts)] = np.nan
    elif array.dtype.kind in "fV":
        with np.errstate(invalid="ignore"):  # signalling NaNs
            found[np.isnan(found.astype(np.float64))] = np.nan
    return found


def nested(array: Array, dtype: DType) -> Any:
    """The elements as api.md writes them in JSON."""
    if dtype.category == COMPLEX:
        pairs = np.ascontiguousarray(array).reshape(-1).view(real_of(dtype).numpy)
        return nested(pairs.reshape(*array.shape, 2), real_of(dtype))
    if dtype.category < FLOAT:
        return array.tolist()
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return words(array.astype(np.float64).tolist())


def words(value: Any) -> Any:
    if isinstance(value, list):
        return [words(item) for item in value]
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"


def numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return WORDS.get(value, value) if isinstance(value, str) else value


def put(session: Client, array: Array, dtype: DType, form: str) -> httpx.Response:
    """Send an array in a format."""
    path, shape = f"{session.path}/tensors/q", list(array.shape)
    if form in ("json", "base64"):
        value: dict[str, Any] = {"dtype": dtype.name, "shape": shape}
        value |= (
            {"data": nested(array, dtype)}
            if form == "json"
            else {"base64": b64encode(bits(array)).decode()}
        )
        return session.http.put(path, json={"value": value})
    if form == "npy":
        file = io.BytesIO()
        np.save(file, array)
        return session.http.put(path, content=file.getvalue(), headers={"content-type": NPY})
    literal = {"binary": "a"} | ({"dtype": dtype.name} if dtype.name == "complex128" else {})
    request = json.dumps({"value": literal})
    body = b"".join(safetensors.write({"a": storable(array)}, {"request": request}))
    return session.http.put(path, content=body, headers={"content-type": SAFETENSORS})


def storable(array: Array) -> Array:
    if array.dtype != np.complex128:
        return array
    return np.ascontiguousarray(array).reshape(-1).view(np.float64).reshape(*array.shape, 2)


def get(session: Client, form: str) -> Array:
    """Receive it in a format."""
    if form == "npy":
        reply = session.get("/tensors/q", headers={"accept": NPY})
        assert reply.headers["content-type"] == NPY
        return np.load(io.BytesIO(reply.content))
    if form == "safetensors":
        reply = session.get("/tensors/q", headers={"accept": SAFETENSORS})
        assert reply.headers["content-type"] == SAFETENSORS
        metadata, arrays = safetensors.read(reply.content)
        said = json.loads(metadata["response"])
        found = arrays[said["binary"]]
        if said["dtype"] == "complex128":
            found = found.view(np.complex128).reshape(said["shape"])
        return found
    reply = session.get(f"/tensors/q?data={'nested' if form == 'json' else form}")
    said = reply.json()
    dtype = DTYPES[said["dtype"]]
    if form == "base64":
        from base64 import b64decode

        return np.frombuffer(b64decode(said["base64"]), dtype.numpy).reshape(said["shape"])
    return read_json(said, dtype)


def read_json(said: dict[str, Any], dtype: DType) -> Array:
    part = real_of(dtype).numpy
    flat = np.array(numbers(said["data"]), part if dtype.category >= FLOAT else dtype.numpy)
    if dtype.category == COMPLEX:
        flat = flat.reshape(-1).view(dtype.numpy)
    return flat.reshape(said["shape"]).astype(dtype.numpy)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_there_and_back(session: Client, dtype: DType, kind: str) -> None:
    array = values(dtype, kind)
    assert (kind == "strided") == (not array.flags.c_contiguous)
    for sent in FORMATS:
        reply = put(session, array, dtype, sent)
        if sent == "npy" and dtype is bfloat16:
            assert (reply.status_code, reply.json()["code"]) == (415, "unsupported_media_type")
            continue
        assert reply.status_code == 200, reply.text
        assert reply.json()["dtype"] == dtype.name
        assert reply.json()["shape"] == list(array.shape)
        expected = one_nan(array) if sent == "json" else array
        for received in FORMATS:
            if received == "npy" and dtype is bfloat16:
                reply = session.get("/tensors/q", headers={"accept": NPY})
                assert (reply.status_code, reply.json()["code"]) == (406, "not_acceptable")
                continue
            found = get(session, received)
            assert found.dtype == dtype.numpy
            assert found.shape == array.shape
            wanted = one_nan(expected) if received == "json" else expected
            assert bits(found) == bits(wanted), (sent, received)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_a_view_that_lies_across_memory(session: Client, dtype: DType) -> None:
    """What the server holds isn't contiguous either: a transposed view of what was sent."""
    array = values(dtype, "vector").reshape(4, 6)
    assert put(session, array, dtype, "base64").status_code == 200
    session.steps({"op": "t", "args": ["q"], "out": "q"})
    for received in FORMATS:
        if received == "npy" and dtype is bfloat16:
            continue
        found = get(session, received)
        wanted = one_nan(array.T) if received == "json" else array.T
        assert bits(found) == bits(wanted)


def test_json_is_written_with_the_shortest_digits(session: Client) -> None:
    session.steps({"tensor": "q", "value": [0.1, -0.0, 1e-45, 16777216.0, 3.4028235e38]})
    text = session.get("/tensors/q").text
    assert '"data":[0.1,-0.0,1e-45,16777216.0,3.4028235e+38]' in text


def test_arrays_and_replies_together(session: Client) -> None:
    """One safetensors body up with two arrays, one down with two, one of them complex128."""
    w, c = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.array([1 + 2j, -0.5j])
    request = {
        "steps": [
            {"tensor": "w", "value": {"binary": "w"}, "requires_grad": True},
            {"tensor": "c", "value": {"binary": "c", "dtype": "complex128"}},
            {"op": "mul", "args": ["w", {"binary": "w"}], "out": "y"},
            {"op": "sum", "args": ["y"], "out": "z"},
            {"backward": {"tensors": ["z"]}},
        ],
        "return": ["w.grad", "c", "z", "c.grad"],
    }
    arrays = {"w": w, "c": storable(c)}
    body = b"".join(safetensors.write(arrays, {"request": json.dumps(request)}))
    headers = {"content-type": SAFETENSORS, "accept": SAFETENSORS}
    reply = session.http.post(f"{session.path}/steps", content=body, headers=headers)
    assert reply.status_code == 200, reply.text
    metadata, found = safetensors.read(reply.content)
    said = json.loads(metadata["response"])["values"]
    assert said["c.grad"] is None
    assert bits(found[said["w.grad"]["binary"]]) == bits(w)
    assert found[said["c"]["binary"]].view(np.complex128).reshape(2).tolist() == c.tolist()
    assert found[said["z"]["binary"]] == 55.0


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_both_ways(session: Client, encoding: str) -> None:
    from gradwire_service.http.codec.compression import compress

    steps = {"steps": [{"op": "zeros", "args": [[50_000]], "out": "z"}], "return": ["z"]}
    body = b"".join(compress([orjson.dumps(steps)], encoding))
    headers = {"content-encoding": encoding, "content-type": JSON, "accept-encoding": encoding}
    with session.http.stream(
        "POST", f"{session.path}/steps", content=body, headers=headers
    ) as reply:
        raw = b"".join(reply.iter_raw())
        assert reply.status_code == 200
        assert reply.headers["content-encoding"] == encoding
        assert reply.headers["vary"] == "accept-encoding"
        assert len(raw) < 2000
    again = session.get("/tensors/z", headers={"accept-encoding": encoding})
    assert again.json()["data"] == [0.0] * 50_000
