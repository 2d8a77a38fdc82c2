"""Sessions with one of everything in them, and snapshots of them over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
from tests.service.conftest import Client, Running

FILE = {"content-type": "application/x-safetensors"}


def taken(session: Client) -> bytes:
    """The session's snapshot."""
    reply = session.get("/snapshot")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/x-safetensors"
    return reply.content


def restore(http: httpx.Client, snapshot: bytes) -> Client:
    """A new session out of a snapshot."""
    reply = http.post("/v1/sessions", content=snapshot, headers=FILE)
    assert reply.status_code == 201, reply.text
    assert reply.headers["location"] == f"/v1/sessions/{reply.json()['id']}"
    return Client(http, reply.json()["id"])


def program(http: httpx.Client, source: str, inputs: list[Any], outputs: list[str]) -> str:
    """The id of a stored program."""
    body = {"inputs": inputs, "source": source, "outputs": outputs}
    reply = http.post("/v1/programs", json=body)
    assert reply.status_code in (200, 201), reply.text
    return str(reply.json()["id"])


Build = Callable[[Running], Client]
KINDS: dict[str, Build] = {}
"""What a session may have in it: from a name to who makes one."""


def kind(build: Build) -> Build:
    KINDS[build.__name__] = build
    return build


def leaf(name: str, *values: float) -> dict[str, Any]:
    """A step that makes a leaf."""
    return {"tensor": name, "value": list(values), "requires_grad": True}


def op(name: str, *args: Any, out: Any = None, **kwargs: Any) -> dict[str, Any]:
    """An op step."""
    step = {"op": name, "args": list(args)} | ({"kwargs": kwargs} if kwargs else {})
    return step if out is None else step | {"out": out}


@kind
def every_dtype(server: Running) -> Client:
    session = server.session(label="dtypes", seed=3, dtype="float64", ttl_seconds=99)
    values = {"bool": [True, False], "uint8": [1, 255], "int8": [-1, 2], "int16": [3, -4]}
    values |= {"int32": [5, 6], "int64": [2**62, -7], "float16": [0.5, 2], "bfloat16": [1, 3]}
    values |= {"float32": [0.1, "NaN"], "float64": ["Infinity", -0.0]}
    steps = [{"tensor": d, "value": v, "dtype": d} for d, v in values.items()]
    for dtype in ("complex64", "complex128"):
        pairs = {"dtype": dtype, "shape": [2], "data": [[1, 2], [-0.0, 3]]}
        steps.append({"tensor": dtype, "value": pairs})
    session.steps(*steps, {"tensor": "empty", "value": [[], []]}, {"tensor": "zero", "value": 1})
    return session


@kind
def a_graph_with_gradients(server: Running) -> Client:
    session = server.session(seed=1)
    session.steps(
        leaf("x", 1, 2, 3), leaf("w", 4, 5, 6), op("mul", "x", "w", out="y"),
        {"retain_grad": "y"}, op("exp", "y", out="e"), op("sum", "e", out="z"),
        {"backward": {"tensors": ["z"], "retain_graph": True}},
        op("split", "y", 1, out="p"), op("linalg.norm", "y", out="n"),
    )  # fmt: skip
    return session


@kind
def gradients_that_carry_a_graph(server: Running) -> Client:
    session = server.session()
    session.steps(
        leaf("x", 1, 2, 3), op("pow", "x", 3, out="y"), op("sum", "y", out="z"),
        {"backward": {"tensors": ["z"], "create_graph": True}},
        {"grad": {"outputs": ["z"], "inputs": ["x"], "create_graph": True}, "out": ["gx"]},
    )  # fmt: skip
    return session


@kind
def a_freed_graph(server: Running) -> Client:
    session = server.session()
    session.steps(
        leaf("x", 1, 2), op("exp", "x", out="y"), op("sum", "y", out="z"),
        {"backward": {"tensors": ["z"]}},
    )  # fmt: skip
    return session


@kind
def views_written_in_place(server: Running) -> Client:
    session = server.session()
    session.steps(
        leaf("x", 1, 2, 3, 4), op("mul", "x", 2, out="y"), op("view", "y", [2, 2], out="v"),
        op("select", "v", 0, 1, out="row"), op("transpose", "v", 0, 1, out="t"),
        op("mul_", "row", 3), op("add_", "y", "x"), op("detach", "y", out="d"),
        op("t_", "t"), op("exp", "v", out="e"), op("sum", "e", out="z"),
    )  # fmt: skip
    session.steps(op("view", "x", [2, 2], out="lost"), grad_mode="no_grad")
    session.steps(op("mul", "x", 2, out="inferred"), grad_mode="inference_mode")
    return session


@kind
def axes_in_another_order(server: Running) -> Client:
    session = server.session()
    session.steps(
        {"tensor": "x", "value": [[1, 2, 3], [4, 5, 6]], "dtype": "float64"},
        op("transpose", "x", 0, 1, out="t"), op("exp", "t", out="turned"),
    )  # fmt: skip
    return session


@kind
def hooks(server: Running) -> Client:
    session, http = server.session(), server.client
    double = program(http, "h = g * 2", ["g"], ["h"])
    scaled = program(http, "h = g * k", ["g", "k"], ["h"])
    session.steps(
        leaf("x", 1, 2), {"tensor": "k", "value": [3.0, 4.0]}, op("exp", "x", out="y"),
        {"hook": "y", "program": double, "id": "double", "out": "seen"},
        {"hook": "y", "program": scaled, "args": ["k"]},
        {"hook": "x", "out": "arrived", "kind": "post_accumulate", "id": "leaf"},
        {"hook": "y", "out": "node", "kind": "node"},
        {"hook": "y", "program": double, "kind": "node_before", "id": "before"},
        {"hook": "x", "program": double, "id": "gone"}, {"unhook": "gone"},
        op("sum", "y", out="z"), {"free": ["k"]},
    )  # fmt: skip
    return session


@kind
def custom_functions(server: Running) -> Client:
    session, http = server.session(), server.client
    forward = program(http, "y = x ** 3\nk = x * 1", ["x", "n"], ["y", "k"])
    backward = program(http, "gx = 3 * x * x * gy + gk", ["x", "gy", "gk"], ["gx"])
    fields: dict[str, Any] = {"save": ["x"], "null": ["n"], "name": "Cube"}
    session.steps(
        leaf("x", 1, 2, 3),
        {"call": forward, "args": ["x", 2], "backward": backward, "out": ["y", "k"], **fields},
        {"call": forward, "args": ["x", 2], "backward": backward, "out": ["y1", "k1"],
         "once_differentiable": True, **fields},
        op("mul", "y", "k", out="m"), op("sum", "m", out="z"), op("sum", "y1", out="z1"),
        {"grad": {"outputs": ["z1"], "inputs": ["x"], "create_graph": True}, "out": ["once"]},
    )  # fmt: skip
    return session


@kind
def checkpoints(server: Running) -> Client:
    session, http = server.session(seed=5), server.client
    inner = program(http, "b = a.sin() * nn.functional.dropout(a, 0.5)", ["a"], ["b"])
    calls = {"call": inner, "args": ["a"], "out": "b"}
    nested = {"inputs": ["x"], "outputs": ["b"]} | {"ops": [op("exp", "x", out="a"), calls]}
    outer = http.post("/v1/programs", json=nested).json()["id"]
    session.steps(
        leaf("x", 0.1, 0.2, 0.3), {"call": outer, "args": ["x"], "checkpoint": True, "out": "y"},
        op("sum", "y", out="z"),
    )  # fmt: skip
    return session


@kind
def every_optimizer(server: Running) -> Client:
    session, http = server.session(), server.client
    loss = program(http, "l = ((w - 3) ** 2).sum()", ["w"], ["l"])
    names = ("sgd", "adam", "adamw", "rmsprop", "adagrad", "lbfgs")
    for name in names:
        more: dict[str, Any] = {"momentum": 0.9} if name in ("sgd", "rmsprop") else {}
        more |= {"amsgrad": True} if name.startswith("adam") else {}
        step = {"step": name} | (
            {"closure": loss, "args": [f"w_{name}"]} if name == "lbfgs" else {}
        )
        session.steps(
            leaf(f"w_{name}", 1, 2),
            {"optimizer": name, "kind": name, "params": [f"w_{name}"], **more},
            op("pow", f"w_{name}", 2, out="s"), op("sum", "s", out="l"),
            {"backward": {"tensors": ["l"]}}, step, step,
        )  # fmt: skip
    session.steps(
        leaf("a", 1), leaf("b", 2),
        {"optimizer": "groups", "kind": "sgd",
         "groups": [{"params": ["a"], "lr": 0.5}, {"params": ["b"]}]},
    )  # fmt: skip
    return session
