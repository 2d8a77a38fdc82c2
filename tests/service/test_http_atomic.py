"""All or nothing: what a failed request did is undone, whatever it was."""

from __future__ import annotations

import pytest
from tests.service.conftest import Client, Running
from tests.service.state import dump

FAIL = {"op": "sin", "args": ["nope"], "out": "y"}
SETUP = [
    {"seed": 1},
    {"tensor": "x", "value": [1.0, 2.0], "requires_grad": True},
    {"tensor": "n", "value": [[1.0, 2.0], [3.0, 4.0]]},
    {"op": "mul", "args": ["x", "x"], "out": "y"},
    {"op": "sum", "args": ["y"], "out": "z"},
    {"op": "exp", "args": ["x"], "out": "e"},
    {"op": "__getitem__", "args": ["n", 0], "out": "v"},
    {"backward": {"tensors": ["z"], "retain_graph": True}},
]
CHANGES = {
    "a new tensor": [{"tensor": "q", "value": 1}],
    "a name written again": [{"tensor": "x", "value": [5.0]}],
    "a result": [{"op": "sin", "args": ["x"], "out": "q"}],
    "in place": [{"op": "add_", "args": ["n", 1]}],
    "in place through a view": [{"op": "add_", "args": ["v", 1]}],
    "in place with history": [{"op": "mul_", "args": ["y", "x"]}],
    "an item": [{"op": "__setitem__", "args": ["n", 1, 0.0]}],
    "in place on a gradient": [{"op": "mul_", "args": ["x.grad", 3]}],
    "an update without grad": [{"op": "sub_", "args": ["x", "x.grad"], "grad_mode": "no_grad"}],
    "backward": [{"backward": {"tensors": ["z"]}}],
    "backward with a graph": [{"backward": {"tensors": ["z"], "create_graph": True}}],
    "grad": [{"grad": {"outputs": ["z"], "inputs": ["x"]}, "out": ["g"]}],
    "zero_grad": [{"zero_grad": "all"}],
    "zero_grad in place": [{"zero_grad": ["x"], "set_to_none": False}],
    "set_grad": [{"set_grad": "x", "value": [7.0, 7.0]}],
    "requires_grad": [{"requires_grad": "x", "value": False}],
    "requires_grad of a constant": [{"requires_grad": "n", "value": True}],
    "retain_grad": [{"retain_grad": "y"}],
    "detach": [{"detach": "y", "out": "y"}],
    "random numbers": [{"op": "rand", "args": [[2]], "out": "r"}],
    "a seed": [{"seed": 9}],
    "free": [{"free": ["x", "n"]}],
    "all of it": [
        {"op": "add_", "args": ["n", 1]},
        {"op": "mul_", "args": ["y", "x"]},
        {"retain_grad": "y"},
        {"backward": {"tensors": ["z"]}},
        {"zero_grad": ["x"]},
        {"op": "rand", "args": [[2]], "out": "n"},
        {"free": ["x"]},
    ],
}


@pytest.fixture
def prepared(session: Client) -> Client:
    session.steps(*SETUP)
    return session


@pytest.mark.parametrize("name", CHANGES)
def test_undone(server: Running, prepared: Client, name: str) -> None:
    host = server.service.host
    before = dump(host, prepared.id)
    problem = prepared.refused(*CHANGES[name], FAIL)
    assert problem["code"] == "tensor_not_found"
    assert problem["step"] == len(CHANGES[name])
    assert problem["op"] == "sin"
    assert dump(host, prepared.id) == before
    prepared.steps(*CHANGES[name])
    assert dump(host, prepared.id) != before


def test_undone_where_only_the_reply_fails(server: Running, prepared: Client) -> None:
    before = dump(server.service.host, prepared.id)
    reply = prepared.post("/steps", {"steps": CHANGES["all of it"], "return": ["nope"]})
    assert reply.json()["code"] == "tensor_not_found"
    assert reply.json()["step"] is None
    assert dump(server.service.host, prepared.id) == before


def test_undone_in_source(server: Running, prepared: Client) -> None:
    before = dump(server.service.host, prepared.id)
    text = "n += 1\nq = n * 2\ny *= x\nw = q @ y.nope()"
    assert prepared.post("/ops", {"source": text}).json()["code"] == "op_not_found"
    assert dump(server.service.host, prepared.id) == before


def test_not_atomic_keeps_the_steps_before(server: Running, prepared: Client) -> None:
    problem = prepared.refused(
        {"op": "add_", "args": ["n", 1]},
        {"tensor": "q", "value": 3},
        {"op": "add_", "args": ["n", "nope"]},
        {"tensor": "q", "value": 4},
        atomic=False,
    )
    assert problem["step"] == 2
    assert prepared.data("n") == [[2.0, 3.0], [4.0, 5.0]]
    assert prepared.data("q") == 3


def test_not_atomic_undoes_the_step_that_fails(server: Running, prepared: Client) -> None:
    before = dump(server.service.host, prepared.id)
    prepared.refused({"backward": {"tensors": ["z", "n"]}}, atomic=False)
    prepared.refused({"zero_grad": ["x", "nope"]}, atomic=False)
    prepared.refused({"free": ["x", "n", "nope"]}, atomic=False)
    assert dump(server.service.host, prepared.id) == before


def test_work_that_grows_too_large_for_the_loop_runs_once(
    server: Running, prepared: Client
) -> None:
    """Begun on the event loop, undone there, done in a thread: random numbers tell."""
    draw = [{"op": "rand", "args": [[3]], "out": "r"}, {"op": "add_", "args": ["n", 1]}]
    large = {"op": "zeros", "args": [[100_000]], "out": "big"}
    for atomic in (True, False):
        once = server.session(seed=5)
        once.steps({"tensor": "n", "value": [0.0]}, *draw, *draw)
        hopped = server.session(seed=5)
        hopped.steps({"tensor": "n", "value": [0.0]})
        hopped.steps(*draw, *draw, large, atomic=atomic)
        assert hopped.data("r") == once.data("r")
        assert hopped.data("n") == [2.0]
