"""The same questions put to each server, as bytes, and what a right answer has to say."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from benchmarks.plain_http import post
from benchmarks.plain_stream import frame

JSON = "application/json"
SAFETENSORS = "application/x-safetensors"
PROGRAM = {"inputs": ["x"], "source": "y = (x * x).sum()", "outputs": ["y"]}
STORED = "p_" + 32 * "0"
"""Stands for the id that the program gets where it is stored, which is as long."""


class WrongAnswerError(Exception):
    """A server that is fast but wrong isn't measured."""


@dataclass(frozen=True)
class Question:
    """Bytes to send. `check` looks at the body of the answer, once, before anything is timed."""

    request: bytes
    wanted: np.ndarray[Any, Any] | None = None
    read: str = ""

    def check(self, body: bytes) -> None:
        """A WrongAnswerError unless the gradient in the body is the one wanted."""
        if self.wanted is None:
            return
        found = READERS[self.read](body)
        if not np.allclose(found, self.wanted):
            raise WrongAnswerError(f"{self.read}: the answer isn't the gradient: {body[:300]!r}")


def numbers(count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """The point at which the gradient is asked for."""
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


def gradwire(count: int, seed: int = 0) -> Question:
    """Value and gradient in one call, JSON both ways."""
    x = numbers(count, seed)
    body = {"program": PROGRAM, "inputs": {"x": x.tolist()}}
    return Question(post("/v1/value_and_grad", _json(body)), 2 * x, "gradwire")


def gradwire_binary(count: int, seed: int = 0) -> Question:
    """The same with the array as safetensors both ways."""
    x = numbers(count, seed)
    request = {"program": PROGRAM, "inputs": {"x": {"binary": "x"}}}
    body = save({"x": x}, {"request": json.dumps(request)})
    sent = post("/v1/value_and_grad", body, SAFETENSORS, accept=SAFETENSORS)
    return Question(sent, 2 * x, "gradwire_binary")


def gradwire_stream(count: int, seed: int = 0) -> Question:
    """The same as a message of a stream: steps in a session, JSON both ways."""
    x = numbers(count, seed)
    steps = [
        {"tensor": "x", "value": x.tolist(), "requires_grad": True},
        {"op": "mul", "args": ["x", "x"], "out": "xx"},
        {"op": "sum", "args": ["xx"], "out": "y"},
        {"grad": {"outputs": ["y"], "inputs": ["x"]}, "out": ["g"]},
    ]
    message = {"id": seed, "steps": steps, "return": ["y", "g"]}
    return Question(frame(_json(message)), 2 * x, "gradwire_stream")


def gradwire_stream_step(count: int, seed: int = 0) -> Question:
    """The same as one step: the transform that REST's call is, of a program that is stored."""
    x = numbers(count, seed)
    step = {
        "transform": "value_and_grad", "call": STORED, "args": [x.tolist()], "out": ["g"],
        "values": ["y"],
    }  # fmt: skip
    message = {"id": seed, "steps": [step], "return": ["y", "g"]}
    return Question(frame(_json(message)), 2 * x, "gradwire_stream")


def bare(count: int, seed: int = 0) -> Question:
    """The bytes that gradwire gets, sent to a route that does nothing with them."""
    return Question(_to_root(gradwire(count, seed).request))


def bare_binary(count: int, seed: int = 0) -> Question:
    """The same for the binary request."""
    return Question(_to_root(gradwire_binary(count, seed).request))


def _to_root(request: bytes) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    return head.replace(b"/v1/value_and_grad", b"/") + b"\r\n\r\n" + body


def tesseract(count: int, seed: int = 0) -> Question:
    """The vector-Jacobian product, JSON both ways."""
    x = numbers(count, seed)
    body = _vjp(x.tolist(), 1.0)
    return Question(post("/vector_jacobian_product", _json(body)), 2 * x, "tesseract")


def tesseract_base64(count: int, seed: int = 0) -> Question:
    """The same with the arrays as base64 both ways, its fastest form over HTTP."""
    sent = _tesseract_base64(count, seed, accept="application/json+base64")
    return Question(sent, 2 * numbers(count, seed), "tesseract")


def tesseract_base64_json(count: int, seed: int = 0) -> Question:
    """The same with the array as base64, answered as Tesseract answers unasked: in JSON."""
    return Question(
        _tesseract_base64(count, seed, accept=None), 2 * numbers(count, seed), "tesseract"
    )


def _tesseract_base64(count: int, seed: int, accept: str | None) -> bytes:
    x = numbers(count, seed)
    array = {
        "object_type": "array",
        "shape": [count],
        "dtype": "float32",
        "data": {"buffer": base64.b64encode(x.tobytes()).decode(), "encoding": "base64"},
    }
    return post("/vector_jacobian_product", _json(_vjp(array, 1.0)), accept=accept)


def _vjp(x: Any, cotangent: float) -> dict[str, Any]:
    return {
        "inputs": {"x": x},
        "vjp_inputs": ["x"],
        "vjp_outputs": ["y"],
        "cotangent_vector": {"y": cotangent},
    }


def umbridge(count: int, seed: int = 0) -> Question:
    """The gradient, by UM-Bridge's protocol."""
    x = numbers(count, seed)
    body = {
        "name": "forward",
        "outWrt": 0,
        "inWrt": 0,
        "input": [x.tolist()],
        "sens": [1.0],
        "config": {},
    }
    return Question(post("/Gradient", _json(body)), 2 * x, "umbridge")


def _json(body: object) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _read_gradwire(body: bytes) -> Any:
    return json.loads(body)["grads"]["x"]["data"]


def _read_gradwire_stream(body: bytes) -> Any:
    return json.loads(body)["values"]["g"]["data"]


def _read_gradwire_binary(body: bytes) -> Any:
    length = int.from_bytes(body[:8], "little")
    response = json.loads(json.loads(body[8 : 8 + length])["__metadata__"]["response"])
    return load(body)[response["grads"]["x"]["binary"]]


def _read_tesseract(body: bytes) -> Any:
    data = json.loads(body)["x"]["data"]
    if data["encoding"] == "base64":
        return np.frombuffer(base64.b64decode(data["buffer"]), np.float32)
    return data["buffer"]


def _read_umbridge(body: bytes) -> Any:
    return json.loads(body)["output"]


READERS = {
    "gradwire": _read_gradwire,
    "gradwire_binary": _read_gradwire_binary,
    "gradwire_stream": _read_gradwire_stream,
    "tesseract": _read_tesseract,
    "umbridge": _read_umbridge,
}
QUESTIONS = {
    "gradwire": gradwire,
    "gradwire_binary": gradwire_binary,
    "gradwire_stream": gradwire_stream,
    "gradwire_stream_step": gradwire_stream_step,
    "bare": bare,
    "bare_binary": bare_binary,
    "tesseract": tesseract,
    "tesseract_base64": tesseract_base64,
    "tesseract_base64_json": tesseract_base64_json,
    "umbridge": umbridge,
}
