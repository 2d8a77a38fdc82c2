"""Embedded work, in the session made on first use and in one of its own: what a user counts on.

What is asked here holds whichever way ops take inside the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from weakref import ref

import numpy as np
import pytest

import gradwire as torch
from gradwire.current import session as in_force
from gradwire_engine.errors import GradwireError

Session = Any


@pytest.fixture(params=["made on first use", "one's own"])
def embedded(request: pytest.FixtureRequest) -> Iterator[Session]:
    """An embedded session, in force for the test."""
    client = torch.connect()
    if request.param == "made on first use":
        yield in_force()
    else:
        with client.session() as found:
            yield found
    torch.connect()
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def own() -> Iterator[Session]:
    """A session of the test's own."""
    with torch.connect().session() as found:
        yield found


# limits, and what a session tells of itself


@pytest.mark.parametrize(
    "work",
    [
        lambda: torch.ones(100_000),
        lambda: torch.ones(1000).repeat(100),
        lambda: torch.ones(300, 1) * torch.ones(300),
        lambda: torch.from_numpy(np.ones(100_000, np.float32)) + 1,
        lambda: torch.ones(1000).expand(100, 1000).contiguous(),
        lambda: torch.randn(100_000),
        lambda: torch.nn.Linear(300, 300).weight,
    ],
    ids=["creation", "repeat", "broadcast", "an array", "a copy", "random", "a layer"],
)
def test_what_a_session_has_no_room_for_is_refused(work: Any) -> None:
    with torch.connect().session(memory_limit_bytes=100_000):
        kept = torch.arange(10.0)
        with pytest.raises(MemoryError) as caught:
            work().sum().item()
        assert caught.value.code == "memory_limit"
        assert (kept * 2).tolist() == [2.0 * i for i in range(10)]


def test_what_was_let_go_makes_room() -> None:
    with torch.connect().session(memory_limit_bytes=1_000_000):
        for _ in range(20):
            x = torch.ones(100_000)
            assert x.sum().item() == 100_000
            del x


def test_gradients_count_towards_the_limit() -> None:
    with torch.connect().session(memory_limit_bytes=100_000):
        x = torch.ones(10_000, requires_grad=True)
        loss = (x * 2).sum()
        with pytest.raises(MemoryError):
            torch.autograd.grad(loss * 1, x, create_graph=True)[0].repeat(2).sum().item()
        assert x.grad is None


def test_a_session_counts_what_it_holds(embedded: Session) -> None:
    before = embedded.info()
    x = torch.ones(1000, requires_grad=True)
    y = (x * 3).exp()
    held = embedded.info()
    assert held["tensors"] - before["tensors"] >= 2
    assert held["bytes"]["total"] - before["bytes"]["total"] >= 8000
    assert held["nodes"] - before["nodes"] == 2
    del x, y
    after = embedded.info()
    assert after["nodes"] == before["nodes"]
    assert after["bytes"]["total"] == before["bytes"]["total"]


def test_a_block_is_profiled(embedded: Session) -> None:
    x = torch.ones(3, requires_grad=True)
    with embedded.profile() as found:
        (x.exp() * 2).sum().backward()
    rows = {(row.kind, row.name): row for row in found.rows}
    assert rows["op", "exp"].count == rows["node", "ExpBackward0"].count == 1
    assert rows["op", "exp"].bytes == 12
    assert rows["op", "exp"].seconds > 0


def test_the_graph_is_drawn(embedded: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).exp().sum()
    names = {node["grad_fn"] for node in embedded.graph("json", y)["nodes"]}
    assert {"MulBackward0", "ExpBackward0", "SumBackward0"} <= names
    assert embedded.graph("svg", y).startswith("<svg")
    assert "ExpBackward0" in embedded.graph("dot", y)
    assert "exp<br/>" in embedded.graph("mermaid", y)


def test_a_snapshot_holds_graph_optimizer_and_random_state(own: Session) -> None:
    torch.manual_seed(3)
    w = torch.nn.Parameter(torch.randn(4))
    opt = torch.optim.Adam([w], lr=0.1)

    def step() -> None:
        opt.zero_grad()
        ((w * torch.rand(4)) ** 2).sum().backward()
        opt.step()

    step()
    pending = (w.exp() * 2).sum()
    data = own.snapshot({"w": w, "opt": opt, "pending": pending})
    pending.backward()
    gradient = w.grad.tolist()
    step()
    values, drawn = w.tolist(), torch.rand(2).tolist()
    with torch.connect().restore(data) as again:
        w, opt = again.kept["w"], again.kept["opt"]
        again.kept["pending"].backward()
        assert w.grad.tolist() == gradient
        step()
        assert w.tolist() == values
        assert torch.rand(2).tolist() == drawn


# modes that belong to a session, a thread or the program


def test_each_session_draws_from_its_own_seed() -> None:
    client = torch.connect()
    with client.session(seed=11) as one:
        first = torch.rand(3).tolist()
        with client.session(seed=11):
            assert torch.rand(3).tolist() == first
            torch.rand(5)
        second = torch.rand(3).tolist()
    with client.session(seed=11), one.here():
        pass
    with client.session(seed=11):
        assert torch.rand(3).tolist() == first
        assert torch.rand(3).tolist() == second


def test_the_default_dtype_is_the_programs(embedded: Session) -> None:
    assert torch.ones(1).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    assert torch.ones(1).dtype is torch.float64
    assert (torch.arange(3) / 2).dtype is torch.float64
    assert torch.tensor([1.0]).dtype is torch.float64
    with torch.connect().session():
        assert torch.rand(1).dtype is torch.float64
    torch.set_default_dtype(torch.float32)
    assert (torch.arange(3) / 2).dtype is torch.float32


def test_four_threads_on_shared_leaves(embedded: Session) -> None:
    leaves = [torch.full((50,), float(i + 1), requires_grad=True) for i in range(3)]
    together = Barrier(4)

    def work(k: int) -> float:
        together.wait()
        total = 0.0
        for i in range(25):
            a, b, c = leaves
            loss = ((a * b + k) * c).sum() * (i % 2)
            loss.backward()
            total += loss.item()
            with torch.no_grad():
                assert not (a * b).requires_grad
        return total

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(4)))
    assert found == [12 * 50 * 3.0 * (2 + k) for k in range(4)]
    a, b, c = (leaf.grad.tolist() for leaf in leaves)
    assert a == [48 * 6.0] * 50
    assert b == [48 * 3.0] * 50
    assert c == [12.0 * sum(2 + k for k in range(4))] * 50


# what fails changes nothing


def test_a_failed_write_changes_nothing(embedded: Session) -> None:
    x = torch.zeros(3)
    version = x._version
    for work in (
        lambda: x.add_(torch.ones(2)),
        lambda: x.__setitem__(slice(0, 2), torch.ones(3)),
        lambda: x.index_add_(0, torch.tensor([7]), torch.ones(1)),
        lambda: x.copy_(torch.ones(4)),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            work()
            x.tolist()
    assert x.tolist() == [0.0] * 3
    assert x._version == version


def test_a_failed_walk_changes_nothing(embedded: Session) -> None:
    x, w = (torch.ones(2, requires_grad=True) for _ in range(2))
    (x * w).sum().backward()
    base = x * 1
    kept = base * w
    loss = kept.sum() + (base.exp() * 2).sum()
    base.mul_(2)
    with pytest.raises(RuntimeError, match="modified"):
        loss.backward()
    assert x.grad.tolist() == w.grad.tolist() == [1.0, 1.0]


def test_a_hook_that_walks_elsewhere(embedded: Session) -> None:
    x, other = (torch.ones(2, requires_grad=True) for _ in range(2))
    found = []

    def hook(g: Any) -> None:
        found.append(g.shape)

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    (other * 3).sum().backward()
    assert len(found) == 1
    assert x.grad.tolist() == [2.0, 2.0]
    assert other.grad.tolist() == [3.0, 3.0]


def test_a_hook_that_fails_leaves_all_gradients(embedded: Session) -> None:
    x, w = (torch.ones(2, requires_grad=True) for _ in range(2))

    def fails(g: Any) -> None:
        raise ZeroDivisionError("a hook")

    y = x * w
    y.register_hook(fails)
    with pytest.raises(ZeroDivisionError):
        (y.sum() + w.sum()).backward()
    assert x.grad is None
    assert w.grad is None
    assert (x * w).tolist() == [1.0, 1.0]


def test_errors_name_what_was_wrong(embedded: Session) -> None:
    with pytest.raises(GradwireError) as caught:
        torch.ones(2) + torch.ones(3)
    assert caught.value.code == "shape_mismatch"
    with pytest.raises(IndexError):
        torch.ones(2).sum(dim=4)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(2).sum().backward()


# what is let go goes at once


def test_nothing_waits_for_the_collector(young: None, embedded: Session) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    seen = []
    for _ in range(5):
        opt.zero_grad()
        hidden = model(torch.ones(4, 8))
        loss = (hidden**2).mean()
        seen += [ref(hidden), ref(loss)]
        loss.backward()
        opt.step()
        loss.item()
        del hidden, loss
    assert [r() for r in seen] == [None] * len(seen)


def test_a_loop_holds_no_more_after_many_steps(embedded: Session) -> None:
    w = torch.nn.Parameter(torch.ones(1000))
    opt = torch.optim.SGD([w], lr=0.01)

    def step() -> None:
        opt.zero_grad()
        ((w * 2) ** 2).sum().backward()
        opt.step()

    held = []
    for count in range(60):
        step()
        if count in (9, 59):
            held.append(embedded.info()["bytes"])
    assert held[0] == held[1]


def test_an_interrupted_step_is_old_or_new(embedded: Session) -> None:
    w = torch.nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([w], lr=0.5)
    w.register_hook(_interrupt)
    with pytest.raises(KeyboardInterrupt):
        (w * 2).sum().backward()
    assert w.grad is None
    assert w.tolist() == [1.0] * 3
    opt.step()
    assert w.tolist() == [1.0] * 3


def _interrupt(g: Any) -> None:
    raise KeyboardInterrupt
