"""Changes run again: to the bit on the same machine, within rounding elsewhere; old programs."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.conftest import Running, running
from tests.service.crash.campaign import dump
from tests.service.crash.process import served
from tests.service.test_durable import STEPS, do, made

from gradwire_engine.tensor import Tensor
from gradwire_service.host.durable.digest import digest
from gradwire_service.host.durable.machine import facts, name_of
from gradwire_service.host.reply import Reply
from gradwire_service.host.sessions import shown
from gradwire_service.store import faults
from gradwire_service.store.rows import Record, check_of

ONE_KIND = {"OPENBLAS_NUM_THREADS": "1"}
ANOTHER = {
    "OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}  # fmt: skip
"""BLAS and NumPy as they are on an older processor."""
PRODUCTS = [
    {"op": "randn", "args": [[300, 300]], "out": "a"},
    {"op": "matmul", "args": ["a", "a"], "out": "b"},
    {"op": "sin", "args": ["b"], "out": "c"},
]


# other machines


def test_a_log_of_another_machine_is_run_again_and_put_into_a_snapshot(tmp_path: Path) -> None:
    with served(tmp_path, environment=ONE_KIND) as server:
        session = made(server.client, seed=4)
        body = {"steps": PRODUCTS, "return": ["c", "b"]}
        reply = server.client.post(f"/v1/sessions/{session}/steps", json=body)
        before = reply.json()["values"]
        server.kill()
    with served(tmp_path, environment=ANOTHER) as server:
        after = _values(server.client, session)
        assert after != before, "the other machine has to be another one"
        assert _close(after, before)
        _await(lambda: _count(tmp_path) == 0)
        assert do(server.client, session, *STEPS).status_code == 200
        server.kill()
    with served(tmp_path, environment=ONE_KIND) as server:
        assert _values(server.client, session) == after, "from the snapshot on it stays"


def _values(http: Any, session: str) -> Any:
    reply = http.post(f"/v1/sessions/{session}/steps", json={"steps": [], "return": ["c", "b"]})
    assert reply.status_code == 200, reply.text
    return reply.json()["values"]


def _close(one: Any, other: Any) -> bool:
    found = [np.array(v[name]["data"]) for v in (one, other) for name in ("b", "c")]
    return bool(np.allclose(found[0], found[2], 1e-4, 1e-4))


def _await(true: Any) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def _count(data: Path) -> int:
    with sqlite3.connect(data / "gradwire.db") as database:
        return int(database.execute("SELECT count(*) FROM log").fetchone()[0])


def _edit(data: Path, **changes: Any) -> None:
    """Have the last change of the log say something else, with a checksum that fits."""
    columns = Record._fields
    with sqlite3.connect(data / "gradwire.db") as database:
        asked = f"SELECT {', '.join(columns)} FROM log ORDER BY number DESC LIMIT 1"
        record = Record(*database.execute(asked).fetchone())
        about = json.loads(record.about) | changes
        record = record._replace(about=json.dumps(about))
        database.execute(
            'UPDATE log SET about = ?, "check" = ? WHERE session = ? AND number = ?',
            (record.about, check_of(record), record.session, record.number),
        )
    database.close()


def _off(by: float) -> dict[str, Any]:
    """What is noted of a reply [1, 2, 3], in float32, off by so much."""
    return {"exact": 0, "rounded": {"float32": [0.0003452669770922512, 6.0 + by, 6.0 + by, 0]}}


@pytest.mark.parametrize(
    ("changes", "whole"),
    [
        ({}, True),
        ({"digest": 1}, False),
        ({"digest": 1, "on": "elsewhere", "near": _off(1e-4)}, True),
        ({"digest": 1, "on": "elsewhere", "near": _off(1e-2)}, False),
        ({"digest": 1, "on": "elsewhere", "near": None}, False),
        ({"on": "elsewhere", "near": None}, True),
    ],
    ids=["same", "same machine", "rounded", "far off", "not noted", "same bits"],
)
def test_what_differs_more_than_rounding_is_damage(
    tmp_path: Path, changes: dict[str, Any], whole: bool
) -> None:
    with served(tmp_path, environment=ONE_KIND) as server:
        session = made(server.client)
        body = {"steps": [STEPS[0]], "return": ["x"]}
        assert server.client.post(f"/v1/sessions/{session}/steps", json=body).status_code == 200
        server.kill()
    _edit(tmp_path, **changes)
    with served(tmp_path, environment=ONE_KIND) as server:
        reply = server.client.get(f"/v1/sessions/{session}/tensors")
        assert (reply.status_code == 200) is whole, reply.text
        if not whole:
            assert reply.json()["code"] == "session_damaged"
            assert "openblas for" in reply.json()["detail"]


def _reply(*arrays: np.ndarray) -> list[Reply]:
    return [shown("x", Tensor.of(array)) for array in arrays]


def test_a_digest_knows_rounding_from_difference() -> None:
    draw = np.random.default_rng(0)
    floats, whole = draw.standard_normal(1000).astype("float32"), np.arange(5)
    base = digest(_reply(floats, whole))
    rounded = digest(_reply(floats * np.float32(1 + 1e-6), whole))
    assert rounded.bits != base.bits
    assert rounded.agrees(base.near)
    assert digest(_reply(floats, whole)) == base
    for other in (
        _reply(floats * np.float32(1.01), whole),
        _reply(floats, whole + 1),
        _reply(floats.astype("float64"), whole),
        _reply(np.where(floats > 2, np.float32("inf"), floats), whole),
        _reply(whole),
    ):
        assert not digest(other).agrees(base.near)
    odd = np.array([np.inf, np.nan, 1e308, 1e308, -1e308, 3.0])
    noted = json.loads(json.dumps(digest(_reply(odd)).near, allow_nan=False))
    assert digest(_reply(odd)).agrees(noted)
    assert digest(_reply(np.array(1 + 2j))).agrees(digest(_reply(np.array(1 + 2j))).near)


def test_facts_have_a_name_that_stays() -> None:
    assert name_of(facts()) == name_of(json.loads(json.dumps(facts())))
    assert name_of(facts()) != name_of(facts() | {"numpy": "0"})


# programs that are gone


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(data=str(tmp_path / "data")) as found:
        yield found
    faults.install(lambda _: None)


def tidied(server: Running) -> None:
    keeper = server.service.keeper
    assert keeper is not None
    assert keeper._loop is not None
    asyncio.run_coroutine_threadsafe(keeper.tidy(), keeper._loop).result(30)


def programs(server: Running, *sources: str) -> list[str]:
    """Stored programs, of which each calls the one before."""
    found: list[str] = []
    for source in sources:
        body: dict[str, Any] = {"inputs": ["x"], "source": source, "outputs": ["y"]}
        if found:
            ops = [{"call": found[-1], "args": ["x"], "out": "y"}]
            body = {"inputs": ["x"], "ops": ops, "outputs": ["y"]}
        found.append(server.client.post("/v1/programs", json=body).json()["id"])
    return found


def kept(data: Path) -> set[str]:
    with sqlite3.connect(data / "gradwire.db") as database:
        return {key for (key,) in database.execute("SELECT id FROM programs")}


def copied(tmp_path: Path) -> Path:
    """What a kill would leave now."""
    shutil.copytree(tmp_path / "data", tmp_path / "copy", dirs_exist_ok=True)
    return tmp_path / "copy"


def test_a_deleted_program_that_a_deleted_one_calls_stays(server: Running, tmp_path: Path) -> None:
    inner, outer = programs(server, "y = x * 2", "")
    session = made(server.client)
    server.client.delete(f"/v1/programs/{inner}")
    time.sleep(0.01)
    step = {"call": outer, "args": ["x"], "out": "y"}
    assert do(server.client, session, STEPS[0], step).status_code == 200
    server.client.delete(f"/v1/programs/{outer}")
    before = dump(server.client, session)
    tidied(server)
    assert kept(tmp_path / "data") == {inner, outer}
    with running(data=str(copied(tmp_path))) as later:
        assert dump(later.client, session) == before
    server.client.delete(f"/v1/sessions/{session}")
    tidied(server)
    made(server.client)  # what is tidied is written before this
    assert kept(tmp_path / "data") == set()


def test_a_program_deleted_under_a_change_stays_until_the_log_is_gone(
    server: Running, tmp_path: Path
) -> None:
    (program,) = programs(server, "y = x * 2")
    session = made(server.client)
    do(server.client, session, STEPS[0])
    under_way = threading.Event()

    def slow(point: str) -> None:
        if point == "file":  # the change has run; its body is being written
            under_way.set()
            time.sleep(1)

    faults.install(slow)
    large = {"tensor": "w", "value": [0.123456789] * 30_000}
    step = {"call": program, "args": ["x"], "out": "y"}
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(do(server.client, session, step, large)))
    thread.start()
    assert under_way.wait(20)
    with server.other() as http:
        assert http.delete(f"/v1/programs/{program}").status_code == 204
    tidied(server)
    thread.join()
    assert found[0].status_code == 200
    tidied(server)
    assert kept(tmp_path / "data") == {program}
    before = dump(server.client, session)
    with running(data=str(copied(tmp_path))) as later:
        assert dump(later.client, session) == before


def test_a_table_that_cannot_be_read_ends_no_round(server: Running, tmp_path: Path) -> None:
    (program,) = programs(server, "y = x * 2")
    with sqlite3.connect(tmp_path / "data" / "gradwire.db") as database:
        database.execute("ALTER TABLE programs RENAME TO elsewhere")
    database.close()
    complaints: list[str] = []
    keeper = server.service.keeper
    assert keeper is not None
    keeper._around = keeper._around._replace(complain=lambda p: complaints.append(p.detail))
    tidied(server)
    assert any("programs" in text for text in complaints)
    with sqlite3.connect(tmp_path / "data" / "gradwire.db") as database:
        database.execute("ALTER TABLE elsewhere RENAME TO programs")
    database.close()
    server.client.delete(f"/v1/programs/{program}")
    tidied(server)
    made(server.client)
    assert kept(tmp_path / "data") == set()
