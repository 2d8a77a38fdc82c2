"""One lane per session: in order of arrival; sessions side by side; health never behind."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import numpy as np
from safetensors.numpy import save
from tests.service.conftest import Client, Running, under_way, until

from gradwire_service.host.limits import Limits
from gradwire_service.http.codec.negotiation import SAFETENSORS

SLOW = [{"op": "rand", "args": [[1_000_000]], "out": "r"}] * 80
"""About half a second of work that lets other threads run."""


def begin(server: Running, session: Client, *steps: object, key: str = "") -> socket.socket:
    """Send a request that runs steps, without waiting for its reply. key: its Idempotency-Key."""
    body = json.dumps({"steps": list(steps)}, separators=(",", ":")).encode()  # as httpx does
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    more = f"Idempotency-Key: {key}\r\nContent-Type: application/json\r\n" if key else ""
    head = f"POST {session.path}/steps HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    connection.sendall(f"{head}{more}\r\n".encode() + body)
    return connection


def finish(connection: socket.socket) -> bytes:
    """The first piece of the reply."""
    with connection:
        return connection.recv(65536)


def test_reads_wait_for_what_came_before(server: Running, session: Client) -> None:
    session.steps({"tensor": "n", "value": 0})
    slow = begin(server, session, *SLOW, {"tensor": "n", "value": 1})
    until(under_way(server, 1))
    assert session.get("/tensors/n").json()["data"] == 1
    assert finish(slow).startswith(b"HTTP/1.1 200")


def test_in_order_of_arrival(server: Running, session: Client) -> None:
    session.steps({"op": "zeros", "args": [[0]], "out": "log"})
    slow = begin(server, session, *SLOW)
    until(under_way(server, 1))
    waiting = []
    for number in range(10):
        append = {"op": "cat", "args": [["log", [float(number)]]], "out": "log"}
        waiting.append(begin(server, session, append))
        until(under_way(server, number + 2))
    assert server.service.executor.waiting == 11
    for connection in (slow, *waiting):
        assert finish(connection).startswith(b"HTTP/1.1 200")
    assert session.data("log") == [float(number) for number in range(10)]


def test_many_clients_of_one_session_lose_nothing(server: Running) -> None:
    session = server.session()
    session.steps({"tensor": "n", "value": 0}, {"tensor": "big", "value": 0})

    def add(number: int) -> None:
        with httpx.Client(base_url=server.url, timeout=60) as http:
            client = Client(http, session.id)
            for i in range(20):
                large = {"op": "zeros", "args": [[60_000]], "out": "big"}
                client.steps({"op": "add_", "args": ["n", 1]}, *[large] * (i % 2))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    assert session.data("n") == 160


def test_other_sessions_and_health_do_not_wait(server: Running) -> None:
    slow, quick = server.session(), server.session()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(slow.steps, *SLOW, *SLOW)
        until(under_way(server, 1))
        waits = []
        for _ in range(10):
            began = time.monotonic()
            assert server.client.get("/health/ready").status_code == 200
            quick.steps({"tensor": "n", "value": 1}, {"op": "add_", "args": ["n", 1]})
            waits.append(time.monotonic() - began)
        assert not running.done()
        running.result()
    assert sorted(waits)[5] < 0.2


def test_a_request_that_computes_too_long(serve: Callable[..., Running]) -> None:
    server = serve(Limits(seconds=0.1))
    session = server.session()
    session.steps({"tensor": "n", "value": [1.0]})
    problem = session.refused({"op": "add_", "args": ["n", 1]}, *SLOW)
    assert problem["code"] == "deadline_exceeded"
    assert session.data("n") == [1.0]
    session.steps({"op": "add_", "args": ["n", 1]})


def test_the_caller_may_ask_for_less_time(session: Client) -> None:
    session.steps({"tensor": "n", "value": [1.0]})
    body = {"steps": [{"op": "add_", "args": ["n", 1]}, *SLOW]}
    reply = session.post("/steps", body, headers={"gradwire-timeout": "0.1"})
    assert (reply.status_code, reply.json()["code"]) == (504, "deadline_exceeded")
    assert session.data("n") == [1.0]
    for wrong in ("soon", "0", "-1", "nan", "inf", "1e999", "1e-10", "1_0", "1 0"):
        reply = session.post("/steps", {"steps": []}, headers={"gradwire-timeout": wrong})
        assert reply.json()["code"] == "invalid_request"


def test_closing_waits_and_then_refuses_what_waits(server: Running) -> None:
    session = server.session()
    with ThreadPoolExecutor(3) as pool:
        slow = pool.submit(session.steps, *SLOW)
        until(under_way(server, 1))
        with httpx.Client(base_url=server.url, timeout=60) as http:
            closing = pool.submit(http.delete, session.path)
            time.sleep(0.05)
            late = pool.submit(session.post, "/steps", {"steps": []})
            slow.result()
            assert closing.result().status_code == 204
        assert late.result().json()["code"] == "session_closed"


def test_a_client_that_goes_away_leaves_the_session_usable(server: Running) -> None:
    session = server.session()
    patience = httpx.Timeout(30, read=0.1)
    with httpx.Client(base_url=server.url, timeout=patience) as http, suppress(httpx.ReadTimeout):
        Client(http, session.id).post("/steps", {"steps": SLOW})
    session.steps({"tensor": "n", "value": 1})
    assert session.data("n") == 1


def test_the_step_of_a_loop_is_done_once_wherever_it_runs(server: Running) -> None:
    session = server.session()
    session.steps({"tensor": "n", "value": 0}, {"op": "zeros", "args": [[10]], "out": "w"})
    steps = [
        {"tensor": "x", "value": {"binary": "x"}},
        {"op": "add_", "args": ["n", 1]},
        {"op": "mul", "args": ["w", 2.0], "out": "twice"},
    ]
    request = json.dumps({"steps": steps, "return": ["n"]})
    body = save({"x": np.ones(20_000, np.float32)}, {"request": request})
    kept = server.service.host.session(session.id)

    def answer(sent: bytes) -> httpx.Response:
        headers = {"Content-Type": SAFETENSORS}
        return session.http.post(f"{session.path}/steps", content=sent, headers=headers)

    def post(sent: bytes) -> float:
        return float(answer(sent).json()["values"]["n"]["data"])

    assert [post(body) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert kept.pace.nbytes < 2**17
    session.steps({"op": "zeros", "args": [[1_000_000]], "out": "w"})
    assert post(body) == 6  # more than it asked for before: undone, and done in a thread
    assert kept.pace.nbytes > 2**21
    other = body.replace(b'\\"mul', b'\\"sub')  # of the same length
    assert [post(other), post(body)] == [7, 8]
    refused = body.replace(b'\\"add_', b'\\"odd_')
    assert answer(refused).status_code >= 400
    assert post(body) == 9
    assert server.service.underway == 0
