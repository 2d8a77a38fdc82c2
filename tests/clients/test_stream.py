"""The SDK over streams: the same results, errors and manners as over HTTP."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.clients.test_retrying import losing
from tests.service.conftest import Running, running

import gradwire as torch
from gradwire.transport import Request
from gradwire_engine.errors import GradwireError
from gradwire_service.host.limits import Limits


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as found:
        yield found
    torch.connect()


def trained(client: Any) -> list[np.ndarray]:
    """What a small training loop makes of its weights, step by step."""
    found = []
    with client.session(seed=3) as session:
        w = torch.randn(4, 3, requires_grad=True)
        b = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([w, b], lr=0.1)
        data = np.random.default_rng(0).standard_normal((10, 8, 4)).astype("float32")
        for batch in data:
            optimizer.zero_grad()
            loss = ((torch.tensor(batch) @ w).tanh() + b).square().mean()
            loss.backward()
            optimizer.step()
            found += [loss.detach().numpy(), w.detach().numpy(), b.grad.numpy()]
        found.append(np.array(session.info()["tensors"]))
    return found


def test_results_are_the_same_to_the_last_bit(server: Running) -> None:
    clients = [
        torch.connect(), torch.connect(server.url), torch.connect(server.url, transport="stream"),
    ]  # fmt: skip
    embedded, over_http, streamed = map(trained, clients)
    for one, two, three in zip(embedded, over_http, streamed, strict=True):
        assert np.array_equal(one, two) and np.array_equal(one, three)
        assert one.dtype == three.dtype


def test_a_request_takes_no_http(server: Running) -> None:
    client = torch.connect(server.url, transport="stream")
    with client.session():
        x = torch.ones(3, requires_grad=True)
        before = counted(server, "WS"), counted(server, "POST")
        for _ in range(5):
            assert (x * 2).sum().item() == 6.0
        until(lambda: counted(server, "WS") >= before[0] + 5)
        assert counted(server, "POST") == before[1]


def counted(server: Running, method: str) -> int:
    """Requests of a method that were answered."""
    lines = server.client.get("/metrics").text.splitlines()
    start = f'gradwire_requests_total{{method="{method}"'
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start)))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_arrays_of_all_dtypes_come_back(server: Running, size: int) -> None:
    client = torch.connect(server.url, transport="stream")
    kinds = (
        ["bool", "int64", "float16", "float32", "complex64", "complex128"]
        if size == 1
        else ["float32"]
    )
    with client.session():
        for kind in kinds:
            array = np.ones(size, kind)
            found = (torch.tensor(array) * 1).numpy()
            assert found.dtype == np.dtype("int64" if kind == "bool" else kind)
            assert np.array_equal(found, array)


def test_errors_are_those_of_http(server: Running) -> None:
    raised = []
    for transport in ("http", "stream"):
        with torch.connect(server.url, transport=transport).session():
            x = torch.ones(2, requires_grad=True)
            y = (x * x).sum()
            y.backward()
            with pytest.raises(RuntimeError) as twice:
                y.backward()
            table = torch.ones(3)
            with pytest.raises(IndexError) as outside:
                table[torch.tensor([5])].numpy()
            raised.append(
                [
                    (type(e.value), e.value.code, e.value.detail, e.value.hint)
                    for e in (twice, outside)
                ]
            )
            assert x.grad.tolist() == [2.0, 2.0]
    assert raised[0] == raised[1]


def test_streams_are_closed_with_their_sessions(young: None, server: Running) -> None:
    client = torch.connect(server.url, transport="stream")
    until(lambda: not server.service.everybody.streams)
    session = client.session()
    with session:
        torch.ones(1).numpy()
        assert server.service.everybody.streams == 1
    until(lambda: not server.service.everybody.streams)
    forgotten = client.session()
    with forgotten.here():
        torch.ones(1).numpy()
    del forgotten
    gc.collect(0)
    with client.session():
        torch.ones(1).numpy()
        until(lambda: server.service.everybody.streams == 1)
    with torch.connect(server.url).session(), pytest.raises(GradwireError) as closed:
        client.transport.steps(session.id, Request([]))
    assert closed.value.code == "session_closed"


def test_a_stream_that_breaks_is_opened_again() -> None:
    """Handshakes and messages get lost; each step is done once."""
    for every in (3, 5):
        with running() as server, losing(server.port, every) as port:
            client = torch.connect(f"http://127.0.0.1:{port}", transport="stream")
            with client.session():
                x = torch.zeros(1000)
                for done in range(1, 8):
                    x += 1
                    assert float(x[0]) == done
    torch.connect()


def test_what_is_too_large_is_said_at_once() -> None:
    with running(Limits(body_bytes=2**20)) as server:
        client = torch.connect(server.url, transport="stream")
        with client.session():
            began = time.monotonic()
            with pytest.raises(GradwireError) as refused:
                torch.tensor(np.ones(2**19)).sum().item()
            assert refused.value.code == "payload_too_large"
            assert time.monotonic() - began < 5
    torch.connect()


def test_a_timeout_is_one(server: Running) -> None:
    client = torch.connect(server.url, transport="stream", timeout=2)
    with client.session():
        matrix, times = torch.eye(400), torch.arange(20_000.0)
        with pytest.raises(TimeoutError) as slow:  # one op of some twenty seconds
            torch.scan(lambda power, y: (power @ power, y), matrix, times)[1].tolist()
        assert slow.value.code == "unanswered"
    until(lambda: server.service.executor.waiting == 0)


def test_keys(server: Running) -> None:
    with running(keys=["alice:a-key-of-the-tests"]) as locked:
        with torch.connect(locked.url, "a-key-of-the-tests", transport="stream").session():
            assert torch.ones(2).sum().item() == 2.0
        mine = locked.client.post(
            "/v1/sessions", json={}, headers={"authorization": "Bearer a-key-of-the-tests"}
        ).json()["id"]
        stranger = torch.connect(locked.url, transport="stream").transport
        with pytest.raises(PermissionError) as refused:
            stranger.steps(mine, Request([]))
        assert refused.value.code == "unauthorized"
    torch.connect()


def test_there_are_two_transports(server: Running) -> None:
    with pytest.raises(ValueError, match="pigeon"):
        torch.connect(server.url, transport="pigeon")
    used = "type(t.current.session().transport).__name__"
    code = f"import gradwire as t; t.ones(2).numpy(); print({used})"
    told = {"GRADWIRE_URL": server.url, "GRADWIRE_TRANSPORT": "stream"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | told,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "Stream"
