"""Sessions as resources: made, changed, forked, counted, closed, expired."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tests.service.conftest import Client, Running
from tests.service.state import dump

from gradwire_service.host.limits import Limits

MIB = 2**20


def test_made_with_everything_it_takes(server: Running) -> None:
    asked = {
        "label": "digits", "device": "cpu", "dtype": "float64", "seed": 5, "ttl_seconds": 60,
        "memory_limit_bytes": 10 * MIB, "durable": False, "detect_anomaly": False,
    }  # fmt: skip
    found = server.session(**asked).get().json()
    for name in ("label", "device", "dtype", "ttl_seconds", "memory_limit_bytes"):
        assert found[name] == asked[name]
    assert found["tensors"] == found["nodes"] == 0
    assert found["created"] <= found["last_use"] < found["expires"]


def test_made_without_a_body(server: Running) -> None:
    made = server.client.post("/v1/sessions")
    assert made.status_code == 201
    assert made.json()["dtype"] == "float32"


def test_changed(server: Running) -> None:
    session = server.session(label="a")
    change = {"label": "b", "ttl_seconds": 30, "memory_limit_bytes": 1000}
    assert server.client.patch(session.path, json=change).json()["label"] == "b"
    found = session.get().json()
    assert {name: found[name] for name in change} == change
    assert server.client.patch(session.path, json={"label": None}).json()["label"] is None
    assert session.get().json()["ttl_seconds"] == 30
    assert session.refused({"op": "zeros", "args": [[1000]], "out": "z"})["code"] == "memory_limit"


def test_listed_page_by_page(serve: Callable[..., Running]) -> None:
    server = serve()
    made = [server.session(label=str(i)).id for i in range(7)]
    found: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = server.client.get(f"/v1/sessions?limit=3&cursor={cursor}").json()
        assert len(page["items"]) <= 3
        found += [item["id"] for item in page["items"]]
        cursor = page["next"]
    assert found == made


def test_bytes_and_nodes_are_counted(session: Client) -> None:
    n = 1000
    session.steps(
        {"op": "ones", "args": [[n]], "out": "x"},
        {"requires_grad": "x", "value": True},
        {"op": "exp", "args": ["x"], "out": "y"},
        {"op": "sin", "args": ["y"], "out": "z"},
        {"op": "sum", "args": ["z"], "out": "s"},
        {"free": ["y"]},
    )
    found = session.get().json()
    assert found["nodes"] == 3
    assert found["bytes"]["values"] == 4 * (2 * n + 1)
    assert found["bytes"]["saved"] == 4 * n  # y, which only the graph keeps
    assert found["bytes"]["grads"] == 0
    session.steps({"backward": {"tensors": ["s"]}})
    found = session.get().json()
    assert found["bytes"]["saved"] == 0
    assert found["bytes"]["grads"] == 4 * n
    assert found["bytes"]["total"] == 4 * (3 * n + 1)
    assert found["bytes"]["peak"] >= 4 * (4 * n + 1)
    session.steps({"free": ["x", "z", "s"]})
    found = session.get().json()
    assert found["nodes"] == found["bytes"]["total"] == 0


def test_a_graph_that_is_retained_is_seen_in_the_bytes(session: Client) -> None:
    n = 1000
    session.steps(
        {"op": "ones", "args": [[n]], "out": "x"},
        {"requires_grad": "x", "value": True},
        {"op": "exp", "args": ["x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "s"},
        {"free": ["y"]},
    )
    session.steps({"backward": {"tensors": ["s"], "retain_graph": True}})
    assert session.get().json()["bytes"]["saved"] == 4 * n
    session.steps({"backward": {"tensors": ["s"]}})
    found = session.get().json()["bytes"]
    assert (found["saved"], found["grads"]) == (0, 4 * n)
    assert found["total"] == 4 * (2 * n + 1)


def test_views_and_two_names_of_one_tensor_count_once(session: Client) -> None:
    session.steps(
        {"op": "ones", "args": [[1000]], "out": "x"},
        {"op": "reshape", "args": ["x", [10, 100]], "out": "y"},
        {"detach": "x", "out": "z"},
    )
    assert session.get().json()["bytes"]["values"] == 4000


def test_a_long_loop_holds_no_more_than_one_turn(server: Running) -> None:
    session = server.session(memory_limit_bytes=2 * MIB)
    session.steps({"op": "ones", "args": [[50_000]], "out": "x"})
    session.steps({"requires_grad": "x", "value": True})
    turn = [
        {"op": "exp", "args": ["x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "s"},
        {"backward": {"tensors": ["s"]}},
        {"zero_grad": ["x"]},
    ]
    for _ in range(30):
        session.steps(*turn)
    assert session.get().json()["bytes"]["peak"] <= 2 * MIB


def test_memory_is_refused_before_it_is_taken(server: Running) -> None:
    session = server.session(memory_limit_bytes=MIB)
    session.steps({"op": "ones", "args": [[1000]], "out": "x"})
    big = {"op": "zeros", "args": [[2 * MIB]], "out": "big"}
    problem = session.refused(big)
    assert problem["code"] == "memory_limit"
    assert str(8 * MIB) in problem["detail"]
    half = {"op": "zeros", "args": [[MIB // 8]], "out": "half"}
    session.steps(half)
    assert session.refused(half | {"out": "other"})["code"] == "memory_limit"
    literal = {"tensor": "q", "value": [0.0] * (MIB // 4)}
    assert session.refused(literal)["code"] == "memory_limit"
    session.steps({"free": ["half"]}, half | {"out": "other"})


def test_gradients_count_against_the_limit(server: Running) -> None:
    session = server.session(memory_limit_bytes=MIB)
    session.steps(
        {"op": "ones", "args": [[150_000]], "out": "x"},
        {"requires_grad": "x", "value": True},
        {"op": "sum", "args": ["x"], "out": "s"},
    )
    assert session.refused({"backward": {"tensors": ["s"]}})["code"] == "memory_limit"
    assert session.data("x.grad") is None


def test_all_sessions_share_the_servers_memory(serve: Callable[..., Running]) -> None:
    server = serve(Limits(server_bytes=MIB))
    first, second = server.session(), server.session()
    big = {"op": "zeros", "args": [[150_000]], "out": "big"}
    first.steps(big)
    problem = second.refused(big)
    assert problem["code"] == "memory_limit"
    assert "server" in problem["detail"]
    assert server.client.delete(first.path).status_code == 204
    second.steps(big)


def test_a_small_part_of_a_body_does_not_keep_it(server: Running) -> None:
    import numpy as np

    from gradwire_service.host import safetensors

    session = server.session()
    request = '{"steps": [{"tensor": "q", "value": {"binary": "small"}}]}'
    arrays = {"small": np.ones(3, np.float32), "large": np.ones(10**6, np.float32)}
    body = b"".join(safetensors.write(arrays, {"request": request}))
    reply = server.client.post(
        f"{session.path}/steps", content=body, headers={"content-type": "application/x-safetensors"}
    )
    assert reply.status_code == 200
    with server.service.host.using(session.id) as held:
        array = held.find("q").array
        while array.base is not None and not isinstance(array.base, (bytes, bytearray, memoryview)):
            array = array.base
        assert array.nbytes == 12


def test_a_fork_and_its_origin_never_see_each_other(server: Running) -> None:
    session = server.session(seed=4, label="origin")
    session.steps(
        {"tensor": "x", "value": [1.0, 2.0], "requires_grad": True},
        {"op": "mul", "args": ["x", "x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"tensor": "n", "value": [1.0]},
    )
    reply = server.client.post(f"{session.path}/fork")
    assert reply.status_code == 201
    fork = Client(server.client, reply.json()["id"])
    assert reply.headers["location"] == fork.path
    assert fork.id != session.id
    draw = {"op": "rand", "args": [[3]], "out": "r"}
    before = dump(server.service.host, session.id)
    change = [{"op": "add_", "args": ["n", 1]}, {"backward": {"tensors": ["z"]}}, {"free": ["x"]}]
    fork.steps(*change)
    assert dump(server.service.host, session.id) == before
    assert fork.data("n") == [2.0]
    assert fork.refused({"backward": {"tensors": ["z"]}})["code"] == "graph_freed"
    session.steps({"backward": {"tensors": ["z"]}})
    assert session.data("x.grad") == [2.0, 4.0]
    same = [c.steps(draw, returns=("r",))["r"]["data"] for c in (session, fork)]
    assert same[0] == same[1]
    server.client.delete(session.path)
    assert fork.data("n") == [2.0]


def test_a_fork_has_the_settings_of_its_origin_but_those_it_is_given(server: Running) -> None:
    settings = {"label": "origin", "dtype": "float64", "ttl_seconds": 60.0,
                "memory_limit_bytes": 10 * MIB, "detect_anomaly": True}  # fmt: skip
    session = server.session(seed=4, **settings)
    session.steps({"op": "rand", "args": [[3]], "out": "r"})
    for asked in ({"label": "fork"}, {"label": None}, {"dtype": "float32"}, {"ttl_seconds": 5.0},
                  {"memory_limit_bytes": MIB}, {"detect_anomaly": False}, {}):  # fmt: skip
        found = session.post("/fork", asked)
        assert found.status_code == 201, found.text
        assert found.json().items() >= (settings | asked).items()
        assert found.json()["random"] == {"seed": 4, "draws": 1}
    assert session.get().json().items() >= settings.items()


def test_a_fork_may_have_a_seed_of_its_own(server: Running) -> None:
    session = server.session(seed=4)
    draw = {"op": "rand", "args": [[3]], "out": "r"}
    session.steps(draw)
    fork = Client(server.client, session.post("/fork", {"seed": 9}).json()["id"])
    fresh = server.session(seed=9)
    assert fork.get().json()["random"] == {"seed": 9, "draws": 0}
    assert fork.steps(draw, returns=("r",)) == fresh.steps(draw, returns=("r",))
    assert session.get().json()["random"]["seed"] == 4


def test_a_fork_that_is_refused_is_not_there(server: Running) -> None:
    session, count = server.session(label="a"), len(server.service.host.sessions())
    limits = server.service.host.limits
    for asked, code in (
        ({"name": "b"}, "invalid_request"), ({"label": 1}, "invalid_request"),
        ({"device": "cpu"}, "invalid_request"), ({"seed": -1}, "invalid_request"),
        ([], "invalid_request"),
        ({"ttl_seconds": limits.longest_ttl_seconds + 1}, "limit_exceeded"),
        ({"memory_limit_bytes": limits.session_bytes + 1}, "limit_exceeded"),
        ({"durable": True}, "invalid_argument"),
    ):  # fmt: skip
        assert session.post("/fork", asked).json()["code"] == code, asked
    assert len(server.service.host.sessions()) == count


def test_closed_is_remembered_for_a_bounded_number(serve: Callable[..., Running]) -> None:
    server = serve(Limits(remembered=2))
    made = [server.session() for _ in range(3)]
    for session in made:
        assert server.client.delete(session.path).status_code == 204
    codes = [session.get().json()["code"] for session in made]
    assert codes == ["session_not_found", "session_closed", "session_closed"]


def test_closed_is_remembered_for_a_bounded_time(serve: Callable[..., Running]) -> None:
    server = serve(Limits(remembered_seconds=0.1))
    session = server.session()
    server.client.delete(session.path)
    assert session.get().status_code == 410
    time.sleep(0.15)
    server.client.delete(server.session().path)
    assert session.get().status_code == 404


def kept_alive(server: Running) -> Client | None:
    """A session that was used when most of its time was over; None where that came too late."""
    session = server.session(ttl_seconds=1.5)
    for _ in range(2):
        asked = time.monotonic()
        time.sleep(0.8)
        reply = session.get()
        if time.monotonic() - asked > 1.4:
            return None  # this machine was busy
        assert reply.status_code == 200  # the call before began the time anew
    return session


def test_expired(server: Running) -> None:
    session = next(found for found in (kept_alive(server) for _ in range(10)) if found)
    held = server.service.host.ledger.held
    time.sleep(1.6)
    reply = session.post("/steps", {"steps": []})
    assert reply.status_code == 410
    assert reply.json()["code"] == "session_expired"
    assert "1.5 seconds" in reply.json()["detail"]
    assert server.service.host.ledger.held <= held
    assert session.id not in [s.id for s in server.service.host.sessions()]


def test_a_request_under_way_keeps_a_session_alive(serve: Callable[..., Running]) -> None:
    server = serve()
    session = server.session(ttl_seconds=0.5)
    slow = [{"op": "rand", "args": [[1_000_000]], "out": "r"}] * 250
    began = time.monotonic()
    session.steps(*slow)
    assert time.monotonic() - began > 0.6
    assert session.get().status_code == 200


def test_a_limit_on_sessions_and_names(serve: Callable[..., Running]) -> None:
    server = serve(Limits(sessions=1, names=2))
    session = server.session()
    reply = server.client.post("/v1/sessions", json={})
    assert reply.json()["code"] == "limit_exceeded"
    assert server.client.post(f"{session.path}/fork").json()["code"] == "limit_exceeded"
    session.steps({"tensor": "a", "value": 1}, {"tensor": "b", "value": 1})
    assert session.refused({"tensor": "c", "value": 1})["code"] == "limit_exceeded"
    session.steps({"tensor": "a", "value": 2}, {"free": ["b"]}, {"tensor": "c", "value": 1})


@pytest.mark.parametrize("path", ["", "/tensors", "/tensors/x", "/tensors/x/grad", "/graph"])
def test_reads_of_a_closed_session(server: Running, path: str) -> None:
    session = server.session()
    server.client.delete(session.path)
    assert session.get(path).json()["code"] == "session_closed"
