"""Disks that fill up, logs that are torn, bits that flip: nothing is lost in silence."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from tests.service.conftest import running
from tests.service.crash.campaign import dump
from tests.service.crash.postgres import Postgres
from tests.service.crash.process import Process, served
from tests.service.test_durable import STEPS, do, made

from gradwire_engine.errors import GradwireError

BIG = {"op": "ones", "args": [[300, 300]], "out": "big"}
FLIPS = 60


def change(http: httpx.Client, session: str) -> list[Callable[[], httpx.Response]]:
    """One of each kind of change."""
    path = f"/v1/sessions/{session}"
    program = {"inputs": ["x"], "source": "y = x * 5", "outputs": ["y"]}
    large = {"value": [0.25] * 100_000}
    return [
        lambda: do(http, session, *STEPS),
        lambda: do(http, session, {"free": ["x"]}, **{"Idempotency-Key": "k"}),
        lambda: http.put(f"{path}/tensors/large", json=large),
        lambda: http.put(f"{path}/tensors/small", json={"value": 1}),
        lambda: http.delete(f"{path}/tensors/x"),
        lambda: http.delete(f"{path}/tensors/x/grad"),
        lambda: http.patch(path, json={"label": "other", "ttl_seconds": 5}),
        lambda: http.post(f"{path}/ops", json={"source": "x = randn([3])"}),
        lambda: http.post(f"{path}/backward", json={"tensors": ["z"]}),
        lambda: http.post(f"{path}/fork"),
        lambda: http.post("/v1/sessions", json={}),
        lambda: http.post("/v1/programs", json=program),
        lambda: http.delete(path),
    ]


@contextmanager
def full_disk(server: Process) -> Iterator[None]:
    """No file of the server's may grow any more."""
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_each_change_fails_and_nothing_changed(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        http = server.client
        session = made(http, seed=3)
        do(http, session, *STEPS)
        before, settings = dump(http, session), http.get(f"/v1/sessions/{session}").json()
        with full_disk(server):
            for ask in change(http, session):
                reply = ask()
                assert reply.json()["code"] in ("storage_full", "storage_unavailable")
                assert reply.status_code in (503, 507)
                assert (reply.status_code == 503) is ("retry-after" in reply.headers)
                assert dump(http, session) == before
            assert http.get("/v1/programs").json()["items"] == []
            assert len(http.get("/v1/sessions").json()["items"]) == 1
            now = http.get(f"/v1/sessions/{session}").json()["bytes"]
            assert now | {"peak": 0} == settings["bytes"] | {"peak": 0}
        for ask in change(http, session)[:-1]:
            do(http, session, *STEPS)
            assert ask().status_code < 300, "there is room again"
        after = dump(http, session)
        server.kill()
    with served(tmp_path) as server:
        assert dump(server.client, session) == after


def test_a_disk_that_fills_up_while_a_snapshot_is_written_loses_nothing(tmp_path: Path) -> None:
    environment = {"GRADWIRE_SNAPSHOT_CHANGES": "2", "GRADWIRE_PARK_SECONDS": "0.1"}
    with served(tmp_path, faults="file:full:1", environment=environment) as server:
        session = made(server.client)
        for _ in range(5):
            assert do(server.client, session, BIG, *STEPS).status_code == 200
        before = dump(server.client, session)
        assert list((tmp_path / "arrays").iterdir()) == []
        server.kill()
    with served(tmp_path) as server:
        assert dump(server.client, session) == before


def test_while_the_database_is_away_changes_fail_and_then_go_on(cluster: Postgres) -> None:
    with served(cluster.database()) as server:
        session = made(server.client, seed=3)
        do(server.client, session, *STEPS)
        before = dump(server.client, session)
        cluster.stop()
        for ask in change(server.client, session):
            reply = ask()
            assert reply.json()["code"] == "storage_unavailable"
            assert reply.headers["retry-after"] == "5"
            assert dump(server.client, session) == before
        cluster.start()
        for ask in change(server.client, session)[:-1]:
            do(server.client, session, *STEPS)
            assert ask().status_code < 300


# what turns bad while nobody looks


def filled(data: Path) -> dict[str, Any]:
    """Data with a session that rests in a snapshot, and some whose log was not run again yet."""
    with served(data) as server:
        rests, works = made(server.client), made(server.client)
        do(server.client, rests, BIG, *STEPS)
        do(server.client, works, *STEPS)
    with served(data) as server:
        fresh = made(server.client)
        for session in (works, fresh):
            for _ in range(3):
                assert do(server.client, session, *STEPS).status_code == 200
        found = {key: dump(server.client, key) for key in (rests, works, fresh)}
        server.kill()
    return found


def test_damage_that_shows_when_a_session_is_read_is_in_the_log_once(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        session = made(server.client)
        assert do(server.client, session, BIG).status_code == 200
        assert server.stop() == 0
    (file,) = (tmp_path / "arrays").iterdir()
    held = bytearray(file.read_bytes())
    held[len(held) // 2] ^= 1
    file.write_bytes(held)
    with served(tmp_path) as server:
        assert server.said() == ""
        replies = [server.client.get(f"/v1/sessions/{session}") for _ in range(2)]
        assert [reply.json()["code"] for reply in replies] == ["session_damaged"] * 2
        (line,) = map(json.loads, server.said().splitlines())
        assert (line["event"], line["code"]) == ("complaint", "session_damaged")
        assert line["detail"] == replies[0].json()["detail"]


def looked_at(data: Path, expected: dict[str, Any]) -> set[str]:
    """The sessions that are said to be damaged; all others have to be as they were."""
    bad = set()
    with running(data=str(data)) as server:
        listed = {item["id"] for item in server.client.get("/v1/sessions").json()["items"]}
        assert listed == expected.keys()
        for key, before in expected.items():
            reply = server.client.get(f"/v1/sessions/{key}/tensors")
            if reply.status_code == 200:
                assert dump(server.client, key) == before
                continue
            assert (reply.status_code, reply.json()["code"]) == (409, "session_damaged")
            assert key in reply.json()["detail"]
            assert do(server.client, key, {"seed": 1}).json()["code"] == "session_damaged"
            assert server.client.delete(f"/v1/sessions/{key}").status_code == 204
            bad.add(key)
    if bad:
        with running(data=str(data)) as server:
            listed = {item["id"] for item in server.client.get("/v1/sessions").json()["items"]}
            assert listed == expected.keys() - bad, "a damaged session can be deleted"
    return bad


def test_what_was_written_behind_the_log_is_nothing(tmp_path: Path) -> None:
    expected = filled(tmp_path)
    with (tmp_path / "gradwire.db-wal").open("ab") as log:
        log.write(Random(0).randbytes(5000))
    assert looked_at(tmp_path, expected) == set()


@pytest.mark.parametrize("cut", [1, 3000, 9000, 20_000])
def test_a_torn_log_is_noticed(tmp_path: Path, cut: int) -> None:
    expected = filled(tmp_path)
    rests, _, fresh = expected
    log = tmp_path / "gradwire.db-wal"
    log.write_bytes(log.read_bytes()[:-cut])
    bad = looked_at(tmp_path, expected)
    assert fresh in bad
    assert rests not in bad


def test_without_its_log_only_what_was_in_it_is_damaged(tmp_path: Path) -> None:
    expected = filled(tmp_path)
    _, works, fresh = expected
    (tmp_path / "gradwire.db-wal").unlink()
    assert looked_at(tmp_path, expected) == {works, fresh}


def test_without_its_file_a_session_is_damaged(tmp_path: Path) -> None:
    expected = filled(tmp_path)
    (file,) = (tmp_path / "arrays").iterdir()
    file.unlink()
    assert looked_at(tmp_path, expected) == {next(iter(expected))}


def flip(path: Path, draw: Random) -> str:
    """Turn one bit of a file; which one."""
    content = bytearray(path.read_bytes())
    place, bit = draw.randrange(len(content)), draw.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {place} of {path.name}"


@pytest.mark.slow
@pytest.mark.parametrize("checkpointed", [False, True], ids=["log", "database"])
def test_a_flipped_bit_is_noticed(tmp_path: Path, checkpointed: bool) -> None:
    """In the log as a kill leaves it, and in the database as an orderly end does."""
    draw = Random(8)
    expected = filled(tmp_path / "data")
    if checkpointed:
        with running(data=str(tmp_path / "data")):
            pass
    counts = {"exact": 0, "damaged": 0, "refused": 0}
    for number in range(FLIPS):
        data = tmp_path / str(number)
        shutil.copytree(tmp_path / "data", data)
        files = [p for p in sorted(data.rglob("*")) if p.is_file() and p.stat().st_size]
        files = [p for p in files if not p.name.endswith("-shm")]
        what = flip(draw.choice(files), draw)
        try:
            bad = looked_at(data, expected)
        except GradwireError as problem:
            if "restore a backup" not in problem.hint:
                raise
            counts["refused"] += 1
        except AssertionError as problem:
            raise AssertionError(what) from problem
        else:
            counts["damaged" if bad else "exact"] += 1
        shutil.rmtree(data)
    assert counts["exact"]
    assert counts["damaged"]
    assert counts["refused"] <= FLIPS // 10, "only the database's head is more than a session's"
