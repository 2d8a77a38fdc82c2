"""Long ops and the time that is left: refused, or cut off, and nobody else waits meanwhile."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import isfinite

import httpx
import numpy as np
import pytest
from tests.service.children import alive, children
from tests.service.conftest import Client, Running, until
from tests.service.crash.process import Process, served

from gradwire_engine.long_calls import FACTORISATIONS, Work
from gradwire_service.host.limits import Limits
from gradwire_service.host.long_calls.machine import MACHINE, Machine

SECONDS = 1.0
"""The time limit of servers here."""

TRIES = 5
HEALTHY = 0.1
"""Seconds within which a server says that it is well, while a long op runs, unless the machine has
other work as well."""

FORECAST = re.compile(r"\(([\d.e+]+) GFLOP on ([\d.e+-]+) MB\)")
Serve = Callable[..., Running]


RATES = Machine()
"""This machine by its rates alone: it is taught nothing."""


def work_of(name: str, rows: int, dtype: str = "float64") -> Work:
    """The work of an op on square matrices, as it is foreseen."""
    nbytes = 3 * rows * rows * np.dtype(dtype).itemsize
    if name == "matmul":
        slow = 20.0 if dtype == "int64" else 1.0
        return Work(name, dtype, (rows, rows), 2 * rows**3, nbytes, slow)
    cost = FACTORISATIONS[name]
    return Work(name, dtype, (rows, rows), int(cost.flops * rows**3), nbytes, cost.slow)


def rows_for(name: str, seconds: float, dtype: str = "float64", machine: Machine = RATES) -> int:
    """Return how many rows take so long here, about, if it is what the rates say."""
    rows = 1300
    while machine.seconds(work_of(name, rows, dtype)) < seconds:
        rows = rows * 5 // 4
    return rows


@pytest.fixture
def server(serve: Serve) -> Running:
    return serve(Limits(seconds=SECONDS))


def matrix(session: Client, rows: int, out: str = "a", dtype: str = "float64") -> None:
    """Make a matrix of random numbers."""
    session.steps({"op": "randn", "args": [[rows, rows]], "kwargs": {"dtype": dtype}, "out": out})


def eig(operand: str = "a") -> dict[str, object]:
    return {"op": "linalg.eig", "args": [operand], "out": ["values", "vectors"]}


def refused(session: Client, *steps: object) -> dict[str, str]:
    """Run steps that the time limit ends; the problem."""
    problem = session.refused(*steps)
    assert problem["status"] == 504, problem
    assert problem["code"] == "deadline_exceeded"
    assert "more time" in problem["hint"]
    return problem


@contextmanager
def unchanged(session: Client) -> Iterator[None]:
    """What is in the session before the block is in it after, and nothing else; it works on."""
    session.steps({"op": "arange", "args": [4.0], "out": "kept"})
    before = session.get("/tensors").json()
    yield
    assert session.get("/tensors").json() == before
    assert session.data("kept") == [0.0, 1.0, 2.0, 3.0]
    session.steps({"op": "mul_", "args": ["kept", 2], "grad_mode": "no_grad"})
    assert session.data("kept") == [0.0, 2.0, 4.0, 6.0]


DOUBLE = {"op": "mul_", "args": ["kept", 2], "grad_mode": "no_grad"}


@pytest.mark.parametrize("op", ["linalg.svd", "linalg.det", "linalg.inv", "matmul"])
def test_what_takes_far_too_long_is_not_begun(server: Running, op: str) -> None:
    session = server.session()
    session.steps({"op": "zeros", "args": [[1, 1]], "out": "one"})
    with unchanged(session):
        huge = {"op": "expand", "args": ["one", [30_000, 30_000]], "out": "a"}
        count = 3 if op == "linalg.svd" else 1
        out = [f"r{i}" for i in range(count)] if count > 1 else "r"
        args = ["a", "a"] if op == "matmul" else ["a"]
        problem = refused(session, DOUBLE, huge, {"op": op, "args": args, "out": out})
    assert "it was not begun" in problem["detail"]
    assert problem["op"] == op
    (told,) = FORECAST.findall(problem["detail"])
    assert float(told[0]) == pytest.approx(2 * 30_000**3 / 1e9, rel=0.01)
    assert 0 < float(told[1]) < 1e5
    seconds = float(re.findall(r"about ([\d.e+]+) s here", problem["detail"])[0])
    left = float(re.findall(r"and ([\d.e+]+) s are left", problem["detail"])[0])
    assert isfinite(seconds)
    assert left <= SECONDS
    assert seconds > left


def test_what_was_seen_to_take_too_long_is_not_begun(server: Running) -> None:
    MACHINE.learn(work_of("eigh", 700), 20.0, more=True)
    session = server.session()
    matrix(session, 700)
    with unchanged(session):
        problem = refused(session, DOUBLE, {"op": "linalg.eigh", "args": ["a"], "out": ["l", "v"]})
    assert "eigh of float64 [700, 700]" in problem["detail"]
    assert "about 20 s here" in problem["detail"]
    assert "it was not begun" in problem["detail"]


def test_the_callers_own_limit_counts(serve: Serve) -> None:
    MACHINE.learn(work_of("qr", 800), 20.0, more=True)
    session = serve(Limits(seconds=60)).session()
    matrix(session, 800)
    step = {"op": "linalg.qr", "args": ["a"], "out": ["q", "r"]}
    reply = session.post("/steps", {"steps": [step]}, headers={"Gradwire-Timeout": "3"})
    assert reply.status_code == 504, reply.text
    assert "it was not begun" in reply.json()["detail"]
    session.steps(step)


def wrongly(name: str, rows: int, dtype: str = "float64", seconds: float = 0.2) -> None:
    """Have what takes far longer be foreseen to take so long."""
    work = work_of(name, rows, dtype)
    MACHINE.learn(work, seconds)
    MACHINE.learn(work, seconds, more=True)


@pytest.fixture(scope="module")
def long_rows() -> int:
    """Rows of a matrix whose eigenvalues take ten times as long as the limit, or still more."""
    return rows_for("eig", 10 * SECONDS)


def test_what_was_foreseen_wrongly_is_cut_off(server: Running, long_rows: int) -> None:
    with_a_process(server)
    session = server.session()
    matrix(session, long_rows)
    with unchanged(session):
        wrongly("eig", long_rows)
        problem = refused(session, DOUBLE, eig())
    assert "was cut off after" in problem["detail"], problem
    assert "about 0.2 s had been forecast" in problem["detail"]
    assert children() == []
    assert MACHINE.seconds(work_of("eig", long_rows)) > 0.2


def cholesky_of_eye(session: Client, rows: int) -> object:
    """The trace of a factor that a process works out."""
    wrongly("cholesky", rows)
    session.steps({"op": "eye", "args": [rows], "kwargs": {"dtype": "float64"}, "out": "e"})
    session.steps(
        {"op": "linalg.cholesky", "args": ["e"], "out": "c"},
        {"op": "sum", "args": ["c"], "out": "s"},
    )
    return session.data("s")


def with_a_process(server: Running) -> None:
    """Have a process do something: to start one may take longer than the limit."""
    session = server.session()
    trace: object = None
    for _ in range(60):
        with suppress(AssertionError):
            trace = cholesky_of_eye(session, 1100)
            break
    assert trace == 1100.0
    assert len(children()) == 1


def test_a_process_is_made_again_after_one_was_ended(server: Running, long_rows: int) -> None:
    with_a_process(server)
    session = server.session()
    matrix(session, long_rows)
    (before,) = children()
    wrongly("eig", long_rows)
    refused(session, eig())
    until(lambda: not alive(before))
    with_a_process(server)
    (kept,) = children()
    with_a_process(server)
    assert children() == [kept]


def test_what_a_process_finds_wrong_is_told_as_ever(serve: Serve) -> None:
    session = serve(Limits(seconds=60)).session()
    rows = 1100
    session.steps(
        {"op": "zeros", "args": [[rows, rows]], "kwargs": {"dtype": "float64"}, "out": "z"}
    )
    session.steps(
        {"op": "full", "args": [[rows, rows], "NaN"], "kwargs": {"dtype": "float64"}, "out": "nan"}
    )
    for op, operand, out in (
        ("linalg.inv", "z", "i"), ("linalg.cholesky", "z", "c"), ("linalg.eig", "nan", ["l", "v"]),
    ):  # fmt: skip
        wrongly(op.removeprefix("linalg."), rows)
        with unchanged(session):
            problem = session.refused(DOUBLE, {"op": op, "args": [operand], "out": out})
        assert problem["code"] == "numerical_error", problem
        assert problem["op"] == op
    assert len(children()) == 1


def test_a_product_is_ended_between_its_parts(server: Running) -> None:
    """Of whole numbers, for which there is no BLAS."""
    rows = rows_for("matmul", 10 * SECONDS, "int64")
    wrongly("matmul", rows, "int64")
    session = server.session()
    session.steps({"op": "ones", "args": [[rows, rows]], "kwargs": {"dtype": "int64"}, "out": "a"})
    with unchanged(session):
        problem = refused(session, DOUBLE, {"op": "matmul", "args": ["a", "a"], "out": "b"})
    assert f"matmul of int64 [{rows}, {rows}]" in problem["detail"]
    assert "was cut off after" in problem["detail"]
    assert "about 0.2 s had been forecast" in problem["detail"]
    assert problem["op"] == "matmul"
    assert MACHINE.seconds(work_of("matmul", rows, "int64")) > 0.2


class Health:
    """Asks again and again whether a server is well, by a connection of its own.

    took: seconds from one answer to the next, a pause of 0.01 s among them. The server is in here:
    where Python's lock is kept, the pause takes longer too.
    """

    def __init__(self, server: Running) -> None:
        self._client = server.other()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.took: list[float] = []

    def _ask(self) -> None:
        before = time.perf_counter()
        while not self._over.wait(0.01):
            assert self._client.get("/health/ready").status_code == 200
            now = time.perf_counter()
            self.took.append(now - before)
            before = now

    def __enter__(self) -> Health:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize(
    ("op", "dtype", "count"),
    [("linalg.eig", "float64", 2), ("linalg.svd", "float32", 3), ("matmul", "float32", 1)],
)
def test_nobody_else_waits_for_a_long_op(serve: Serve, op: str, dtype: str, count: int) -> None:
    """Where a call keeps Python's lock, health waits as long as it runs, in each of the tries.

    Else it may wait now and then, where the machine has other work, but not half of the time.
    """
    server = serve(Limits(seconds=SECONDS))
    session, other = server.session(), server.session()
    name = op.removeprefix("linalg.")
    product = op == "matmul"
    rows = rows_for(name, SECONDS, dtype, MACHINE) if product else rows_for(name, 2, dtype)
    matrix(session, rows, dtype=dtype)
    other.steps({"op": "zeros", "args": [[]], "out": "n"})
    step = {"op": op, "args": ["a"] * (1 + product), "out": ["x", "y", "z"][:count]}
    waited: list[float] = []
    done = 0.0
    for _ in range(TRIES):
        if not product:
            wrongly(name, rows, dtype)
        thread = threading.Thread(target=session.post, args=("/steps", {"steps": [step]}))
        with Health(server) as health:
            began = time.perf_counter()
            thread.start()
            while thread.is_alive():
                other.steps({"op": "add_", "args": ["n", 1]})
                done += 1
            thread.join()
            lasted = time.perf_counter() - began
        waited.append(sum(took for took in health.took if took > HEALTHY) / lasted)
        if health.took and waited[-1] < 0.5:
            break
    assert health.took
    assert waited[-1] < 0.5, waited
    assert done > 1
    assert other.data("n") == done


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_a_server_ends(tmp_path: object, how: signal.Signals) -> None:
    quick = {"GRADWIRE_SHUTDOWN_SECONDS": "1"}
    with served(tmp_path, "--seconds", "120", environment=quick) as process:
        path, rows = begun(process)
        (child,) = children(process.pid)
        reply: list[object] = []
        thread = threading.Thread(target=lambda: reply.append(long_request(process, path, rows)))
        thread.start()
        time.sleep(0.5)  # most of this is in the middle of the call; the end is the same before it
        process.process.send_signal(how)
        process.process.wait(60)
        thread.join(60)
        until(lambda: not alive(child))
        assert children(process.pid) == []


def begun(process: Process) -> tuple[str, int]:
    """Make matrices, larger and larger, until one is large enough for a process of its own."""
    key = process.client.post("/v1/sessions", json={}).json()["id"]
    path, rows = f"/v1/sessions/{key}/steps", 300
    while not children(process.pid):
        rows = rows * 3 // 2
        assert rows < 20_000
        make = {"op": "randn", "args": [[rows, rows]], "out": "a"}
        reply = process.client.post(
            path, json={"steps": [make, {"op": "linalg.inv", "args": ["a"], "out": "b"}]}
        )
        assert reply.status_code == 200, reply.text
    return path, 3000


def long_request(process: Process, path: str, rows: int) -> int:
    """Ask for what takes about a minute; the status, 0 where there is no answer."""
    make = {"op": "randn", "args": [[rows, rows]], "out": "a"}
    try:
        return process.client.post(path, json={"steps": [make, eig()]}).status_code
    except httpx.TransportError:
        return 0
