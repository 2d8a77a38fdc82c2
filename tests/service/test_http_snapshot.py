"""Snapshots over HTTP: what a session is comes back, bit by bit, also in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from tests.service.conftest import Client, Running
from tests.service.snapshots import KINDS, leaf, op, program, restore, taken

from gradwire_service.host.memory import TENSOR_BYTES

SAME = ("label", "device", "dtype", "ttl_seconds", "memory_limit_bytes", "detect_anomaly")


def everything(session: Client) -> dict[str, Any]:
    """All that can be asked of a session without changing it."""
    names = [item["name"] for item in session.get("/tensors").json()["items"]]
    values = session.steps(returns=(*names, *(f"{name}.grad" for name in names)))
    described = session.get().json()
    kept = {key: described[key] for key in (*SAME, "tensors", "nodes")}
    held = {key: described["bytes"][key] for key in ("values", "saved", "grads")}
    return {
        "values": values,
        "session": kept | held,
        "graph": renumbered(session.get("/graph", params={"format": "dot"}).text),
        "optimizers": session.get("/optimizers").json(),
    }


def renumbered(picture: str) -> str:
    """A picture whose nodes are numbered from 0: their numbers in the process are its own."""
    numbers = sorted(set(map(int, re.findall(r'"g?n(\d+)"', picture))))
    ranks = {str(number): str(rank) for rank, number in enumerate(numbers)}
    return re.sub(r'(?<="n)\d+(?=")|(?<="gn)\d+(?=")', lambda m: ranks[m[0]], picture)


def continued(session: Client) -> list[Any]:
    """What a session answers to walks, draws and steps that use all it may have."""
    replies = []
    for step in (
        {"backward": {"tensors": ["z"], "retain_graph": True}},
        {"grad": {"outputs": ["z"], "inputs": ["x"], "create_graph": True}, "out": ["g1"]},
        op("sum", "g1", out="s1"),
        {"grad": {"outputs": ["s1"], "inputs": ["x"], "allow_unused": True}, "out": ["g2"]},
        op("sum", "x.grad", out="s2"),
        {"grad": {"outputs": ["s2"], "inputs": ["x"]}, "out": ["g3"]},
        op("sum", "e", out="z"),
        {"backward": {"tensors": ["z"]}},
        op("sum", "v", out="z"),
        {"backward": {"tensors": ["z"]}},
        op("sum", "once", out="s3"),
        {"grad": {"outputs": ["s3"], "inputs": ["x"]}, "out": ["g4"]},
        op("contiguous", "turned", out="c"),
        op("mul_", "inferred", 2),
        op("add_", "lost", 1),
        {"unhook": "double"},
        {"unhook": "gone"},
        op("rand", [3], out="r"),
        *({"step": name} for name in ("sgd", "adam", "adamw", "rmsprop", "adagrad", "groups")),
    ):
        reply = session.post("/steps", {"steps": [step]}).json()
        reply.pop("request_id", None)
        replies.append(reply)
    return [*replies, everything(session)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_says_and_does_what_its_session_does(server: Running, kind: str) -> None:
    session = KINDS[kind](server)
    before = everything(session)
    other = restore(server.client, taken(session))
    assert everything(other) == before
    assert everything(session) == before
    assert continued(other) == continued(session)


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_of_a_restored_session_is_the_same_file(server: Running, kind: str) -> None:
    first = taken(KINDS[kind](server))
    assert taken(restore(server.client, first)) == first


@contextmanager
def process() -> Iterator[httpx.Client]:
    """A server in a process of its own."""
    command = [sys.executable, "-m", "gradwire_service", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        try:
            assert running.stdout is not None
            lines = (line.decode() for line in running.stdout)
            url = next(m[0] for line in lines if (m := re.search(r"http://127[.0-9]+:\d+", line)))
            with httpx.Client(base_url=url, timeout=60) as client:
                yield client
        finally:
            running.terminate()


def test_a_second_derivative_goes_on_in_a_new_process(server: Running) -> None:
    """In the middle of create_graph, with hooks, a checkpoint and Adam: bit-equal from there on."""
    http = server.client
    halved = program(http, "h = g * 0.5 + g * g", ["g"], ["h"])
    layer = program(
        http, "h = nn.functional.dropout((x @ w).tanh(), 0.3)", ["x", "w"], ["h"]
    )  # fmt: skip
    session = server.session(seed=11)
    session.steps(
        op("randn", [4, 3], out="x"), op("randn", [3, 3], out="w0"), op("randn", [3, 2], out="v0"),
        op("mul", "w0", 0.5, out="w"), op("mul", "v0", 0.5, out="v"),
        {"detach": "w", "out": "w"}, {"detach": "v", "out": "v"},
        {"requires_grad": "w", "value": True}, {"requires_grad": "v", "value": True},
        {"optimizer": "adam", "kind": "adam", "params": ["w", "v"], "lr": 0.05},
    )  # fmt: skip
    first = [
        {"call": layer, "args": ["x", "w"], "checkpoint": True, "out": "h"},
        {"hook": "h", "program": halved},
        op("matmul", "h", "v", out="o"), op("mul", "o", "o", out="q"), op("sum", "q", out="loss"),
        {"grad": {"outputs": ["loss"], "inputs": ["w"], "create_graph": True}, "out": ["gw"]},
    ]  # fmt: skip
    second = [
        op("mul", "gw", "gw", out="gg"), op("sum", "gg", out="penalty"),
        op("add", "loss", "penalty", out="total"), {"zero_grad": "all"},
        {"backward": {"tensors": ["total"]}}, {"step": "adam"},
    ]  # fmt: skip
    session.steps(*first, *second, *first)
    snapshot = taken(session)
    names = ("w", "v", "w.grad", "v.grad", "total", "gw")
    with process() as client:
        other = restore(client, snapshot)
        assert client.get("/v1/programs").json()["items"] == []
        assert other.steps(*second, returns=names) == session.steps(*second, returns=names)
        for here in (http, client):  # the steps that go on name programs, which the store must have
            program(here, "h = g * 0.5 + g * g", ["g"], ["h"])
            program(here, "h = nn.functional.dropout((x @ w).tanh(), 0.3)", ["x", "w"], ["h"])
        for _ in range(3):
            more = other.steps(*first, *second, returns=names)
            assert more == session.steps(*first, *second, returns=names)
        assert other.get("/optimizers").json() == session.get("/optimizers").json()


def test_a_hook_that_was_removed_stays_removed_and_the_others_can_be(server: Running) -> None:
    other = restore(server.client, taken(KINDS["hooks"](server)))
    assert other.refused({"unhook": "gone"})["code"] == "not_found"
    other.steps({"unhook": "double"}, {"unhook": "before"}, {"unhook": "leaf"})
    other.steps({"backward": {"tensors": ["z"]}})
    assert other.data("x.grad") == pytest.approx([2.718281828 * 3, 7.389056099 * 4], rel=1e-6)


def test_errors_name_the_step_that_made_a_node(server: Running) -> None:
    session = KINDS["a_freed_graph"](server)
    other = restore(server.client, taken(session))
    walk = {"backward": {"tensors": ["z"]}}
    assert "step 1, tensor y" in other.refused(walk)["detail"]
    assert other.refused(walk)["detail"] == session.refused(walk)["detail"]


def test_what_is_written_to_a_restored_session_does_not_reach_others(server: Running) -> None:
    session = server.session()
    session.steps(leaf("x", 1, 2), op("mul", "x", 1, out="y"))
    snapshot = taken(session)
    one, two = restore(server.client, snapshot), restore(server.client, snapshot)
    one.steps(op("add_", "y", 1))
    assert one.data("y") == [2, 3]
    assert two.data("y") == session.data("y") == [1, 2]


def test_memory_is_charged_and_given_back(server: Running) -> None:
    ledger = server.service.host.ledger
    session = server.session()
    session.steps(op("zeros", [250_000], out="x"))
    snapshot, before = taken(session), ledger.held
    other = restore(server.client, snapshot)
    assert ledger.held == before + 1_000_000 + TENSOR_BYTES
    server.client.delete(other.path)
    assert ledger.held == before
