"""Streams: the same requests as over HTTP, the same replies and errors, in order."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from tests.service.conftest import Client, Running, running
from tests.service.streams import address, packed, streaming, unpacked
from tests.service.test_http_lanes import SLOW
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gradwire_service.host.limits import Limits

LEAF = {"tensor": "x", "value": [1, 2, 3], "requires_grad": True}
MINUTE = [
    LEAF,
    {"op": "pow", "args": ["x", 2], "out": "y"},
    {"op": "sum", "args": ["y"], "out": "z"},
    {"backward": {"tensors": ["z"]}},
]


def test_a_minute_of_it(server: Running, session: Client) -> None:
    over_http = server.session().steps(*MINUTE, returns=("z", "x.grad"))
    with streaming(server, session) as stream:
        found = stream.ask(*MINUTE, returns=("z", "x.grad"))
    assert found == {"id": 1, "values": over_http}
    assert session.data("x.grad") == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("key", [0, -7, 2**63 - 1, "", "a", 'with "quotes" and \\', "é" * 64])
def test_the_id_comes_back(server: Running, session: Client, key: object) -> None:
    with streaming(server, session) as stream:
        for message in ({"id": key, "steps": []}, {"steps": [], "id": key}):
            assert stream.raw(message) == {"id": key, "values": {}}
            spaced = json.dumps(message, indent=3, ensure_ascii=False)
            assert stream.raw(spaced) == {"id": key, "values": {}}


def test_members_may_stand_anywhere(server: Running, session: Client) -> None:
    session.steps(LEAF)
    with streaming(server, session) as stream:
        for message in (
            {"id": 1, "data": "none", "steps": [], "return": ["x"]},
            {"steps": [], "data": "none", "return": ["x"], "id": 1},
            {"id": 1, "steps": [], "return": ["x"], "data": "none"},
        ):
            assert "data" not in stream.raw(message)["values"]["x"]
        literal = {"tensor": "y", "value": {"dtype": "float64", "data": [1.5]}}
        assert stream.values(literal, returns=("y",)) == {"y": [1.5]}


def test_replies_come_in_the_order_of_messages(server: Running, session: Client) -> None:
    with streaming(server, session) as stream:
        stream.send(stream.message({"tensor": "x", "value": 0.0}))
        for _ in range(200):
            stream.send(stream.message({"op": "add_", "args": ["x", 1]}, returns=("x",)))
        stream.take()
        found = [stream.take() for _ in range(200)]
    assert [reply["id"] for reply in found] == list(range(2, 202))
    assert [reply["values"]["x"]["data"] for reply in found] == [float(i) for i in range(1, 201)]


def test_errors_are_those_of_http_and_undo(server: Running, session: Client) -> None:
    wrong = {"op": "add", "args": ["x", "nothing"], "out": "y"}
    over_http = session.refused(LEAF, wrong)
    with streaming(server, session) as stream:
        found = stream.ask(LEAF, wrong)
        assert found.pop("id") == 1
        assert found.pop("request_id") != over_http.pop("request_id")
        assert found == over_http
        assert stream.ask(returns=("x",))["code"] == "tensor_not_found"
        assert stream.values(LEAF, returns=("x",)) == {"x": [1.0, 2.0, 3.0]}


def test_binary_messages_and_replies(server: Running, session: Client) -> None:
    w = np.arange(6, dtype="float32").reshape(2, 3)
    step = {"tensor": "w", "value": {"binary": "w"}}
    message = {"id": 5, "steps": [step], "return": ["w"]}
    with streaming(server, session) as stream:
        for again in range(3):
            stream.send(packed(message | {"id": again}, {"w": w}))
            said, arrays = unpacked(stream.connection.recv(30))
            assert said["id"] == again
            assert np.array_equal(arrays[said["values"]["w"]["binary"]], w)
        in_text = {"headers": {"Accept": "application/json"}}
        stream.send(packed(message | in_text, {"w": w}))
        assert stream.take()["values"]["w"]["data"] == w.tolist()
        stream.send({"id": 6, "return": ["w"], "steps": [],
                     "headers": {"accept": "application/x-safetensors"}})  # fmt: skip
        said, arrays = unpacked(stream.connection.recv(30))
        assert said["id"] == 6 and np.array_equal(arrays["w"], w)


def test_large_binary_messages_in_pieces(server: Running, session: Client) -> None:
    w = np.random.default_rng(0).standard_normal(2_000_000).astype("float32")
    file = packed(
        {"steps": [{"tensor": "w", "value": {"binary": "w"}}], "return": ["w"], "id": "big"},
        {"w": w},
    )
    pieces = [file[i : i + 700_001] for i in range(0, len(file), 700_001)]
    ledger = server.service.host.ledger
    before = ledger.held
    with streaming(server, session) as stream:
        for sent in (file, pieces):
            stream.connection.send(sent)
            said, arrays = unpacked(stream.connection.recv(60))
            assert said["id"] == "big" and np.array_equal(arrays["w"], w)
        assert stream.values({"free": ["w"]}, returns=()) == {}
    assert ledger.held < before + 2 * w.nbytes  # at most: what was freed is seen later


def test_a_large_text(server: Running, session: Client) -> None:
    numbers = [float(i) for i in range(100_000)]
    step = {"tensor": "x", "value": {"dtype": "float64", "data": numbers}}
    with streaming(server, session) as stream:
        assert stream.values(step, returns=("x",)) == {"x": numbers}


def test_the_handshakes_query_and_headers_hold_for_all(server: Running, session: Client) -> None:
    session.steps(LEAF)
    headers = {"Accept": "application/json", "Gradwire-Timeout": "1e-9", "X-Request-Id": "mine"}
    with streaming(server, session, "?data=base64", additional_headers=headers) as stream:
        assert stream.connection.response.headers["X-Request-Id"] == "mine"
        found = stream.ask(returns=("x",), headers={"Gradwire-Timeout": 10, "X-Request-Id": "a.1"})
        assert "base64" in found["values"]["x"] and found["request_id"] == "a.1"
        assert stream.ask(*SLOW)["code"] == "deadline_exceeded"
        stream.send(packed(stream.message(returns=("x",), headers={"gradwire-timeout": "9"}), {}))
        assert "base64" in stream.take()["values"]["x"]


def test_idempotency_keys(server: Running, session: Client) -> None:
    """Also on another stream of the session; over HTTP it is another route's."""
    session.steps({"tensor": "x", "value": 0.0})
    request = {"steps": [{"op": "add_", "args": ["x", 1]}], "return": ["x"]}
    keyed = {"headers": {"Idempotency-Key": "k-1"}}
    with streaming(server, session) as stream:
        first = stream.raw({"id": 1, **keyed, **request})
    with streaming(server, session) as stream:
        again = stream.raw({"id": "other", **keyed, **request})
        assert again == {"id": "other", "replayed": True, "values": first["values"]}
        over_http = session.post("/steps", {"steps": []}, headers={"idempotency-key": "k-1"})
        assert over_http.status_code == 200 and "idempotency-replayed" not in over_http.headers
        other = stream.raw({"id": 3, **keyed, "steps": []})
        assert (other["code"], other["status"]) == ("idempotency_conflict", 409)
        keyed = {"headers": {"Idempotency-Key": "k-2"}}
        w = {"w": np.ones(3, "float32")}
        for key, replayed in ((9, None), (1000, True)):
            stream.send(packed({"id": key, **request, **keyed}, w))
            said, _ = unpacked(stream.connection.recv(30))
            assert (said["id"], said.get("replayed")) == (key, replayed)
    assert session.data("x") == 2.0


def test_closed_and_expired_sessions(server: Running) -> None:
    session, brief = server.session(), server.session(ttl_seconds=0.2)
    with streaming(server, session) as stream, streaming(server, brief) as other:
        session.http.delete(session.path)
        assert stream.ask()["code"] == "session_closed"
        time.sleep(0.4)
        assert other.ask()["code"] == "session_expired"
    assert refusal(server, session.id) == (410, "session_closed")


def refusal(server: Running, session: str, **fields: object) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as refused:
        connect(address(server, session), compression=None, proxy=None, **fields)
    response = refused.value.response
    assert response.headers["content-type"] == "application/problem+json"
    found = json.loads(response.body)
    assert found["status"] == response.status_code
    return found["status"], found["code"]


@pytest.mark.parametrize("path", ["nothing", "a/b", "%2e%2e", "a" * 3000])
def test_sessions_that_are_not_there(server: Running, path: str) -> None:
    assert refusal(server, path)[0] == 404


def test_bad_handshakes(server: Running, session: Client) -> None:
    bad = {"additional_headers": {"Gradwire-Timeout": "soon"}}
    assert refusal(server, session.id, **bad) == (422, "invalid_request")
    with pytest.raises(InvalidStatus, match="422"):
        connect(address(server, session.id) + "?data=some", proxy=None)
    with pytest.raises(InvalidStatus, match="422"):
        connect(address(server, session.id) + "?date=none", proxy=None)
    elsewhere = {"origin": "http://evil.example"}
    assert refusal(server, session.id, **elsewhere) == (403, "forbidden")
    own = f"http://127.0.0.1:{server.port}"
    with streaming(server, session, origin=own) as stream:
        assert stream.ask()["values"] == {}
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "7"}
    reply = server.client.get(session.path + "/stream", headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_body")
    assert reply.headers["sec-websocket-version"] == "13"


def test_durable_sessions(serve: Callable[..., Running], tmp_path: Path) -> None:
    """What a stream was told is there after a restart, keys of retries too."""
    w = np.arange(4, dtype="float32")
    keyed = {"headers": {"Idempotency-Key": "add"}}
    add = {"id": 3, "steps": [{"op": "add_", "args": ["w", 1]}], "return": ["w"], **keyed}
    with running(data=str(tmp_path)) as server:
        session = server.session().id
        with streaming(server, session) as stream:
            message = {"id": 1, "steps": [{"tensor": "w", "value": {"binary": "w"}}]}
            stream.send(packed(message, {"w": w}))
            stream.connection.recv(30)
            stream.raw({"id": 2, "data": "none", "steps": [{"op": "mul_", "args": ["w", 2]}]})
            first = stream.raw(add)
    with running(data=str(tmp_path)) as server, streaming(server, session) as stream:
        assert stream.raw(add) == {"id": 3, "replayed": True, "values": first["values"]}
        assert stream.values(returns=("w",)) == {"w": [1.0, 3.0, 5.0, 7.0]}


def test_long_heads(server: Running) -> None:
    assert refusal(server, "a" * 20_000)[0] in (400, 404)


def test_keys_and_tenants(serve: Callable[..., Running]) -> None:
    server = serve(keys=["alice:alice-key-of-tests", "bob:bob-key-of-tests"])
    alice, bob = ({"Authorization": f"Bearer {name}-key-of-tests"} for name in ("alice", "bob"))
    session = server.client.post("/v1/sessions", json={}, headers=alice).json()["id"]
    assert refusal(server, session) == (401, "unauthorized")
    absent = refusal(server, "s_" + "0" * 24, additional_headers=bob)
    assert refusal(server, session, additional_headers=bob) == absent == (404, "session_not_found")
    with streaming(server, session, additional_headers=alice) as stream:
        assert stream.values(LEAF, returns=("x",)) == {"x": [1.0, 2.0, 3.0]}


def test_rates_count_messages(serve: Callable[..., Running]) -> None:
    server = serve(Limits(tenant_rate=20))
    with streaming(server, server.session()) as stream:
        found = [stream.ask() for _ in range(40)]
        refused = [reply for reply in found if "code" in reply]
        assert {reply["code"] for reply in refused} == {"rate_limited"}
        assert all(reply["retry_after"] >= 1 and reply["status"] == 429 for reply in refused)
        malformed = [stream.raw("rubbish")["code"] for _ in range(40)]
        assert "rate_limited" in malformed


@pytest.mark.parametrize("package", ["websockets", "sqlalchemy"])
def test_what_a_server_may_not_need_is_not_loaded_at_its_start(package: str) -> None:
    code = f"import sys, gradwire_service.http.serve; print({package!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_metrics(serve: Callable[..., Running]) -> None:
    server = serve()
    with streaming(server, server.session()) as stream:
        stream.ask()
        stream.raw("{")
        text = server.client.get("/metrics").text
        assert "gradwire_streams 1.0" in text
    route = 'method="WS",route="/v1/sessions/{id}/stream"'
    for status in (101, 200, 400):
        assert f'gradwire_requests_total{{{route},status="{status}"}} 1.0' in text
    until(lambda: "gradwire_streams 0.0" in server.client.get("/metrics").text)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_who_hangs_up_cancels(serve: Callable[..., Running]) -> None:
    """By closing, and by vanishing; what was undone is undone."""
    server = serve()
    session = server.session()
    for polite in (True, False):
        with streaming(server, session) as stream:
            stream.send(stream.message(LEAF, *SLOW * 10))
            until(lambda: server.service.executor.waiting == 1)
            if not polite:
                stream.connection.socket.close()
            else:
                Thread(target=stream.connection.close).start()
            began = time.monotonic()
            until(lambda: server.service.executor.waiting == 0)
            assert time.monotonic() - began < 3
        assert session.refused(**{"return": ["x"]})["code"] == "tensor_not_found"
    assert server.service.underway == 0


def test_work_with_a_key_goes_on_for_who_comes_back(serve: Callable[..., Running]) -> None:
    server = serve()
    session = server.session()
    message = {"headers": {"Idempotency-Key": "again"}, "steps": [LEAF, *SLOW], "return": ["x"]}
    with streaming(server, session) as stream:
        stream.send({"id": 1, **message})
        until(lambda: server.service.executor.waiting == 1)
        stream.connection.socket.close()
    with streaming(server, session) as stream:
        found = stream.raw({"id": 2, **message})
    assert found["replayed"] and found["values"]["x"]["data"] == [1.0, 2.0, 3.0]


def test_the_server_ends_in_order() -> None:
    """What is under way is answered, then the stream is closed with 1012."""
    with ExitStack() as stack:
        with running() as server:
            stream = stack.enter_context(streaming(server, server.session()))
            stream.send(stream.message(*SLOW))
            until(lambda: server.service.executor.waiting == 1)
        assert stream.take() == {"id": 1, "values": {}}
        with pytest.raises(ConnectionClosed) as closed:
            stream.take()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
