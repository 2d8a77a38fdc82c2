"""Sessions: the default one, explicit ones, where they live, and threads."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import gradwire as torch
from gradwire.session import Session


def _python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=True,
    )
    return done.stdout.strip()


def test_the_default_session_lives_where_the_environment_says(server_url: str) -> None:
    code = "import gradwire as t; x = t.ones(2); print(x.session.transport.url, x.sum().item())"
    assert _python(code, GRADWIRE_URL=server_url) == f"{server_url} 2.0"
    assert _python(code, GRADWIRE_URL="") == "embedded 2.0"


def test_importing_brings_nothing_heavy() -> None:
    heavy = "('scipy', 'pydantic', 'fastapi')"
    code = f"import sys, gradwire; print([m for m in {heavy} if m in sys.modules])"
    assert _python(code) == "[]"


def test_connect_changes_the_default(door: str | None) -> None:
    torch.connect(door)
    x = torch.ones(2)
    y = torch.ones(2)
    assert x.session is y.session
    assert ("http" in x.session.transport.url) == (door is not None)
    torch.connect(None)
    assert torch.ones(1).session is not x.session
    assert (x + y).tolist() == [2.0, 2.0], "the old one goes on"


def test_sessions_nest(door: str | None) -> None:
    client = torch.connect(door)
    with client.session(label="outer", seed=1) as outer:
        a = torch.ones(1)
        with client.session(seed=2) as inner:
            b = torch.ones(1)
        assert (a.session, b.session) == (outer, inner)
        assert torch.ones(1).session is outer
        assert outer.info()["label"] == "outer"


def test_a_forgotten_session_is_ended_on_the_host(young: None, door: str | None) -> None:
    client = torch.connect(door)
    found = client.session()
    with found:
        pass
    other = client.session()
    key = other.id
    del other
    gc.collect(0)
    with client.session() as last, pytest.raises(RuntimeError, match="closed"):
        last.transport.describe(key)


def test_seeds(door: str | None) -> None:
    client = torch.connect(door)
    drawn = []
    for _ in range(2):
        with client.session(seed=5):
            drawn.append(torch.rand(3).tolist())
    with client.session():
        torch.manual_seed(5)
        drawn.append(torch.rand(3).tolist())
        assert torch.rand(3).tolist() != drawn[0]
    assert drawn[0] == drawn[1] == drawn[2]


def test_the_graph_as_a_picture(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert session.graph("svg").startswith("<svg")
    assert "digraph" in session.graph("dot", y)
    assert session.graph("json")["nodes"]


def test_a_limit_of_the_session_is_kept(door: str | None) -> None:
    with (
        torch.connect(door).session(memory_limit_bytes=10_000),
        pytest.raises(MemoryError) as caught,
    ):
        torch.ones(100_000).sum().item()
    assert caught.value.code == "memory_limit"


def test_several_threads_use_one_session(session: Session) -> None:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def work(k: int) -> float:
        total = 0.0
        for i in range(10):
            y = (w * k + i).sum()
            with torch.no_grad():
                assert not (w * 2).requires_grad
            total += y.item()
        return total

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(8)))
    assert found == [sum(6.0 * k + 3 * i for i in range(10)) for k in range(8)]


def test_threads_have_grad_modes_of_their_own(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: (x * 2).requires_grad).result()
        assert not (x * 2).requires_grad


def test_gradients_from_several_threads_add_up(session: Session) -> None:
    w = torch.ones(3, requires_grad=True)

    def work(k: int) -> None:
        (w * k).sum().backward()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 9)))
    assert w.grad.tolist() == [36.0] * 3


def test_a_decorated_function_in_several_threads(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)

    @torch.no_grad()
    def silent(depth: int) -> bool:
        return (x * 2).requires_grad or (depth > 0 and silent(depth - 1))

    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(silent, [3] * 20))
    assert torch.is_grad_enabled()


def test_the_host_says_whether_it_has_cuda(door: str | None) -> None:
    client = torch.connect(door)
    offered = torch.cuda.device_count()
    assert torch.cuda.is_available() is (offered > 0)
    assert offered == ("cuda" in client.transport.info()["devices"])


def test_the_version_is_known() -> None:
    assert torch.__version__[0].isdigit()
