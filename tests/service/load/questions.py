"""What the clients ask: gradients of several sizes, each with its answer worked out in NumPy."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from safetensors.numpy import load, save

Array = NDArray[Any]
Right = Callable[[bytes], bool]
JSON, SAFETENSORS = "application/json", "application/x-safetensors"
_VARIANTS = 8
"""Questions of a kind that differ in their numbers."""
_MANY = 500_000
_CLOSE = 2e-5
"""Relative to the largest element: the rounding of float32 in sums of products."""


class Question(NamedTuple):
    """A request as it goes over the wire, and whether the body of a reply is right."""

    kind: str
    request: bytes
    right: Right


class Kind(NamedTuple):
    """Questions of a kind, for the session of a client: how many of all are of it."""

    share: float
    make: Callable[[str, int], Question]


def posted(path: str, body: bytes, media: str = JSON, accept: str = JSON) -> bytes:
    """A POST."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nAccept: {accept}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def near(expected: Array | float) -> Callable[[Any], bool]:
    """Whether what is found is this but for rounding; what it takes is worked out once."""
    true = np.asarray(expected)
    room = _CLOSE * max(1.0, float(np.abs(true).max()))
    if not true.ndim:
        return lambda found: isinstance(found, float) and abs(found - float(true)) <= room
    difference = np.empty(true.shape, true.dtype)

    def same(found: Any) -> bool:
        array = np.asarray(found)
        if array.shape != true.shape:
            return False
        np.subtract(array, true, out=difference)
        return bool(difference.max() <= room and difference.min() >= -room)

    return same


def _draw(*key: int) -> np.random.Generator:
    return np.random.default_rng(key)


def _differentiate(
    kind: str, source: str, given: Mapping[str, Any], expected: Mapping[str, Array]
) -> Question:
    """value_and_grad of a program whose output is y; `expected` are y and the gradients."""
    program = {"inputs": list(given), "source": source, "outputs": ["y"]}
    body = orjson.dumps({"program": program, "inputs": given})
    same = {name: near(x) for name, x in expected.items()}

    def right(text: bytes) -> bool:
        reply = orjson.loads(text)
        found = {"y": reply["outputs"]["y"], **reply["grads"]}
        return found.keys() == same.keys() and all(same[name](found[name]["data"]) for name in same)

    return Question(kind, posted("/v1/value_and_grad", body), right)


@cache
def _small(variant: int) -> Question:
    x = _draw(1, variant).normal(size=3).astype("float32")
    true = x.astype(float)
    expected = {"y": np.sum(true**3), "x": 3 * true**2}
    return _differentiate("small", "y = (x ** 3).sum()", {"x": x.tolist()}, expected)


@cache
def _thousand(variant: int) -> Question:
    x = _draw(2, variant).normal(size=1000).astype("float32")
    true = x.astype(float)
    t = np.tanh(true)
    expected = {"y": np.sum(t * true), "x": t + true * (1 - t * t)}
    return _differentiate("thousand", "y = (tanh(x) * x).sum()", {"x": x.tolist()}, expected)


def _in_binary(
    kind: str, source: str, given: Mapping[str, Array], expected: Mapping[str, Array]
) -> Question:
    """value_and_grad with arrays in safetensors both ways; `expected` are the gradients."""
    program = {"inputs": list(given), "source": source, "outputs": ["y"]}
    request = {"program": program, "inputs": {name: {"binary": name} for name in given}}
    body = save(dict(given), {"request": orjson.dumps(request).decode()})
    same = {name: near(x.astype("float32")) for name, x in expected.items()}

    def right(text: bytes) -> bool:
        arrays = load(text)
        size = int.from_bytes(text[:8], "little")
        reply = orjson.loads(orjson.loads(text[8 : 8 + size])["__metadata__"]["response"])
        found = {name: arrays[told["binary"]] for name, told in reply["grads"].items()}
        return found.keys() == same.keys() and all(same[name](found[name]) for name in same)

    return Question(kind, posted("/v1/value_and_grad", body, SAFETENSORS, SAFETENSORS), right)


@cache
def _product(variant: int) -> Question:
    draw = _draw(3, variant)
    a, b = (draw.normal(scale=0.2, size=(96, 96)).astype("float32") for _ in range(2))
    slope = 1 - np.tanh(a.astype(float) @ b.astype(float)) ** 2
    expected = {"a": slope @ b.T.astype(float), "b": a.T.astype(float) @ slope}
    return _in_binary("product", "y = tanh(a @ b).sum()", {"a": a, "b": b}, expected)


@cache
def _large(variant: int) -> Question:
    """A megabyte each way."""
    w = _draw(4, variant).normal(size=250_000).astype("float32")
    return _in_binary("large", "y = (w * w * w).sum()", {"w": w}, {"w": 3 * w.astype(float) ** 2})


def _steps(
    kind: str, session: str, steps: Sequence[Any], expected: Mapping[str, Array]
) -> Question:
    body = orjson.dumps({"steps": steps, "return": list(expected)})
    same = {name: near(x) for name, x in expected.items()}

    def right(text: bytes) -> bool:
        values = orjson.loads(text)["values"]
        return all(same[name](values[name]["data"]) for name in same)

    return Question(kind, posted(f"/v1/sessions/{session}/steps", body), right)


def _stepped(session: str, variant: int) -> Question:
    """A graph that is built anew in the client's session."""
    x = _draw(5, variant).normal(size=8).astype("float32")
    true = x.astype(float)
    steps = [
        {"tensor": "x", "value": x.tolist(), "requires_grad": True},
        {"op": "sin", "args": ["x"], "out": "s"},
        {"op": "mul", "args": ["s", "x"], "out": "p"},
        {"op": "sum", "args": ["p"], "out": "z"},
        {"backward": {"tensors": ["z"]}},
    ]
    expected = {
        "z": np.sum(np.sin(true) * true),
        "x.grad": np.sin(true) + true * np.cos(true),
    }
    return _steps("steps", session, steps, expected)


COUNTED = np.arange(1.0, 5.0)
"""A leaf of each session: whole numbers, so that sums of its gradients are exact."""


def _counted(session: str, _: int) -> Question:
    """The gradient of the session's leaf grows by what it is, once for each answer."""
    steps = [
        {"op": "mul", "args": ["c", "c"], "out": "d"},
        {"op": "sum", "args": ["d"], "out": "e"},
        {"backward": {"tensors": ["e"]}},
    ]
    return _steps("counted", session, steps, {"e": np.sum(COUNTED**2)})


WEIGHTS = np.linspace(-1.0, 1.0, 128 * 128).reshape(128, 128).astype("float32")
"""Another leaf of each session."""


@cache
def _of_weights(variant: int) -> tuple[Sequence[Any], Mapping[str, Array]]:
    """Little over the wire, much work: a gradient of the weights, squared and summed."""
    factor = 0.05 + 0.01 * variant
    w = WEIGHTS.astype(float)
    t = np.tanh(w @ w * factor)
    slope = (1 - t * t) * factor
    gradient = slope @ w.T + w.T @ slope
    source = [
        {"op": "matmul", "args": ["w", "w"], "out": "p"},
        {"op": "mul", "args": ["p", factor], "out": "q"},
        {"op": "tanh", "args": ["q"], "out": "t"},
        {"op": "sum", "args": ["t"], "out": "l"},
        {"grad": {"outputs": ["l"], "inputs": ["w"]}, "out": ["g"]},
        {"op": "mul", "args": ["g", "g"], "out": "h"},
        {"op": "sum", "args": ["h"], "out": "n"},
    ]
    return source, {"l": np.sum(t), "n": np.sum(gradient**2)}


def _weights(session: str, variant: int) -> Question:
    return _steps("weights", session, *_of_weights(variant))


def _anywhere(make: Callable[[int], Question]) -> Callable[[str, int], Question]:
    return lambda _, variant: make(variant)


KINDS: Mapping[str, Kind] = {
    "small": Kind(0.35, _anywhere(_small)),
    "steps": Kind(0.2, _stepped),
    "counted": Kind(0.1, _counted),
    "thousand": Kind(0.12, _anywhere(_thousand)),
    "weights": Kind(0.12, _weights),
    "product": Kind(0.08, _anywhere(_product)),
    "large": Kind(0.03, _anywhere(_large)),
}


def questions(session: str) -> dict[str, list[Question]]:
    """What the client with this session asks, by kind."""
    return {
        name: [kind.make(session, variant) for variant in range(_VARIANTS)]
        for name, kind in KINDS.items()
    }


@cache
def slow(variant: int) -> Question:
    """Little to send and much to compute: for who wants requests to wait."""
    x = np.float32(_draw(6, variant).uniform(0.5, 1.0))
    grid = np.linspace(0.0, 1.0, _MANY)
    t = np.tanh(float(x) * grid)
    expected = {"y": t.sum(), "x": np.sum((1 - t * t) * grid)}
    source = f"y = tanh(x * linspace(0, 1, {_MANY})).sum()"
    return _differentiate("slow", source, {"x": float(x)}, expected)


def begun() -> bytes:
    """The steps that make a session ready for the questions."""
    return orjson.dumps({"steps": [_leaf("c", COUNTED.astype("float32")), _leaf("w", WEIGHTS)]})


def _leaf(name: str, array: Array) -> Mapping[str, Any]:
    text = base64.b64encode(array.tobytes()).decode()
    value = {"dtype": "float32", "shape": array.shape, "base64": text}
    return {"tensor": name, "value": value, "requires_grad": True}


def counted(answers: int) -> list[float] | None:
    """The gradient of the leaf after so many answers."""
    return (2 * COUNTED * answers).tolist() if answers else None
