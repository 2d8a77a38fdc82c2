"""Every request of the table is refused as it says, changes nothing, and the server goes on."""

from __future__ import annotations

import pytest
from tests.service.bad_requests import TABLE, Bad
from tests.service.conftest import Client, Running
from tests.service.state import dump

SETUP = [
    {"seed": 7},
    {"tensor": "x", "value": [1.0, 2.0, 3.0], "requires_grad": True},
    {"tensor": "w", "value": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "requires_grad": True},
    {"tensor": "n", "value": [0.5, 1.5, 2.5]},
    {"tensor": "i", "value": [0, 2]},
    {"tensor": "i4", "value": [0, 1, 2, 3]},
    {"tensor": "b", "value": [True, False]},
    {"tensor": "c", "value": {"complex": [1, 2]}, "requires_grad": True},
    {"tensor": "bf", "value": [1.0], "dtype": "bfloat16"},
    {"op": "exp", "args": ["x"], "out": "y"},
    {"op": "sum", "args": ["y"], "out": "z"},
    {"op": "mul", "args": ["c", "c"], "out": "cz"},
    {"op": "mul", "args": ["w", 3], "out": "w3"},
    {"op": "mul", "args": ["x", "x"], "out": "xx"},
    {"op": "sum", "args": ["xx"], "out": "u"},
    {"backward": {"tensors": ["u"]}},
    {"op": "exp", "args": ["x"], "out": "e"},
    {"op": "sum", "args": ["e"], "out": "es"},
    {"op": "add_", "args": ["e", 1]},
    {"op": "sin", "args": ["x"], "out": "e2"},
    {"op": "sum", "args": ["e2"], "out": "es2"},
    {"op": "sin", "args": ["x"], "out": "inf", "grad_mode": "inference_mode"},
    {"op": "reshape", "args": ["x", [3, 1]], "out": "xv"},
    {"op": "clone", "args": ["x"], "out": "xc"},
    {"op": "split", "args": ["xc", 1], "out": "p"},
    {"op": "expand", "args": ["n", [2, 3]], "out": "ne"},
    {"detach": "n", "out": "n0"},
    {"op": "ones", "args": [[1000000]], "out": "long"},
    {"op": "reshape", "args": ["long", [1000000, 1]], "out": "long2"},
    {"retain_grad": "xx"},
    {"op": "rand", "args": [[3]], "out": "r0"},
]


@pytest.fixture(scope="module")
def prepared(server: Running) -> Client:
    """A session with something of everything."""
    session = server.session(label="prepared")
    session.steps(*SETUP)
    return session


@pytest.fixture(scope="module")
def closed(server: Running) -> Client:
    session = server.session()
    assert server.client.delete(session.path).status_code == 204
    return session


def test_the_table_is_long_and_names_each_case_once() -> None:
    assert len(TABLE) >= 200
    assert len({case.name for case in TABLE}) == len(TABLE)


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_refused(server: Running, prepared: Client, closed: Client, case: Bad) -> None:
    before = dump(server.service.host, prepared.id)
    path = case.path.replace("{s}", prepared.path).replace("{closed}", closed.path)
    reply = server.client.request(case.method, path, content=case.body, headers=case.headers)
    assert (reply.status_code, reply.json()["code"]) == (case.status, case.code), reply.text
    assert_problem(reply)
    assert dump(server.service.host, prepared.id) == before
    assert server.client.get("/health/ready").status_code == 200
    assert prepared.data("n") == [0.5, 1.5, 2.5]


def assert_problem(reply) -> None:  # type: ignore[no-untyped-def]
    """The reply has the one shape of errors, and says nothing of the inside."""
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert list(problem) == [
        "type", "title", "status", "code", "detail", "hint", "step", "op", "raised", "request_id",
    ]  # fmt: skip
    assert problem["type"] == f"/errors/{problem['code']}"
    assert problem["status"] == reply.status_code
    assert problem["detail"]
    assert problem["request_id"] == reply.headers["x-request-id"]
    for inside in ("Traceback", "site-packages", ".py", "<object", "0x7f"):
        assert inside not in reply.text
