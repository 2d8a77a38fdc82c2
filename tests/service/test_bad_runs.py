"""Programs that go wrong while they run, through every door: an error, in time, nothing left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.service.conftest import Running, running
from tests.service.test_http_programs import source, stored

from gradwire_service.host.limits import Limits

SECONDS, SLACK = 0.25, 10.0
"""What a request may take, and when it counts as hanging."""
ROOM = 2**22
EVER, SOME = 10**12, 3


@pytest.fixture(scope="module")
def narrow() -> Iterator[Running]:
    """A server with little time and memory for each."""
    with running(Limits(seconds=SECONDS, session_bytes=ROOM)) as found:
        yield found


def loop(server: Running, **fields: Any) -> str:
    """A program with one step: a loop over `x`."""
    step = {"init": ["x"], "out": ["y"]} | fields
    return stored(server, inputs=["x"], ops=[step], outputs=["y"])


def endless(server: Running) -> str:
    """A while_loop whose condition always holds."""
    goes_on = source(server, "z = x.sum() > -1", outputs="z")
    return loop(server, while_loop=goes_on, body_fn=source(server, "y = x * 1", outputs="y"))


def endless_but_bound(server: Running) -> str:
    """The same with a bound that nobody waits for."""
    goes_on = source(server, "z = x.sum() > -1", outputs="z")
    body = source(server, "y = x * 1", outputs="y")
    return loop(server, while_loop=goes_on, body_fn=body, bound=EVER)


def long_scan(server: Running) -> str:
    return loop(server, scan=source(server, "y = x * 1", outputs="y"), length=EVER)


def scan_of_endless(server: Running) -> str:
    return loop(server, scan=endless(server), length=SOME)


def branch_without_end(server: Running) -> str:
    other = source(server, "y = x * 2", outputs="y")
    step = {"cond": True, "true_fn": endless(server), "false_fn": other, "args": ["x"],
            "out": ["y"]}  # fmt: skip
    return stored(server, inputs=["x"], ops=[step], outputs=["y"])


def doubles_in_scan(server: Running) -> str:
    return loop(server, scan=source(server, "y = cat([x, x])", outputs="y"), length=EVER)


def doubles_in_while(server: Running) -> str:
    goes_on = source(server, "z = x.sum() > -1", outputs="z")
    return loop(server, while_loop=goes_on, body_fn=source(server, "y = cat([x, x])", outputs="y"))


def doubles_line_by_line(server: Running) -> str:
    return source(server, "y = cat([x, x])\n" + "y = cat([y, y])\n" * 60, outputs="y")


def calls_that_double(server: Running) -> str:
    """Forty programs, each of which calls the one before twice."""
    key = source(server, "y = x * 1", outputs="y")
    for _ in range(40):
        ops = [{"call": key, "args": [a], "out": [b]} for a, b in (("x", "h"), ("h", "y"))]
        reply = server.client.post(
            "/v1/programs", json={"inputs": ["x"], "ops": ops, "outputs": ["y"]}
        )
        if not reply.is_success:  # refused as soon as it is too much
            assert reply.json()["code"] == "limit_exceeded"
            return key
        key = reply.json()["id"]
    return key


ENDED = ("deadline_exceeded", "memory_limit", "limit_exceeded")
BAD: dict[str, tuple[Callable[[Running], str], tuple[str, ...]]] = {
    "a while_loop without end": (endless, ENDED),
    "a while_loop without end, with a bound": (endless_but_bound, ENDED),
    "a scan of a million million steps": (long_scan, ENDED),
    "a scan of loops without end": (scan_of_endless, ENDED),
    "a branch without end": (branch_without_end, ENDED),
    "a scan whose body doubles its carry": (doubles_in_scan, ("shape_mismatch",)),
    "a while_loop whose body doubles its carry": (doubles_in_while, ("shape_mismatch",)),
    "lines that double": (doubles_line_by_line, ENDED),
}
LONG = [name for name in BAD if "end" in name or "million" in name]
"""Those with which nothing is wrong but that they go on."""
LITERAL = [1.0, 2.0]


def doors(server: Running, key: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every way to run a program: what is asked, and what asks it."""
    path = f"/v1/programs/{key}"
    bodies: dict[str, dict[str, Any]] = {
        "evaluate": {}, "value_and_grad": {"grad_outputs": {"y": LITERAL}},
        "vjp": {"cotangents": {"y": LITERAL}}, "jvp": {"tangents": {"x": LITERAL}},
        "jacobian": {}, "jacobian forward": {"strategy": "forward-mode"},
    }  # fmt: skip
    for name, more in bodies.items():
        body = {"inputs": {"x": LITERAL}} | more
        asked = f"{path}/{name.split()[0]}"
        yield name, lambda asked=asked, body=body: server.client.post(asked, json=body)
    session = server.session()
    session.steps({"tensor": "x", "value": LITERAL, "requires_grad": True},
                  {"tensor": "rows", "value": [LITERAL, LITERAL]})  # fmt: skip
    steps: dict[str, dict[str, Any]] = {
        "call": {"call": key, "args": ["x"]},
        "planned": {"call": key, "args": ["x"], "planned": True},
        "checkpoint": {"call": key, "args": ["x"], "checkpoint": True},
        "vmap": {"vmap": key, "args": ["rows"]},
        "transform": {"transform": "jvp", "call": key, "args": ["x"], "tangents": {"x": "x"}},
    }
    for name, step in steps.items():
        yield name, lambda step=step: session.post("/steps", {"steps": [step | {"out": ["y"]}]})
    session.http.delete(session.path)  # whose bytes are counted again now and then only


@pytest.mark.parametrize("name", BAD)
def test_it_ends_with_an_error(narrow: Running, name: str) -> None:
    make, codes = BAD[name]
    key = make(narrow)
    ledger = narrow.service.host.ledger
    held = ledger.held
    for door, ask in doors(narrow, key):
        began = time.monotonic()
        reply = ask()
        assert reply.json().get("code") in codes, (door, reply.text[:300])
        assert time.monotonic() - began < SLACK, door
    assert ledger.held == held
    body = {"inputs": {"x": {"shape": [2]}}}
    reply = narrow.client.post(f"/v1/programs/{key}/plan", json=body)
    if name in LONG:  # nothing runs, so nobody waits
        assert reply.json()["outputs"]["y"] == {"dtype": "float32", "shape": [2]}
    else:
        assert reply.json().get("code") in codes, reply.text[:300]
    assert narrow.client.get("/health/ready").is_success


def test_calls_that_double_end_too(narrow: Running) -> None:
    key = calls_that_double(narrow)
    began = time.monotonic()
    reply = narrow.client.post(f"/v1/programs/{key}/evaluate", json={"inputs": {"x": LITERAL}})
    assert reply.is_success or reply.json()["code"] in ENDED
    assert time.monotonic() - began < SLACK


def test_shapes_that_fit_some_inputs_only(narrow: Running) -> None:
    """Said for those that don't fit, before and after there is a plan for those that do."""
    text = "a = x.reshape(2, 3)\ny = (a @ a.T).sum(0)"
    key = source(narrow, text, outputs="y")
    path = f"/v1/programs/{key}/evaluate"
    for count in (7, 6, 6, 6, 6, 8, 6, 7):
        reply = narrow.client.post(path, json={"inputs": {"x": [1.0] * count}})
        if count == 6:
            assert reply.json()["outputs"]["y"]["data"] == [6.0, 6.0]
        else:
            assert reply.json()["code"] == "shape_mismatch"
            assert "line 1" in reply.json()["detail"]
