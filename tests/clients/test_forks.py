"""What a forked child has: copies of what is embedded, and nothing of its parent's on a server."""

from __future__ import annotations

import json
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradwire as torch
from gradwire.session import Session
from gradwire_engine.errors import GradwireError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
_SECONDS = 30


@pytest.fixture(params=["embedded", "http", "stream"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(kind: str, request: pytest.FixtureRequest) -> Iterator[torch.Client]:
    """A client of each door."""
    if kind == "embedded":
        yield torch.connect()
    else:
        yield torch.connect(request.getfixturevalue("server_url"), transport=kind)
    torch.connect()


@pytest.fixture
def session(client: torch.Client) -> Iterator[Session]:
    with client.session() as found:
        yield found


def in_child(work: Callable[[], Any]) -> Any:
    """What a function gives in a forked child; its error as text."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            told = json.dumps([work(), None])
        except BaseException:
            told = json.dumps([None, traceback.format_exc()])
        os.write(write, told.encode())
        os._exit(0)
    os.close(write)
    try:
        ready, _, _ = select.select([read], [], [], _SECONDS)
        if not ready:
            os.kill(child, signal.SIGKILL)
        found, problem = json.loads(os.read(read, 2**20) or b'[null, "the child hangs"]')
    finally:
        os.close(read)
        os.waitpid(child, 0)
    assert problem is None, problem
    return found


def refusal(work: Callable[[], Any]) -> list[str]:
    """The code and text of what a function is refused with."""
    try:
        work()
    except GradwireError as problem:
        return [problem.code, str(problem)]
    return ["", "it was not refused"]


def uses(x: torch.Tensor, session: Session) -> dict[str, Callable[[], Any]]:
    """Uses of a tensor, each of which must be refused in a child."""
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return {
        "op": lambda: x + 1,
        "operand": lambda: torch.stack([x, x]),
        "read": x.tolist,
        "numpy": lambda: x.detach().numpy(),
        "print": lambda: repr(x),
        "in place": lambda: x.detach().add_(1),
        "backward": lambda: (x * x).sum().backward(),
        "grad": lambda: torch.autograd.grad(x.sum(), x),
        "flag": lambda: x.requires_grad_(False),
        "gradient": lambda: setattr(x, "grad", None),
        "module": lambda: model(torch.ones(3)),
        "parameter": lambda: torch.nn.Parameter(x.detach()),
        "optimizer": optimizer.step,
        "state": optimizer.state_dict,
        "session": session.info,
        "graph": lambda: session.graph("json"),
        "snapshot": session.snapshot,
        "its block": lambda: session.__enter__() and torch.ones(2),
    }


@pytest.mark.parametrize("kind", ["http", "stream"], indirect=True)
def test_a_child_is_refused_what_lives_on_a_server(session: Session) -> None:
    x = torch.ones(3, requires_grad=True)
    x.tolist()
    every = uses(x, session)
    before = session.info()
    for name, use in every.items():
        code, text = in_child(lambda use=use: refusal(use))
        assert code == "forked_process", f"{name}: {text}"
        assert session.id in text
        assert str(os.getpid()) in text
        assert "gradwire.connect" in text
    code, text = in_child(lambda: refusal(lambda: x + 1))
    assert f"tensor {x._name!r}" in text
    assert session.info()["tensors"] == before["tensors"]
    assert (x + 1).tolist() == [2.0, 2.0, 2.0]


def test_both_go_on(session: Session, client: torch.Client) -> None:
    """Each makes tensors and sessions of its own."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()

    def child() -> Any:
        own = torch.tensor([3.0], requires_grad=True)
        (own**2).sum().backward()
        with client.session() as other:
            there = (torch.ones(4) * 2).sum().item()
        return [own.grad.tolist(), there, own.session.id, other.id]

    for _ in range(2):
        gradient, there, own, other = in_child(child)
        assert (gradient, there) == ([6.0], 8.0)
        assert other != session.id
        if client.transport.url != "embedded":
            assert own != session.id
        (x * x).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    assert session.info()["id"] == session.id


def test_embedded_tensors_are_copies() -> None:
    with torch.connect().session() as session:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()

        def child() -> Any:
            y.backward()
            with torch.no_grad():
                x.mul_(10)
            return [x.tolist(), x.grad.tolist(), session.info()["tensors"]]

        assert in_child(child)[:2] == [[10.0, 20.0], [2.0, 4.0]]
        assert (x.tolist(), x.grad) == ([1.0, 2.0], None)
        y.backward()
        assert x.grad.tolist() == [2.0, 4.0]


def test_a_thread_at_work_locks_no_child() -> None:
    """A child has one thread: what another held as it was forked is free there."""
    with torch.connect().session():
        x = torch.ones(64, 64, requires_grad=True)
        ends = threading.Event()

        def train() -> None:
            with x.session.here():
                while not ends.is_set():
                    (x @ x).sum().backward()
                    torch.func.grad(lambda v: (v * v).sum())(x.detach()).tolist()

        other = threading.Thread(target=train)
        other.start()
        try:
            for _ in range(20):
                assert in_child(lambda: (x * 2).sum().item()) == 2.0 * 64 * 64
                assert in_child(lambda: (torch.ones(600, 600) @ torch.ones(600, 600)).sum().item())
        finally:
            ends.set()
            other.join()


def squared(number: float) -> list[float]:
    """What a worker of a pool does: it makes a session of its own."""
    x = torch.tensor([float(number)], requires_grad=True)
    (x**2).sum().backward()
    return x.grad.tolist()


_shared: list[torch.Tensor] = []


def of_parent(_: int) -> str:
    """What a worker is told that uses what it inherited."""
    return refusal(lambda: _shared[0] * 2)[0]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools(session: Session, client: torch.Client, method: str, kind: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.tolist()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(squared, range(5)) == [[2.0 * n] for n in range(5)]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_pool_uses_nothing_of_its_parents(session: Session, kind: str) -> None:
    _shared[:] = [torch.ones(2)]
    _shared[0].tolist()
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map(of_parent, range(3))
    finally:
        _shared.clear()
    assert set(found) == ({""} if kind == "embedded" else {"forked_process"})


_ENDS = textwrap.dedent("""
    import os, sys
    import gradwire as torch

    client = torch.connect(sys.argv[1], transport=sys.argv[2])
    session = client.session()
    with session:
        x = torch.ones(3)
        x.tolist()
        if not os.fork():
            sys.exit(0)  # by way of the block's end, and of all that runs at an interpreter's
        _, status = os.wait()
        assert status == 0, status
        print((x + 1).tolist(), session.info()["tensors"])
""")


@pytest.mark.parametrize("transport", ["http", "stream"])
def test_a_child_that_ends_ends_nothing_of_its_parents(server_url: str, transport: str) -> None:
    command = [sys.executable, "-W", "error", "-c", _ENDS, server_url, transport]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("[2.0, 2.0, 2.0] 1\n", "")


def test_a_child_of_a_child(session: Session, kind: str) -> None:
    x = torch.ones(2)
    x.tolist()

    def child() -> Any:
        own = torch.ones(2)
        own.tolist()
        return in_child(
            lambda: [refusal(lambda: own + 1)[0], refusal(lambda: x + 1)[0], squared(2)]
        )

    expected = ["", "", [4.0]] if kind == "embedded" else ["forked_process"] * 2 + [[4.0]]
    assert in_child(child) == expected
