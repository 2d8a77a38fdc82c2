"""A training step of the mlp with its weights on a server, against torch in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from safetensors.numpy import save

from benchmarks.exchange import client_core, client_side, served, server_core
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness
from benchmarks.messages import SAFETENSORS, WrongAnswerError
from benchmarks.plain_http import Connection, post
from benchmarks.side import Side
from benchmarks.workloads import Source

RATE = 0.1
NAMES = ("w1", "b1", "w2", "b2")


def _weights(source: Source) -> dict[str, np.ndarray[Any, Any]]:
    shapes = {"w1": (256, 784), "b1": (256,), "w2": (10, 256), "b2": (10,)}
    return {name: source.normal(*shape, scale=0.05) for name, shape in shapes.items()}


def _batch(source: Source) -> dict[str, np.ndarray[Any, Any]]:
    return {"x": source.normal(128, 784), "y": source.labels(128, 10)}


def in_process() -> Callable[[], float]:
    """torch: batch, forward, loss, backward, update, zero."""
    import torch
    from torch.nn import functional

    source = Source()
    weights = {k: torch.from_numpy(v).requires_grad_() for k, v in _weights(source).items()}
    batch = _batch(source)

    def step() -> float:
        x, y = torch.from_numpy(batch["x"]), torch.from_numpy(batch["y"])
        hidden = functional.relu(functional.linear(x, weights["w1"], weights["b1"]))
        loss = functional.cross_entropy(functional.linear(hidden, weights["w2"], weights["b2"]), y)
        loss.backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for w in weights.values():
                assert w.grad is not None
                w.sub_(w.grad, alpha=RATE)
                w.grad = None
        return loss.item()

    return step


def over_rest(port: int, program: bool = False) -> Callable[[], float]:
    """One request a step: the batch goes up as binary, the loss comes back.

    program: loss and gradients are one call of a stored program, which has a plan.
    """
    source = Source()
    connection = Connection(port)
    path = _create(connection, _weights(source))
    batch = _batch(source)
    steps = _called(connection) if program else _step()
    request = json.dumps({"steps": steps, "return": ["loss"]})

    def step() -> float:
        body = save(batch, {"request": request})
        sent = post(path, body, SAFETENSORS, accept="application/json")
        loss: float = json.loads(connection.exchange(sent)[1])["values"]["loss"]["data"]
        return loss

    _compare(step)
    return step


def _create(connection: Connection, weights: dict[str, np.ndarray[Any, Any]]) -> str:
    """A session that holds the weights; the path of its steps."""
    created = connection.exchange(post("/v1/sessions", b"{}"))[1]
    path = f"/v1/sessions/{json.loads(created)['id']}/steps"
    steps = [{"tensor": n, "value": {"binary": n}, "requires_grad": True} for n in weights]
    body = save(weights, {"request": json.dumps({"steps": steps})})
    connection.exchange(post(path, body, SAFETENSORS))
    return path


BATCH = [{"tensor": name, "value": {"binary": name}} for name in ("x", "y")]


def _forward() -> list[dict[str, Any]]:
    def op(name: str, args: list[Any], out: str) -> dict[str, Any]:
        return {"op": name, "args": args, "out": out}

    return [
        op("nn.functional.linear", ["x", "w1", "b1"], "hidden"),
        op("nn.functional.relu", ["hidden"], "active"),
        op("nn.functional.linear", ["active", "w2", "b2"], "logits"),
        op("nn.functional.cross_entropy", ["logits", "y"], "loss"),
    ]


def _update(gradient: str) -> list[dict[str, Any]]:
    return [
        {
            "op": "sub_",
            "args": [name, gradient.format(name)],
            "kwargs": {"alpha": RATE},
            "grad_mode": "no_grad",
        }
        for name in NAMES
    ]


def _step() -> list[dict[str, Any]]:
    """Op by op."""
    backward = {"backward": {"tensors": ["loss"]}}
    return [*BATCH, *_forward(), backward, *_update("{}.grad"), {"zero_grad": "all"}]


def _called(connection: Connection) -> list[dict[str, Any]]:
    """The same with one call of a program in the place of ops and walk."""
    inputs = [*NAMES, "x", "y"]
    program = {"inputs": inputs, "ops": _forward(), "outputs": ["loss"]}
    stored = json.loads(connection.exchange(post("/v1/programs", json.dumps(program).encode()))[1])
    call = {
        "transform": "value_and_grad", "call": stored["id"], "args": inputs, "wrt": NAMES,
        "values": ["loss"], "out": [f"{name}_gradient" for name in NAMES],
    }  # fmt: skip
    return [*BATCH, call, *_update("{}_gradient")]


def _compare(step: Callable[[], float]) -> None:
    """The first losses have to be torch's."""
    reference = in_process()
    ours, theirs = [step() for _ in range(3)], [reference() for _ in range(3)]
    if not np.allclose(ours, theirs, rtol=1e-4):
        raise WrongAnswerError(f"the losses over REST are {ours}, torch's {theirs}")


def figures(harness: Harness) -> Sequence[Figure]:
    """Ratios of times, op by op and as a program: a core for each process, torch's one too."""
    module = "benchmarks.cases.training"
    with served("gradwire") as server:
        sides = {
            "rest": client_side(f"{module}:over_rest", {"port": server.port}),
            "program": client_side(f"{module}:over_rest", {"port": server.port, "program": True}),
            "torch": Side(f"{module}:in_process", cores=(server_core(),), threads=1),
            "torch on both": Side(
                f"{module}:in_process", cores=(server_core(), client_core()), threads=2
            ),
        }
        found = harness.take_turns(sides)
    ours, torch, both = found["rest"], found["torch"], found["torch on both"]
    note = (
        f"{duration(ours.seconds)} against {duration(torch.seconds)} on one core, as the server "
        f"has; torch on two takes {duration(both.seconds)}"
    )
    name = "mlp training step over REST, batch as binary / torch in process"
    called = found["program"]
    return [
        Figure(name, 2.0, ours.over(torch), note),
        Figure(
            f"{name}, as one program call", 1.5, called.over(torch),
            f"{duration(called.seconds)} against {duration(torch.seconds)}",
        ),
    ]  # fmt: skip
