"""A retry that comes when its reply isn't kept any more: the session knows that it was done."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.service.conftest import Client, Running
from tests.service.crash.process import Process, served
from tests.service.test_idempotency import ADD, key

from gradwire_service.host.answered import REMEMBERED
from gradwire_service.host.limits import Limits

BRIEFLY = 0.05
"""Seconds for which replies are kept."""
FAILING = {"steps": [*ADD, {"op": "sin", "args": ["nobody"], "out": "y"}], "atomic": False}


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where sessions are kept."""
    if request.param == "SQLite":
        return str(tmp_path / "data")
    return str(request.getfixturevalue("cluster").database())


def asked(session: Client, body: object, headers: dict[str, str]) -> httpx.Response:
    """A request, asked when all replies before are forgotten."""
    time.sleep(2 * BRIEFLY)
    return session.post("/steps", body, headers=headers)


def told_done(reply: httpx.Response, upto: int | None = None) -> None:
    """Check that a retry is told that it was done, or up to where."""
    found = reply.json()
    assert (reply.status_code, found["code"]) == (413, "limit_exceeded")
    done = "the request was done" + ("" if upto is None else f" up to step {upto}, which failed")
    assert found["detail"].startswith(done + ", and its reply")
    assert found.get("step") == upto


def test_a_reply_that_others_drove_out(serve: Callable[..., Running]) -> None:
    session = serve(Limits(idempotency_bytes=4096)).session()
    session.steps({"tensor": "x", "value": 0.0})
    first = key()
    assert session.post("/steps", {"steps": ADD}, headers=first).status_code == 200
    for _ in range(10):
        session.post("/steps", {"steps": ADD}, headers=key())
    told_done(session.post("/steps", {"steps": ADD}, headers=first))
    assert session.data("x") == 11.0


@pytest.mark.parametrize("path", ["/steps", "/ops", "/backward"])
def test_all_that_runs_steps(serve: Callable[..., Running], path: str) -> None:
    session = serve(Limits(idempotency_seconds=BRIEFLY)).session()
    session.steps(
        {"tensor": "x", "value": 0.0, "requires_grad": True},
        {"op": "mul", "args": ["x", 2], "out": "y"},
    )
    body = {
        "/steps": {"steps": [{"op": "add_", "args": ["y", 1]}]},
        "/ops": {"source": "y += 1"},
        "/backward": {"tensors": ["y"], "retain_graph": True},
    }[path]
    headers = key()
    assert session.post(path, body, headers=headers).status_code == 200
    before = session.data("y"), session.data("x.grad")
    time.sleep(2 * BRIEFLY)
    told_done(session.post(path, body, headers=headers))
    assert (session.data("y"), session.data("x.grad")) == before


def test_what_failed_and_what_only_reads_is_asked_anew(serve: Callable[..., Running]) -> None:
    session = serve(Limits(idempotency_seconds=BRIEFLY)).session()
    failed, read = key(), key()
    body, reading = {"steps": [*ADD], "return": ["x"]}, {"steps": [], "return": ["x"]}
    assert asked(session, body, failed).status_code == 404
    session.steps({"tensor": "x", "value": 0.0})
    assert asked(session, body, failed).json()["values"]["x"]["data"] == 1.0
    assert asked(session, reading, read).status_code == 200
    assert asked(session, reading, read).json()["values"]["x"]["data"] == 1.0


def test_steps_that_were_kept_before_one_that_failed(serve: Callable[..., Running]) -> None:
    session = serve(Limits(idempotency_seconds=BRIEFLY)).session()
    session.steps({"tensor": "x", "value": 0.0})
    headers = key()
    assert asked(session, FAILING, headers).status_code == 404
    told_done(asked(session, FAILING, headers), upto=1)
    assert session.data("x") == 1.0


def test_a_session_remembers_its_last_requests(serve: Callable[..., Running]) -> None:
    server = serve(Limits(idempotency_seconds=BRIEFLY))
    session = server.session()
    session.steps({"tensor": "x", "value": 0.0})
    keys = [key() for _ in range(REMEMBERED + 1)]
    for headers in keys:
        assert session.post("/steps", {"steps": ADD}, headers=headers).status_code == 200
    assert len(server.service.everybody.host.session(session.id).answered) == REMEMBERED
    told_done(asked(session, {"steps": ADD}, keys[1]))
    assert session.data("x") == REMEMBERED + 1


@pytest.mark.parametrize("end", [Process.kill, Process.stop], ids=["killed", "stopped"])
def test_a_server_that_is_started_again_knows(data: str, end: Callable[[Process], object]) -> None:
    """By the changes that it runs again, or by the snapshot of an end in order."""
    short = {"GRADWIRE_IDEMPOTENCY_SECONDS": str(BRIEFLY)}
    done, failed = key(), key()
    with served(data, environment=short) as server:
        session = Client(server.client, server.client.post("/v1/sessions", json={}).json()["id"])
        session.steps({"tensor": "x", "value": 0.0})
        assert asked(session, {"steps": ADD}, done).status_code == 200
        assert asked(session, FAILING, failed).status_code == 404
        told_done(asked(session, {"steps": ADD}, done))
        end(server)
    with served(data, environment=short) as server:
        session = Client(server.client, session.id)
        told_done(asked(session, {"steps": ADD}, done))
        told_done(asked(session, FAILING, failed), upto=1)
        assert session.data("x") == 2.0
