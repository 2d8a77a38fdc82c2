"""Writes that fail, or of which nobody knows whether they did: nothing half, nothing twice."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import httpx
import pytest
from tests.service.crash.campaign import dump
from tests.service.crash.process import Process, served
from tests.service.test_durable import STEPS, do, made

from gradwire_service.store.heads import Heads

LOST = "after-commit:full:1"
"""The database has it, and the confirmation is lost."""
UNKNOWN = f"{LOST},outcome:full:1"
"""The same, and the database can't be asked."""
PROGRAM = {"inputs": ["x"], "source": "y = x * 7", "outputs": ["y"]}
REFUSED = (503, 507)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with served(tmp_path / "data", faults="") as found:
        yield found


def again(server: Process, tmp_path: Path) -> Process:
    """The server that comes after that one is killed."""
    server.kill()
    return Process(str(tmp_path / "data"))


def keyed(server: Process, session: str, key: str) -> httpx.Response:
    return do(server.client, session, *STEPS, **{"Idempotency-Key": key})


def replays(reply: httpx.Response) -> bool:
    return reply.headers.get("idempotency-replayed") == "true"


def listed(server: Process, what: str = "sessions") -> set[str]:
    return {item["id"] for item in server.client.get(f"/v1/{what}").json()["items"]}


def test_a_lost_confirmation_is_asked_for(server: Process, tmp_path: Path) -> None:
    server.plan(LOST)
    session = made(server.client, seed=1)
    first = keyed(server, session, "one")
    assert first.status_code == 200
    assert keyed(server, session, "one").content == first.content
    patched = server.client.patch(f"/v1/sessions/{session}", json={"label": "new"})
    assert patched.status_code == 200
    program = server.client.post("/v1/programs", json=PROGRAM)
    assert program.status_code == 201
    gone = made(server.client)
    assert server.client.delete(f"/v1/sessions/{gone}").status_code == 204
    before = dump(server.client, session)
    later = again(server, tmp_path)
    assert listed(later) == {session}
    assert listed(later, "programs") == {program.json()["id"]}
    assert dump(later.client, session) == before
    assert replays(keyed(later, session, "one"))
    later.stop()


def test_a_change_in_doubt_is_taken_back_with_its_reply(server: Process, tmp_path: Path) -> None:
    session = made(server.client, seed=1)
    do(server.client, session, *STEPS)
    before = dump(server.client, session)
    server.plan(UNKNOWN)
    for key in ("one", "two"):
        assert keyed(server, session, key).status_code in REFUSED
        assert dump(server.client, session) == before
    server.plan("")
    reply = keyed(server, session, "one")
    assert reply.status_code == 200
    assert not replays(reply), "what was refused can't have a first reply"
    assert replays(keyed(server, session, "one"))
    after = dump(server.client, session)
    later = again(server, tmp_path)
    assert dump(later.client, session) == after
    assert replays(keyed(later, session, "one"))
    assert not replays(keyed(later, session, "two"))
    later.stop()


def test_settings_in_doubt_are_as_before(server: Process, tmp_path: Path) -> None:
    session = made(server.client, label="old")
    server.plan(UNKNOWN)
    reply = server.client.patch(f"/v1/sessions/{session}", json={"label": "new"})
    assert reply.status_code in REFUSED
    server.plan("")
    other = made(server.client)
    later = again(server, tmp_path)
    assert listed(later) == {session, other}
    assert later.client.get("/v1/sessions").json()["items"][0]["label"] == "old"
    assert later.client.get(f"/v1/sessions/{session}").json()["label"] == "old"
    later.stop()


def test_a_new_session_in_doubt_is_none(server: Process, tmp_path: Path) -> None:
    key = {"Idempotency-Key": "make"}
    old = made(server.client)
    do(server.client, old, {"op": "ones", "args": [[300, 300]], "out": "big"})
    server.plan(UNKNOWN)
    assert server.client.post("/v1/sessions", json={}, headers=key).status_code in REFUSED
    assert server.client.post(f"/v1/sessions/{old}/fork").status_code in REFUSED
    assert listed(server) == {old}
    server.plan("")
    fresh = server.client.post("/v1/sessions", json={}, headers=key)
    assert fresh.status_code == 201
    assert not replays(fresh)
    later = again(server, tmp_path)
    assert listed(later) == {old, fresh.json()["id"]}
    assert list((tmp_path / "data" / "arrays").iterdir()) == []
    later.stop()


def test_a_deletion_in_doubt_closes_the_session(server: Process, tmp_path: Path) -> None:
    session, other = made(server.client), made(server.client)
    server.plan(UNKNOWN)
    reply = server.client.delete(f"/v1/sessions/{session}")
    assert reply.status_code in REFUSED
    assert "is closed" in reply.json()["detail"]
    for ask in (server.client.get, server.client.delete):
        assert ask(f"/v1/sessions/{session}").json()["code"] == "session_closed"
    server.plan("")
    do(server.client, other, *STEPS)
    later = again(server, tmp_path)
    assert listed(later) == {other}
    later.stop()


def test_programs_in_doubt_are_as_before(server: Process, tmp_path: Path) -> None:
    kept = server.client.post("/v1/programs", json={**PROGRAM, "source": "y = x"}).json()["id"]
    server.plan(UNKNOWN)
    assert server.client.post("/v1/programs", json=PROGRAM).status_code in REFUSED
    assert server.client.delete(f"/v1/programs/{kept}").status_code in REFUSED
    assert listed(server, "programs") == {kept}
    server.plan("")
    made(server.client)
    later = again(server, tmp_path)
    assert listed(later, "programs") == {kept}
    later.stop()


@pytest.mark.parametrize("point", ["before-commit", "after-commit"])
def test_no_error_ends_the_thread_that_writes(server: Process, point: str) -> None:
    session = made(server.client)
    server.plan(f"{point}:odd:1,outcome:odd:1")
    before = dump(server.client, session)
    for _ in range(3):
        assert do(server.client, session, *STEPS).json()["code"] == "storage_unavailable"
        assert dump(server.client, session) == before
    server.plan("")
    assert do(server.client, session, *STEPS).status_code == 200


def test_a_snapshot_in_doubt_fits_what_is_written_after_it(tmp_path: Path) -> None:
    environment = {"GRADWIRE_PARK_SECONDS": "0.3"}
    with served(tmp_path / "data", faults="", environment=environment) as server:
        session = made(server.client, seed=1)
        do(server.client, session, *STEPS)
        before = dump(server.client, session)
        server.plan(UNKNOWN)
        settled(lambda: server.client.get("/v1/sessions").json()["items"][0]["parked"])
        server.plan("")
        patched = server.client.patch(f"/v1/sessions/{session}", json={"label": "new"})
        assert patched.status_code == 200
        later = again(server, tmp_path)
    assert dump(later.client, session) == [*before[:2], "new"]
    later.stop()


# callers who hang up


def hang_up(server: Process, path: str, body: bytes = b"{}", kind: str = "json") -> None:
    """Ask, and go away before there is an answer."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/{kind}\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.2)


def rows(data: Path) -> int:
    with sqlite3.connect(data / "gradwire.db") as database:
        return int(database.execute("SELECT count(*) FROM sessions").fetchone()[0])


def settled(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


HUNG_UP = [("create", "before-commit"), *product(("restore", "fork"), ("before-commit", "file"))]


@pytest.mark.parametrize(("how", "point"), HUNG_UP)
def test_who_hangs_up_leaves_no_session(
    server: Process, tmp_path: Path, how: str, point: str
) -> None:
    old = made(server.client)
    do(server.client, old, {"op": "ones", "args": [[300, 300]], "out": "big"})
    file = server.client.get(f"/v1/sessions/{old}/snapshot").content
    server.plan(f"{point}:slow:1")
    if how == "create":
        hang_up(server, "/v1/sessions")
    elif how == "restore":
        hang_up(server, "/v1/sessions", file, "x-safetensors")
    else:
        hang_up(server, f"/v1/sessions/{old}/fork", b"")
    time.sleep(1.2)
    server.plan("")
    settled(lambda: listed(server) == {old})
    settled(lambda: rows(tmp_path / "data") == 1)
    settled(lambda: not list((tmp_path / "data" / "arrays").iterdir()))


# programs


def test_nobody_hears_of_a_program_before_it_is_kept(server: Process) -> None:
    def post(found: list[httpx.Response]) -> None:
        with httpx.Client(base_url=server.url, timeout=60) as http:
            found.append(http.post("/v1/programs", json=PROGRAM))

    def both() -> list[int]:
        found: list[httpx.Response] = []
        threads = [threading.Thread(target=post, args=(found,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        assert found == []
        assert listed(server, "programs") == set()
        for thread in threads:
            thread.join()
        return sorted(reply.status_code for reply in found)

    server.plan("before-commit:slow:1,before-commit:full:1")
    assert both() == [507, 507]
    server.plan("before-commit:slow:1")
    assert both() == [200, 201]


# what is written beside the database


def test_heads_that_cannot_be_written_anew_go_on_in_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    heads = Heads(path)
    blocked = tmp_path / "heads.new"
    blocked.mkdir()
    session = "s" * 50_000
    for number in range(30):
        heads.add([(session, "*", number)])
    heads.add([("gone", "*", 1)])
    heads.add([("gone", "*", None)])
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    heads.add([("late", "*", 5)])
    assert os.lseek(other, 0, os.SEEK_END) == 0, "it writes into nobody else's file"
    os.close(other)
    blocked.rmdir()
    heads.add([("last", "*", 6)])
    expected = {session: ("*", 29), "late": ("*", 5), "last": ("*", 6)}
    assert heads.known == expected
    assert Heads(path).known == expected
    heads.close()
