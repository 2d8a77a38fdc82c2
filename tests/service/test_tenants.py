"""Two tenants of a server: what is one's, the other never sees; each has limits of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles
from typing import Any

import httpx
import pytest
from tests.service.conftest import Running, running
from tests.service.test_http_lanes import SLOW

from gradwire_service.host.limits import Limits

ABSENT = "s_0123456789abcdef01234567"
MIB = 2**20


class Tenant:
    """A client with a key."""

    def __init__(self, server: Running, key: str) -> None:
        self.http = server.other(authorization=f"Bearer {key}")

    def session(self) -> str:
        return self.http.post("/v1/sessions", json={}).json()["id"]

    def steps(self, session: str, *steps: Any, **more: Any) -> httpx.Response:
        return self.http.post(f"/v1/sessions/{session}/steps", json={"steps": list(steps)}, **more)


def two(server: Running) -> tuple[Tenant, Tenant]:
    return Tenant(server, ONE), Tenant(server, TWO)


ONE, TWO, THREE = (f"{name}-key-of-the-tests" for name in ("one", "two", "three"))
KEYS = [f"alice:{ONE}", f"bob:{TWO}", f"operator:{THREE}"]


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    with running(keys=KEYS) as found:
        yield found


CALLS = {
    "read": ("GET", "", None),
    "change": ("PATCH", "", {"label": "mine"}),
    "close": ("DELETE", "", None),
    "steps": ("POST", "/steps", {"steps": []}),
    "ops": ("POST", "/ops", {"ops": []}),
    "grad": ("POST", "/grad", {"outputs": ["x"], "inputs": ["x"]}),
    "backward": ("POST", "/backward", {"tensors": ["x"]}),
    "fork": ("POST", "/fork", None),
    "snapshot": ("GET", "/snapshot", None),
    "graph": ("GET", "/graph", None),
    "tensors": ("GET", "/tensors", None),
    "tensor": ("GET", "/tensors/x", None),
    "write": ("PUT", "/tensors/x", {"value": 1}),
    "free": ("DELETE", "/tensors/x", None),
    "gradient": ("GET", "/tensors/x/grad", None),
    "clear": ("DELETE", "/tensors/x/grad", None),
    "optimizers": ("GET", "/optimizers", None),
}


def told(reply: httpx.Response, key: str) -> tuple[int, dict, dict]:
    """A reply without what is each request's own."""
    headers = {k: v for k, v in reply.headers.items() if k not in ("x-request-id", "date")}
    body = reply.json() | {"request_id": None}
    return reply.status_code, body | {"detail": body["detail"].replace(key, "ID")}, headers


@pytest.mark.parametrize("call", CALLS)
def test_anothers_session_is_as_one_that_is_not(shared: Running, call: str) -> None:
    alice, bob = two(shared)
    theirs = alice.session()
    alice.steps(theirs, {"tensor": "x", "value": 1})
    method, path, body = CALLS[call]
    found = [
        told(bob.http.request(method, f"/v1/sessions/{key}{path}", json=body), key)
        for key in (theirs, ABSENT)
    ]
    assert found[0] == found[1]
    assert (found[0][0], found[0][1]["code"]) == (404, "session_not_found")
    assert alice.http.get(f"/v1/sessions/{theirs}/tensors/x").json()["data"] == 1


def test_nor_when_it_is_closed(shared: Running) -> None:
    alice, bob = two(shared)
    theirs = alice.session()
    alice.http.delete(f"/v1/sessions/{theirs}")
    assert alice.http.get(f"/v1/sessions/{theirs}").status_code == 410
    assert bob.http.get(f"/v1/sessions/{theirs}").status_code == 404


def test_ids_that_are_guessed_from_anothers_are_none(shared: Running) -> None:
    """One digit off, with others' endings, in capitals: whatever is asked there, it isn't there."""
    alice, bob = two(shared)
    theirs = alice.session()
    alice.steps(theirs, {"tensor": "x", "value": 1})
    near = {theirs[:i] + digit + theirs[i + 1 :] for i in range(2, len(theirs)) for digit in "0f"}
    near |= {theirs.upper(), theirs + "0", theirs[:-1], f"{theirs}%00", f"{theirs}%2e", theirs[2:]}
    for i, guess in enumerate(sorted(near - {theirs})):
        method, path, body = list(CALLS.values())[i % len(CALLS)]
        reply = bob.http.request(method, f"/v1/sessions/{guess}{path}", json=body)
        assert reply.status_code == 404, guess
    assert alice.http.get(f"/v1/sessions/{theirs}/tensors/x").json()["data"] == 1
    assert bob.http.get("/v1/sessions").json()["items"] == []


def test_it_takes_as_long(shared: Running) -> None:
    """In turn, so that what disturbs one disturbs both; the quicker of many differ by little."""
    alice, bob = two(shared)
    theirs = [alice.session() for _ in range(20)]

    def taken(key: str) -> float:
        began = time.perf_counter()
        assert bob.http.get(f"/v1/sessions/{key}").status_code == 404
        return time.perf_counter() - began

    def quick(times: list[float]) -> float:
        return quantiles(times, n=4)[0]

    for _ in range(5):  # what disturbs only adds: one quiet attempt is enough
        others, absent = [], []
        for i in range(200):
            others.append(taken(theirs[i % 20]))
            absent += taken(ABSENT), taken(ABSENT)
            others.append(taken(theirs[-i % 20]))
        ratio = quick(others) / quick(absent)
        if 0.95 < ratio < 1.05:
            return
    raise AssertionError(f"another's id takes {ratio:.3f} times as long as one that isn't there")


def test_lists_and_programs_are_each_ones_own(shared: Running) -> None:
    alice, bob = two(shared)
    theirs = alice.session()
    program = {"inputs": ["x"], "source": "y = x * 41.5", "outputs": ["y"]}
    made = alice.http.post("/v1/programs", json=program)
    assert made.status_code == 201
    key = made.json()["id"]
    for path in ("/v1/sessions", "/v1/programs"):
        text = bob.http.get(path).text
        assert theirs not in text
        assert key not in text
    assert bob.http.get(f"/v1/programs/{key}").json()["code"] == "program_not_found"
    called = bob.http.post(f"/v1/programs/{key}/evaluate", json={"inputs": {"x": 1}})
    assert called.json()["code"] == "program_not_found"
    assert bob.http.post("/v1/programs", json=program).status_code == 201  # new to bob
    bob.http.delete(f"/v1/programs/{key}")
    assert alice.http.get(f"/v1/programs/{key}").status_code == 200
    asked = {"program": program, "inputs": {"x": {"session": theirs, "tensor": "x"}}}
    refused = bob.http.post("/v1/evaluate", json=asked)
    assert refused.json()["code"] == "session_not_found"


_SINE = {"op": "sin", "args": ["x"], "out": "y"}


def test_metrics_are_each_ones_own() -> None:
    with running(keys=KEYS) as server:
        alice, bob = two(server)
        for _ in range(7):
            alice.session()
        bob.session()
        bob.http.get("/v1/info")
        theirs = alice.session()
        alice.steps(theirs, {"op": "ones", "args": [[50]], "out": "x"}, *[_SINE] * 4)
        alice.steps(theirs, {"op": "sin", "args": ["nope"], "out": "y"})
        alice.http.delete(f"/v1/sessions/{theirs}")
        assert server.client.get("/metrics").status_code == 401
        shown = bob.http.get("/metrics").text
        made = 'gradwire_requests_total{method="POST",route="/v1/sessions",status="201"} '
        assert made + "1.0" in shown
        assert "gradwire_sessions 1.0" in shown
        assert "gradwire_ops_total 0.0" in shown and "gradwire_flops_total 0.0" in shown
        assert 'gradwire_errors_total{code="tensor_not_found"} 0.0' in shown
        assert 'gradwire_sessions_ended_total{code="session_closed"} 0.0' in shown
        whole = Tenant(server, THREE).http.get("/metrics").text
        assert made + "9.0" in whole
        assert "gradwire_sessions 8.0" in whole
        assert "gradwire_flops_total 200.0" in whole
        assert 'gradwire_errors_total{code="tensor_not_found"} 1.0' in whole
        assert 'gradwire_sessions_ended_total{code="session_closed"} 1.0' in whole


def test_errors_say_nothing_of_others() -> None:
    limits = Limits(server_bytes=6 * MIB, tenant_bytes=4 * MIB)
    with running(limits, keys=KEYS) as server:
        alice, bob = two(server)
        theirs = alice.session()
        assert alice.steps(theirs, zeros(3 * MIB)).status_code == 200
        assert alice.steps(theirs, zeros(2 * MIB)).json()["code"] == "memory_limit"
        mine = bob.session()
        refused = bob.steps(mine, zeros(7 * MIB // 2)).json()
        assert refused["code"] == "memory_limit"
        held = server.service.tenants["alice"].host.ledger.held
        assert str(held) not in refused["detail"]
        assert "alice" not in str(refused)
        assert theirs not in str(refused)
        assert bob.steps(mine, zeros(2 * MIB)).status_code == 200


def zeros(nbytes: int) -> dict:
    return {"op": "zeros", "args": [[nbytes // 4]], "out": f"z{nbytes}"}


def test_sessions_of_a_tenant_are_bounded(serve: Callable[..., Running]) -> None:
    server = serve(Limits(tenant_sessions=2, sessions=3), keys=KEYS)
    alice, bob = two(server)
    assert [alice.http.post("/v1/sessions").status_code for _ in range(3)] == [201, 201, 413]
    assert [bob.http.post("/v1/sessions").status_code for _ in range(2)] == [201, 413]


def test_requests_a_second_are_bounded(serve: Callable[..., Running]) -> None:
    server = serve(Limits(tenant_rate=5.0), keys=KEYS)
    alice, bob = two(server)
    codes = [alice.http.get("/v1/sessions").status_code for _ in range(8)]
    assert 429 in codes[5:]
    assert 429 not in codes[:5]
    assert bob.http.get("/v1/sessions").status_code == 200
    while (refused := alice.http.get("/v1/sessions")).status_code != 429:
        pass
    assert refused.json()["code"] == "rate_limited"
    time.sleep(int(refused.headers["retry-after"]))  # which is true
    assert alice.http.get("/v1/sessions").status_code == 200


def test_seconds_of_computing_are_bounded(serve: Callable[..., Running]) -> None:
    server = serve(Limits(tenant_seconds=0.1), keys=KEYS)
    alice, bob = two(server)
    session = alice.session()
    assert alice.steps(session, *SLOW).status_code == 200
    refused = alice.steps(session, *SLOW)
    assert refused.json()["code"] == "rate_limited"
    assert int(refused.headers["retry-after"]) > 1
    assert bob.http.get("/v1/sessions").status_code == 200


def test_requests_at_one_time_are_bounded(serve: Callable[..., Running]) -> None:
    server = serve(Limits(tenant_requests=2, session_requests=3, requests=4), keys=KEYS, workers=1)
    alice, bob = two(server)
    sessions = [alice.session() for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(alice.steps, key, *SLOW) for key in sessions]
        time.sleep(0.2)
        assert bob.http.get("/v1/sessions").status_code == 200
        replies = [one.result() for one in asked]
    refused = [reply for reply in replies if reply.status_code == 429]
    assert len(refused) == 2
    assert all(int(reply.headers["retry-after"]) >= 1 for reply in refused)


def test_a_session_has_a_bounded_queue(serve: Callable[..., Running]) -> None:
    server = serve(Limits(session_requests=3))
    session = server.session()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(session.post, "/steps", {"steps": SLOW}) for _ in range(6)]
        codes = sorted(one.result().status_code for one in asked)
    assert codes.count(200) >= 3
    assert codes.count(503) >= 1
    assert session.post("/steps", {"steps": []}).status_code == 200
