"""Idempotency-Key: the same request is done once, and answered as often as it comes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest
from tests.service.conftest import Client, Running, under_way, until
from tests.service.test_http_lanes import SLOW, begin, finish

from gradwire_service.host.limits import Limits
from gradwire_service.http.call import Call

ADD = [{"op": "add_", "args": ["x", 1]}]


def key() -> dict[str, str]:
    return {"idempotency-key": str(uuid4())}


def test_a_retry_gets_the_first_reply(session: Client) -> None:
    session.steps({"tensor": "x", "value": 0.0})
    asked = {"steps": ADD, "return": ["x"]}
    headers = key()
    first, again = (session.post("/steps", asked, headers=headers) for _ in range(2))
    assert first.json() == again.json()
    assert first.json()["values"]["x"]["data"] == 1.0
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert session.data("x") == 1.0
    assert session.post("/steps", asked, headers=key()).json()["values"]["x"]["data"] == 2.0


def test_every_mutating_call_takes_one(server: Running) -> None:
    http = server.client
    headers = key()
    made = [http.post("/v1/sessions", json={}, headers=headers).json()["id"] for _ in range(2)]
    assert made[0] == made[1]
    path = f"/v1/sessions/{made[0]}"
    calls = [
        ("PATCH", path, {"label": "a"}), ("PUT", f"{path}/tensors/x", {"value": [1.0]}),
        ("POST", f"{path}/ops", {"source": "y = x + 1"}), ("POST", f"{path}/fork", None),
        ("DELETE", f"{path}/tensors/y", None), ("DELETE", path, None),
    ]  # fmt: skip
    for method, url, body in calls:
        headers = key()
        first, again = (http.request(method, url, json=body, headers=headers) for _ in range(2))
        assert first.status_code < 300, first.text
        assert (first.status_code, first.content) == (again.status_code, again.content)
    assert http.request("DELETE", path, headers=key()).status_code == 410


def test_another_body_is_a_conflict(session: Client) -> None:
    headers = key()
    assert session.post("/steps", {"steps": []}, headers=headers).status_code == 200
    refused = session.post("/steps", {"steps": ADD}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    other = session.post("/ops", {"ops": []}, headers=headers)  # a key belongs to its route
    assert other.status_code == 200


def test_an_error_is_a_reply_too(session: Client) -> None:
    headers = key()
    asked = {"steps": [{"op": "sin", "args": ["x"], "out": "y"}]}
    first = session.post("/steps", asked, headers=headers)
    session.steps({"tensor": "x", "value": 0.0})
    again = session.post("/steps", asked, headers=headers)
    assert (first.status_code, first.content) == (404, again.content)


def test_a_retry_waits_for_the_first(session: Client) -> None:
    session.steps({"tensor": "x", "value": 0.0})
    asked = {"steps": [*SLOW, *ADD], "return": ["x"]}
    headers = key()
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: session.post("/steps", asked, headers=headers), range(4)))
    assert [reply.json()["values"]["x"]["data"] for reply in replies] == [1.0] * 4
    assert sum("idempotency-replayed" in reply.headers for reply in replies) == 3


def test_who_lost_the_connection_gets_the_reply(server: Running, session: Client) -> None:
    session.steps({"tensor": "x", "value": 0.0})
    asked = {"steps": [*SLOW, *ADD], "return": ["x"]}
    headers = key()
    with brief(server) as http, pytest.raises(httpx.ReadTimeout):
        http.post(f"{session.path}/steps", json=asked, headers=headers)
    assert session.post("/steps", asked, headers=headers).json()["values"]["x"]["data"] == 1.0
    assert session.data("x") == 1.0


def test_a_client_that_hangs_up_cancels(server: Running, session: Client) -> None:
    session.steps({"tensor": "x", "value": 0.0})
    long = begin(server, session, *ADD, *SLOW * 40)
    until(under_way(server, 1))
    long.close()
    began = time.monotonic()
    assert session.data("x") == 0.0  # as before
    assert time.monotonic() - began < 5
    assert server.service.executor.waiting == 0


def test_who_hangs_up_before_a_thread_is_free_cancels(serve: Callable[..., Running]) -> None:
    server = serve(workers=1)
    first, second = server.session(), server.session()
    busy = begin(server, first, *SLOW, *SLOW)
    until(under_way(server, 1))
    waits = begin(server, second, *SLOW * 40)
    until(under_way(server, 2))
    waits.close()
    finish(busy)
    until(lambda: not server.service.executor.waiting)


def test_a_request_that_nobody_waits_for_is_forgotten(
    young: None, server: Running, session: Client
) -> None:
    """With its body: what it was lent has gone back, whoever might still ask for the reply."""
    name = key()["idempotency-key"]
    with begin(server, session, *SLOW * 2, key=name):
        until(lambda: bool(calls_of(name)))  # before the client goes: then its time is short
        until(under_way(server, 1))  # who goes before has asked for nothing
    until(lambda: not calls_of(name))
    replayed = session.post("/steps", {"steps": SLOW * 2}, headers={"idempotency-key": name})
    assert replayed.headers["idempotency-replayed"] == "true"


def brief(server: Running) -> httpx.Client:
    """A client that waits a tenth of a second for a reply, and longer to have asked."""
    return httpx.Client(base_url=server.url, timeout=httpx.Timeout(30, read=0.1))


def calls_of(name: str) -> list[Call]:
    """The requests with this key that are in memory."""
    calls = [found for found in gc.get_objects(0) if type(found) is Call]
    return [call for call in calls if call.place is not None and call.place.key == name]


@pytest.mark.parametrize("odd", ["", "a" * 256])
def test_odd_keys(session: Client, odd: str) -> None:
    reply = session.post("/steps", {"steps": []}, headers={"idempotency-key": odd})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_request")


def test_replies_are_kept_for_their_time_and_size(serve: Callable[..., Running]) -> None:
    server = serve(Limits(idempotency_bytes=8192, idempotency_seconds=0.5))
    session = server.session()
    session.steps({"op": "zeros", "args": [[1000]], "out": "big"}, {"tensor": "x", "value": 0.0})
    asked = {"steps": ADD, "return": ["big"]}
    headers = key()
    assert session.post("/steps", asked, headers=headers).status_code == 200
    refused = session.post("/steps", asked, headers=headers)  # done, but too large to be kept
    assert refused.json()["code"] == "limit_exceeded"
    assert session.data("x") == 1.0
    small = {"steps": ADD, "return": ["x"]}
    headers = key()
    session.post("/steps", small, headers=headers)
    time.sleep(0.6)
    again = session.post("/steps", small, headers=headers)  # the session knows: it was done
    assert again.json()["code"] == "limit_exceeded"
    assert session.data("x") == 2.0
    replies = server.service.everybody.replies
    for _ in range(50):
        session.post("/steps", small, headers=key())
    assert 0 < replies.nbytes <= 8192
    replies.expire()


def test_a_refusal_before_anything_ran_is_not_kept(serve: Callable[..., Running]) -> None:
    server = serve(Limits(tenant_rate=2.0))
    headers = key()
    session = server.session()
    session.get()
    while session.get().status_code != 429:
        pass
    asked = {"steps": [{"tensor": "x", "value": 1.0}]}
    assert session.post("/steps", asked, headers=headers).status_code == 429
    time.sleep(1.1)
    assert session.post("/steps", asked, headers=headers).status_code == 200
