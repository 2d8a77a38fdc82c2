"""One server at a time, whatever names the data."""

from __future__ import annotations

import sqlite3
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from tests.nursery import COMMAND, run
from tests.service.crash.campaign import dump
from tests.service.crash.postgres import Postgres
from tests.service.crash.process import Process, served
from tests.service.test_durable import STEPS, do, made

from gradwire_service.store import opening


def refused(data: object) -> str:
    """What a server says that doesn't start."""
    done = run(COMMAND, "serve", "--port", 0, "--data", data)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_a_file_of_sqlite_by_its_url_keeps_sessions(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/some.db"
    with served(url) as server:
        session = made(server.client, seed=1)
        big = {"op": "randn", "args": [[300, 300]], "out": "big"}
        large = {"tensor": "w", "value": [0.123456789] * 30_000}
        assert do(server.client, session, *STEPS, big, large).status_code == 200
        before = dump(server.client, session)
        server.kill()
    with served(url) as server:
        assert dump(server.client, session) == before
        assert server.stop() == 0
    with served(url) as server:
        assert dump(server.client, session) == before


def test_a_file_has_one_server_by_whatever_name(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/some.db"
    (tmp_path / "link.db").symlink_to(tmp_path / "some.db")
    with served(url):
        assert "another server uses" in refused(url)
        assert "another server uses" in refused(f"sqlite:///{tmp_path}/link.db")
        with served(f"sqlite:///{tmp_path}/other.db"):
            pass


def test_urls_that_keep_nothing_or_half_are_refused(tmp_path: Path) -> None:
    with served(tmp_path):
        pass
    assert f"pass --data {tmp_path}" in refused(f"sqlite:///{tmp_path}/gradwire.db")
    for url in ("sqlite://", "sqlite:///:memory:", f"sqlite:///file:{tmp_path}/x.db?uri=true"):
        assert "names no file" in refused(url)


@pytest.mark.parametrize("url", ["mysql://me:secret@here/x", "mssql://here/x", "nothing://here/x"])
def test_other_databases_are_refused_with_or_without_their_drivers(url: str) -> None:
    said = refused(url)
    assert f"sessions can't be kept in {url.partition(':')[0]}" in said
    assert "postgresql+psycopg://" in said
    assert "secret" not in said


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}/some.db"], ids=["folder", "file"])
def test_only_the_owner_reads_what_is_kept_in_a_folder_that_others_may_enter(
    tmp_path: Path, form: str
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    with served(form.format(folder)) as server:
        do(server.client, made(server.client), *STEPS)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert any(name.endswith("-wal") for name in modes)
        assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


def test_a_server_that_was_overtaken_writes_no_more(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        session = made(server.client)
        do(server.client, session, *STEPS)
        before = dump(server.client, session)
        _overtake(tmp_path / "gradwire.db")
        for _ in range(2):
            reply = do(server.client, session, *STEPS)
            assert reply.json()["code"] == "storage_unavailable"
            assert dump(server.client, session) == before
    with served(tmp_path) as server:
        assert dump(server.client, session) == before
        assert do(server.client, session, *STEPS).status_code == 200


def _overtake(database: Path) -> None:
    """As another server's first transaction would."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE gradwire SET value = 'other-1' WHERE name = 'transaction'")
    connection.close()


def test_a_lock_that_postgresql_lost_lets_nobody_write_beside(cluster: Postgres) -> None:
    """Its restart frees the lock of a server that goes on; the next one takes the data over."""
    data = cluster.database()
    with served(data) as old:
        session = made(old.client)
        cluster.stop()
        cluster.start()
        with served(data) as new:
            assert do(old.client, session, *STEPS).json()["code"] == "storage_unavailable"
            assert do(new.client, session, *STEPS).status_code == 200
            before = dump(new.client, session)
        old.kill()
    with served(data) as last:
        assert dump(last.client, session) == before


TAKE = f"SELECT pg_try_advisory_lock({opening.LOCK})"
FREE = f"SELECT pg_advisory_unlock({opening.LOCK})"
OTHERS = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def test_a_start_waits_for_the_lock_of_a_server_that_postgresql_still_thinks_alive(
    cluster: Postgres,
) -> None:
    data = cluster.database()
    engine = create_engine(data, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection, ThreadPoolExecutor(1) as pool:
        assert connection.execute(text(TAKE)).scalar()
        started = pool.submit(Process, data)
        while not connection.execute(text(OTHERS)).scalar():
            assert not started.done(), started.exception()
            time.sleep(0.01)
        time.sleep(0.3)  # it is connected: now it asks, and is refused
        assert not started.done(), started.exception()
        assert connection.execute(text(FREE)).scalar()
        server = started.result()
    engine.dispose()
    try:
        assert do(server.client, made(server.client), *STEPS).status_code == 200
    finally:
        server.stop()


def test_a_start_on_postgresql_says_who_has_the_lock_once_it_has_waited(cluster: Postgres) -> None:
    data = cluster.database()
    with served(data):
        begun = time.monotonic()
        assert "another server uses postgresql+psycopg://" in refused(data)
        assert time.monotonic() - begun >= opening.LOCK_PATIENCE
