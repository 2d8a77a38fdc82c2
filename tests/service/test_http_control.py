"""cond, scan and while_loop as steps of sessions and of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.service.conftest import Client, Running
from tests.service.snapshots import restore, taken
from tests.service.test_http_programs import source

from gradwire_service.host.limits import Limits

XS = [[0.5, -1.0], [1.5, 0.25], [-0.5, 2.0]]


def cell(server: Running) -> str:
    """A step of a recurrent net: a new state, and what is collected."""
    return source(server, "new = (h * w + x).tanh()\ny = new * 2", "h x w", "new y")


def leaves(session: Client) -> None:
    """A state, rows and a weight that require grad."""
    session.steps(
        *[
            {"tensor": name, "value": value, "dtype": "float64", "requires_grad": True}
            for name, value in {"h": [0.1, 0.2], "xs": XS, "w": [0.7, -0.4]}.items()
        ]
    )


def one_by_one(count: int = 3) -> str:
    """The same as ops in a row."""
    text = ["r = h"]
    for place in range(count):
        text += [f"r = (r * w + xs[{place}]).tanh()", f"y{place} = r * 2"]
    text.append(f"ys = stack([{', '.join(f'y{i}' for i in range(count))}])")
    return "\n".join(text)


GRAD = {"outputs": ["loss"], "inputs": ["h", "xs", "w"]}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_scan_is_its_steps(server: Running, session: Client, checkpoint: bool) -> None:
    leaves(session)
    key = cell(server)
    session.steps(
        {"scan": key, "init": ["h"], "xs": ["xs"], "args": ["w"], "checkpoint": checkpoint,
         "out": ["last", "all"]},
        {"op": "sum", "args": ["all"], "out": "loss"},
        {"grad": GRAD, "out": ["gh", "gx", "gw"]},
    )  # fmt: skip
    found = [session.data(name) for name in ("last", "all", "gh", "gx", "gw")]
    session.post("/ops", {"source": f"{one_by_one()}\nloss = ys.sum()"})
    session.steps({"grad": GRAD, "out": ["gh", "gx", "gw"]})
    wanted = [session.data(name) for name in ("r", "ys", "gh", "gx", "gw")]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def recurrent(server: Running) -> dict[str, Any]:
    """A program of a scan."""
    ops = [
        {"scan": cell(server), "init": ["h"], "xs": ["xs"], "args": ["w"], "out": ["last", "ys"]},
        {"op": "sum", "args": ["ys"], "out": "loss"},
    ]
    return {"inputs": ["h", "xs", "w"], "ops": ops, "outputs": ["loss"]}


INPUTS = {
    name: {"dtype": "float64", "data": data}
    for name, data in {"h": [0.1, 0.2], "xs": XS, "w": [0.7, -0.4]}.items()
}


@pytest.mark.parametrize(
    ("transform", "fields"),
    [
        ("evaluate", {}),
        ("value_and_grad", {}),
        ("vjp", {"cotangents": {"loss": 2.0}}),
        ("jvp", {"tangents": {"w": [1.0, -1.0]}}),
        ("hvp", {"vector": {"w": [1.0, -1.0]}}),
        ("jacobian", {"wrt": ["h"]}),
        ("hessian", {"wrt": ["w"]}),
        ("gradcheck", {}),
        ("gradgradcheck", {}),
    ],
)
def test_every_transform(server: Running, transform: str, fields: dict[str, Any]) -> None:
    plain = {"inputs": ["h", "xs", "w"], "source": f"{one_by_one()}\nloss = ys.sum()",
             "outputs": ["loss"]}  # fmt: skip
    replies = []
    for program in (recurrent(server), plain):
        body = {"program": program, "inputs": INPUTS, **fields}
        reply = server.client.post(f"/v1/{transform}", json=body)
        assert reply.status_code == 200, reply.text
        replies.append(reply.json())
    if "ok" in replies[0]:
        assert replies[0]["ok"] and replies[1]["ok"]
        return
    _close(*replies)


def _close(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for name in wanted:
            if name not in ("grad_fn", "data"):
                _close(found[name], wanted[name])
            elif name == "data":
                np.testing.assert_allclose(found[name], wanted[name], rtol=1e-12, atol=1e-14)
    else:
        assert found == wanted


def test_a_loop_ends_when_its_condition_does(server: Running, session: Client) -> None:
    goes_on = source(server, "z = (v * v - x).abs() > 1e-10", "v x", "z")
    step = source(server, "v = (v + x / v) / 2", "v x", "v")
    session.steps({"tensor": "x", "value": 2.0, "dtype": "float64", "requires_grad": True},
                  {"tensor": "one", "value": 1.0, "dtype": "float64"})  # fmt: skip
    loop = {"while_loop": goes_on, "body_fn": step, "init": ["one"], "args": ["x"], "out": "root"}
    session.steps(loop | {"bound": 20}, {"backward": {"tensors": ["root"]}})
    assert abs(session.data("root") - 2**0.5) < 1e-10
    assert abs(session.data("x.grad") - 0.5 * 2**-0.5) < 1e-10
    assert session.refused(loop | {"bound": 3})["code"] == "limit_exceeded"
    session.steps(loop)
    problem = session.refused({"backward": {"tensors": ["root"]}})
    assert (problem["code"], "bound" in problem["hint"]) == ("invalid_argument", True)


def test_one_of_two(server: Running, session: Client) -> None:
    step = {"cond": "positive", "true_fn": source(server, "z = x * 2"),
            "false_fn": source(server, "z = -x"), "args": ["x"], "out": "z"}  # fmt: skip
    session.steps({"tensor": "x", "value": 3.0, "requires_grad": True})
    for sign, value in (("x > 0", 6.0), ("x < 0", -3.0)):
        session.post("/ops", {"source": f"positive = {sign}"})
        session.steps(step)
        assert session.data("z") == value
    session.steps(step | {"cond": True}, {"backward": {"tensors": ["z"]}})
    assert session.data("x.grad") == 2.0


def test_a_loop_without_end_ends_in_time(serve: Callable[..., Running]) -> None:
    server = serve(limits=Limits(seconds=0.5))
    session = server.session()
    session.steps({"tensor": "x", "value": 1.0})
    forever, step = source(server, "z = x > 0"), source(server, "z = x * 1")
    before = session.get("").json()["tensors"]
    problem = session.refused(
        {"while_loop": forever, "body_fn": step, "init": ["x"], "out": "y"},
    )
    assert (problem["code"], problem["status"]) == ("deadline_exceeded", 504)
    problem = session.refused({"scan": step, "init": ["x"], "length": 10**9, "out": "y"})
    assert problem["code"] == "deadline_exceeded"
    assert session.get("").json()["tensors"] == before


def test_what_a_loop_keeps_is_counted(serve: Callable[..., Running]) -> None:
    server = serve(limits=Limits(session_bytes=2**20))
    session = server.session()
    step, forever = source(server, "z = x * 1"), source(server, "z = x.sum() > 0")
    session.steps({"tensor": "x", "value": [1.0] * 1000, "requires_grad": True})
    problem = session.refused({"scan": step, "init": ["x"], "length": 10**6, "out": "y"})
    assert problem["code"] == "memory_limit"
    problem = session.refused(
        {"while_loop": forever, "body_fn": step, "init": ["x"], "bound": 10**9, "out": "y"}
    )
    assert problem["code"] == "memory_limit"
    session.steps({"scan": step, "init": ["x"], "length": 10**4, "checkpoint": True, "out": "y"})


def test_a_snapshot_has_its_loops(server: Running, session: Client) -> None:
    leaves(session)
    key = cell(server)
    step = source(server, "v = v * x", "v x", "v")
    goes_on = source(server, "z = v.sum() < 10", "v x", "z")
    session.steps(
        {"scan": key, "init": ["h"], "xs": ["xs"], "args": ["w"], "checkpoint": True,
         "out": ["last", "all"]},
        {"scan": key, "init": ["h"], "xs": ["xs"], "args": ["w"], "reverse": True,
         "out": ["first", None]},
        {"while_loop": goes_on, "body_fn": step, "init": ["w"], "args": [3.0], "bound": 9,
         "out": "v"},
    )  # fmt: skip
    session.post("/ops", {"source": "loss = (all * last * first * v).sum()"})
    twin = restore(server.client, taken(session))
    for each in (session, twin):
        each.steps({"grad": GRAD | {"create_graph": True}, "out": ["gh", "gx", "gw"]})
    twin = restore(server.client, taken(twin))
    for each in (session, twin):
        each.post("/ops", {"source": "twice = (gh * gw).sum()"})
        each.steps({"grad": GRAD | {"outputs": ["twice"]}, "out": ["hh", "hx", "hw"]})
    for name in ("gh", "gx", "gw", "hh", "hx", "hw"):
        assert twin.data(name) == session.data(name)


def test_a_planned_call_is_one_node(server: Running, session: Client) -> None:
    key = source(server, "y = (x * w).tanh()\nz = y.sum()", "x w", "y z")
    session.steps(
        *[
            {"tensor": name, "value": value, "dtype": "float64", "requires_grad": True}
            for name, value in {"x": [0.1, 0.2], "w": [0.7, -0.4]}.items()
        ]
    )
    call = {"call": key, "args": ["x", "w"], "out": ["y", "z"]}
    grad = {"grad": {"outputs": ["z"], "inputs": ["x", "w"], "create_graph": True}}
    session.steps(call, grad | {"out": ["a", "b"]})
    wanted = [session.data(name) for name in ("y", "a", "b")]
    for _ in range(12):
        session.steps(call | {"planned": True}, grad | {"out": ["a", "b"]})
        assert session.get("/tensors/z").json()["grad_fn"] == "CallBackward"
        for name, value in zip(("y", "a", "b"), wanted, strict=True):
            np.testing.assert_allclose(session.data(name), value, rtol=1e-12)
    twin = restore(server.client, taken(session))
    for each in (session, twin):
        again = {"grad": {"outputs": ["a"], "inputs": ["w"], "grad_outputs": ["x"]}, "out": ["c"]}
        each.steps(again)
    assert twin.data("c") == session.data("c")
