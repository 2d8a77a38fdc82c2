"""Sessions that outlive their server: what is kept, what is put aside, what is refused."""

from __future__ import annotations

import shutil
import sqlite3
import time
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from tests.nursery import run
from tests.service.crash.campaign import dump
from tests.service.crash.process import Process, served
from tests.service.snapshots import FILE

STEPS = [
    {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
    {"op": "randn", "args": [[3]], "out": "n"},
    {"op": "mul", "args": ["x", "n"], "out": "y"},
    {"op": "sum", "args": ["y"], "out": "z"},
    {"backward": {"tensors": ["z"], "retain_graph": True}},
]


def made(http: httpx.Client, **fields: object) -> str:
    """A new session's id."""
    reply = http.post("/v1/sessions", json=fields)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


def do(http: httpx.Client, session: str, *steps: object, **headers: str) -> httpx.Response:
    body = {"steps": list(steps), "return": []}
    return http.post(f"/v1/sessions/{session}/steps", json=body, headers=headers)


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where sessions are kept."""
    if request.param == "SQLite":
        return str(tmp_path / "data")
    return str(request.getfixturevalue("cluster").database())


def test_a_killed_server_comes_back_with_all_of_it(data: str) -> None:
    with served(data) as server:
        session = made(server.client, seed=1, label="kept")
        for _ in range(3):
            assert do(server.client, session, *STEPS).status_code == 200
        patch = {"label": "changed", "dtype": "float64"}
        assert server.client.patch(f"/v1/sessions/{session}", json=patch).status_code == 200
        large = [0.5] * 100_000
        assert server.client.put(
            f"/v1/sessions/{session}/tensors/big", json={"value": large}
        ).status_code == 200  # fmt: skip
        do(server.client, session, {"tensor": "d", "value": [1], "requires_grad": True})
        before = dump(server.client, session)
        server.kill()
    with served(data) as server:
        (listed,) = server.client.get("/v1/sessions").json()["items"]
        assert listed["label"] == "changed"
        assert listed["tensors"] == 6
        assert listed["parked"] is listed["durable"] is True
        assert dump(server.client, session) == before
        assert before[0]["d"]["dtype"] == "float64"
        assert server.client.delete(f"/v1/sessions/{session}").status_code == 204
        server.kill()
    with served(data) as server:
        assert server.client.get("/v1/sessions").json()["items"] == []


def test_a_keyed_request_is_answered_as_the_first_time(data: str) -> None:
    failing = [*STEPS, {"op": "matmul", "args": ["x", "nobody"], "out": "q"}]
    with served(data) as server:
        fresh = server.client.post("/v1/sessions", json={}, headers={"Idempotency-Key": "make"})
        session = fresh.json()["id"]
        first = do(server.client, session, *STEPS, **{"Idempotency-Key": "one"})
        wrong = do(server.client, session, *failing, **{"Idempotency-Key": "two"})
        assert (first.status_code, wrong.status_code) == (200, 404)
        do(server.client, session, {"tensor": "nobody", "value": [1, 1, 1]})
        before = dump(server.client, session)
        server.kill()
    with served(data) as server:
        again = server.client.post("/v1/sessions", json={}, headers={"Idempotency-Key": "make"})
        assert again.content == fresh.content
        for key, steps, told in (("one", STEPS, first), ("two", failing, wrong)):
            reply = do(server.client, session, *steps, **{"Idempotency-Key": key})
            assert reply.content == told.content
            assert reply.headers["idempotency-replayed"] == "true"
        other = do(server.client, session, {"seed": 1}, **{"Idempotency-Key": "one"})
        assert other.json()["code"] == "idempotency_conflict"
        assert dump(server.client, session) == before
        assert len(server.client.get("/v1/sessions").json()["items"]) == 1


def test_programs_stay_and_a_log_finds_deleted_ones(data: str) -> None:
    inner = {"inputs": ["x"], "source": "y = x * 2", "outputs": ["y"]}
    with served(data) as server:
        called = server.client.post("/v1/programs", json=inner).json()["id"]
        ops = [{"call": called, "args": ["x"], "out": "y"}]
        outer = {"inputs": ["x"], "ops": ops, "outputs": ["y"]}
        program = server.client.post("/v1/programs", json=outer).json()["id"]
        session = made(server.client)
        step = {"call": program, "args": ["x"], "out": "y"}
        assert do(server.client, session, STEPS[0], step).status_code == 200
        before = dump(server.client, session)
        for key in (program, called):
            assert server.client.delete(f"/v1/programs/{key}").status_code == 204
        kept = server.client.post("/v1/programs", json={**inner, "source": "y = x + 1"}).json()
        server.kill()
    with served(data) as server:
        assert [p["id"] for p in server.client.get("/v1/programs").json()["items"]] == [kept["id"]]
        assert dump(server.client, session) == before
        assert server.client.get(f"/v1/programs/{program}").status_code == 404
        assert do(server.client, session, step).json()["code"] == "program_not_found"


def test_what_is_not_durable_ends_with_the_server(data: str) -> None:
    with served(data) as server:
        made(server.client, durable=False)
        kept = made(server.client, durable=True)
        snapshot = server.client.get(f"/v1/sessions/{kept}/snapshot").content
        restored = server.client.post("/v1/sessions", content=snapshot, headers=FILE).json()
        fork = server.client.post(f"/v1/sessions/{kept}/fork").json()
        passing = server.client.post(f"/v1/sessions/{kept}/fork", json={"durable": False}).json()
        late = server.client.post(
            f"/v1/sessions/{passing['id']}/fork", json={"durable": True, "label": "late"}
        ).json()
        assert restored["durable"] is fork["durable"] is late["durable"] is True
        assert passing["durable"] is False
        server.kill()
    with served(data) as server:
        listed = {s["id"] for s in server.client.get("/v1/sessions").json()["items"]}
        assert listed == {kept, restored["id"], fork["id"], late["id"]}
        assert server.client.get(f"/v1/sessions/{late['id']}").json()["label"] == "late"


def test_idle_sessions_leave_memory_and_come_back(tmp_path: Path) -> None:
    with served(tmp_path, environment={"GRADWIRE_PARK_SECONDS": "1"}) as server:
        session = made(server.client)
        do(server.client, session, *STEPS, {"op": "ones", "args": [[1000, 1000]], "out": "big"})
        before = dump(server.client, session)
        used = _listed(server, session)["last_use"]
        _await(lambda: _listed(server, session)["parked"])
        found = _listed(server, session)
        assert found["tensors"] == 5
        assert _seconds(found["last_use"]) < _seconds(used) + 0.5, "to be put aside is no use"
        assert _held(server) < 100_000
        assert _metric(server, "gradwire_sessions_parked") == 1
        assert _metric(server, "gradwire_parkings_total") == 1
        assert dump(server.client, session) == before
        assert _held(server) > 4_000_000
        assert _metric(server, "gradwire_sessions_parked") == 0
        assert len(list((tmp_path / "arrays").iterdir())) == 1


def _listed(server: Process, session: str) -> dict:
    items = server.client.get("/v1/sessions").json()["items"]
    return next(item for item in items if item["id"] == session)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _held(server: Process) -> float:
    return _metric(server, "gradwire_bytes")


def _metric(server: Process, name: str) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[-1])


def _await(true: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


def test_deleted_and_expired_sessions_leave_the_disk(tmp_path: Path) -> None:
    with served(tmp_path, environment={"GRADWIRE_PARK_SECONDS": "0.2"}) as server:
        big = {"op": "ones", "args": [[1000, 1000]], "out": "big"}
        deleted, expired = made(server.client), made(server.client, ttl_seconds=2)
        for session in (deleted, expired):
            do(server.client, session, big)
        _await(lambda: len(list((tmp_path / "arrays").iterdir())) == 2)
        assert server.client.delete(f"/v1/sessions/{deleted}").status_code == 204
        _await(lambda: not list((tmp_path / "arrays").iterdir()))
        reply = server.client.get(f"/v1/sessions/{expired}")
        assert reply.json()["code"] == "session_expired"
        _await(lambda: _rows(tmp_path) == (0, 0))


def _rows(data: Path) -> tuple[int, int]:
    with sqlite3.connect(data / "gradwire.db") as database:
        counts = [
            database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("sessions", "log")
        ]
    return counts[0], counts[1]


def test_snapshots_bound_what_is_run_again(tmp_path: Path) -> None:
    with served(tmp_path, environment={"GRADWIRE_SNAPSHOT_CHANGES": "10"}) as server:
        session = made(server.client)
        for _ in range(35):
            assert do(server.client, session, *STEPS).status_code == 200
        _await(lambda: _rows(tmp_path)[1] <= 10)
        before = dump(server.client, session)
        server.kill()
    with served(tmp_path) as server:
        assert dump(server.client, session) == before


def test_a_server_asked_to_end_leaves_nothing_to_run_again(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        session = made(server.client)
        do(server.client, session, *STEPS)
        before = dump(server.client, session)
        assert server.stop() == 0
    assert _rows(tmp_path) == (1, 0)
    with served(tmp_path) as server:
        assert dump(server.client, session) == before


def test_a_backup_is_a_copy_of_the_folder(tmp_path: Path) -> None:
    kept, backup = tmp_path / "data", tmp_path / "backup"
    with served(kept) as server:
        session = made(server.client)
        do(server.client, session, *STEPS)
        before = dump(server.client, session)
    shutil.copytree(kept, backup)
    with served(kept) as server:
        do(server.client, session, {"free": ["x"]})
    shutil.rmtree(kept)
    shutil.copytree(backup, kept)
    with served(kept) as server:
        assert dump(server.client, session) == before
        assert do(server.client, session, *STEPS).status_code == 200


def test_data_of_a_newer_server_is_refused_untouched(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        made(server.client)
    with sqlite3.connect(tmp_path / "gradwire.db") as database:
        database.execute("UPDATE gradwire SET value = '99' WHERE name = 'format'")
    database.close()
    said = _refused(tmp_path)
    assert "format 99" in said
    assert "run the newer version" in said
    assert _rows(tmp_path) == (1, 0)


def test_two_servers_never_use_the_same_data(data: str) -> None:
    with served(data):
        assert "another server uses" in _refused(data)
    with served(data):
        pass


def test_data_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "gradwire.db").write_bytes(b"no database" * 1000)
    assert "can't be used" in _refused(tmp_path / "file")
    assert "restore a backup" in _refused(tmp_path)
    assert "can't be kept in nothing" in _refused("nothing://there")
    assert "secret" not in _refused("postgresql+psycopg://me:secret@127.0.0.1:1/x")


def _refused(data: object) -> str:
    done = run("tests.service.crash.impatient:main", "serve", "--port", 0, "--data", data)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())
