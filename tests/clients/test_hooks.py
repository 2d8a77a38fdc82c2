"""Hooks: what is ours of them. What is torch's stands in tests/parity."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import gradwire as torch
from gradwire.session import Session
from gradwire.transport import Request
from gradwire.utils.checkpoint import checkpoint
from gradwire_engine.errors import GradwireError


def test_a_walk_with_hooks_is_one_request(session: Session, counted: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g * 2)
    y = (x**2).sum()
    session.flush()
    counted.take()
    y.backward()
    assert counted.take() == [["hook", "backward", "unhook"]]
    assert x.grad.tolist() == [4.0, 8.0]


def test_a_hook_that_leaves_nothing_is_not_sent(session: Session, counted: Any) -> None:
    x, calls = torch.tensor([1.0], requires_grad=True), []
    x.register_hook(lambda g: calls.append(g.shape))
    y = x * 2
    session.flush()
    counted.take()
    y.backward()
    assert counted.take() == [["backward"]]
    assert calls == [torch.Size([1])]


def test_what_was_kept_is_a_tensor_of_the_session(session: Session) -> None:
    x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_hook(seen.append)
    (x**2).sum().backward()
    assert seen[0].session is session
    assert seen[0].tolist() == [2.0, 4.0]
    assert (seen[0] + x.detach()).tolist() == [3.0, 6.0]


def test_a_hook_that_reads_may_replace_only_where_the_host_is_at_hand(session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g / g.norm().item())
    if session.transport.url == "embedded":
        (x * torch.tensor([3.0, 4.0])).sum().backward()
        assert x.grad.tolist() == pytest.approx([0.6, 0.8])
        return
    with pytest.raises(RuntimeError, match="hook '<lambda>' looks at values") as refused:
        (x * 2).sum().backward()
    assert getattr(refused.value, "code", None) == "untraceable"
    assert "torch.where" in str(getattr(refused.value, "hint", ""))


def test_hooks_registered_in_a_function_that_is_written_down(session: Session) -> None:
    def function(x: Any) -> Any:
        h = x * 2
        h.register_hook(lambda g: g * 2)
        return h.sum()

    x = torch.tensor([1.0], requires_grad=True)
    if session.transport.url == "embedded":  # where it runs as Python
        checkpoint(function, x).backward()
        assert x.grad.tolist() == [4.0]
        return
    with pytest.raises(RuntimeError, match="registers a hook; it is only written down") as refused:
        checkpoint(function, x)
    assert getattr(refused.value, "code", None) == "untraceable"


def test_a_failed_walk_leaves_no_hooks_behind(session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    mask = torch.tensor([True, False])
    handle = x.register_hook(lambda g: torch.cholesky_solve(g[:, None], g[:, None])[:, 0])
    with pytest.raises(RuntimeError):
        (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert mask.tolist() == [True, False]


def test_the_place_of_a_hook_ends_with_its_graph(young: None, session: Session) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    for _ in range(5):
        h = x * 2
        h.register_hook(lambda g: g * 2)
        h.sum().backward()
    del h
    gc.collect(0)
    session.flush()
    assert session.info()["tensors"] <= 3
    assert x.grad.tolist() == [20.0]


def test_nodes_below_can_be_looked_at_but_not_hooked(session: Session) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    y = (x * 2).exp()
    below = y.grad_fn.next_functions[0][0]
    assert below.name() == "MulBackward0"
    with pytest.raises(GradwireError, match="only on the grad_fn of a tensor"):
        below.register_hook(print)


@pytest.fixture
def embedded() -> Iterator[Session]:
    """Over HTTP a hook that reads may replace nothing."""
    with torch.connect().session() as made:
        yield made


def test_hooks_that_read_are_called_once_each_in_the_order_of_the_walk(embedded: Session) -> None:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    h, order = x * w, []
    y = h**2

    def clip(name: str) -> Any:
        def hook(g: Any) -> Any:
            order.append((name, g.norm().item()))
            return g / g.norm().item() if g.norm() > 1 else None

        return hook

    y.register_hook(clip("y"))
    h.register_hook(clip("h"))
    w.register_post_accumulate_grad_hook(lambda p: order.append(("w", p.grad.item())))
    y.sum().backward()
    names = [name for name, _ in order]
    assert names == ["y", "h", "w"]
    unit = 2**-0.5
    slope = [2 * 3 * unit, 2 * 6 * unit]
    size = (slope[0] ** 2 + slope[1] ** 2) ** 0.5
    assert order[0][1] == pytest.approx(2**0.5)
    assert order[1][1] == pytest.approx(size)
    assert w.grad.item() == pytest.approx((slope[0] * 1 + slope[1] * 2) / size)
    assert order[2][1] == pytest.approx(w.grad.item())


def test_a_hook_of_a_node_reads_and_replaces(embedded: Session) -> None:
    x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []
    y = x * 3

    def before(gs: Any) -> Any:
        seen.append(gs[0].tolist())
        return (gs[0] * float(gs[0].sum()),)

    def after(inputs: Any, outputs: Any) -> Any:
        seen.append((inputs[0].tolist(), outputs[0].tolist()))
        return (inputs[0] + outputs[0].max().item(), *inputs[1:])

    y.grad_fn.register_prehook(before)
    y.grad_fn.register_hook(after)
    y.sum().backward()
    assert seen == [[1.0, 1.0], ([6.0, 6.0], [2.0, 2.0])]
    assert x.grad.tolist() == [8.0, 8.0]


def test_a_hook_reads_what_it_writes_in_place(embedded: Session) -> None:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    total, seen = torch.zeros(()), []

    def hook(g: Any) -> None:
        g.mul_(2)
        seen.append(g.tolist())
        g.add_(1)
        seen.append(g.tolist())

    h = x * 1
    h.register_hook(hook)
    (h * x.detach()).sum().backward()
    assert seen == [[6.0, 8.0], [7.0, 9.0]]
    assert x.grad.tolist() == [7.0, 9.0]
    assert total.item() == 0


def test_a_hook_that_reads_under_create_graph(embedded: Session) -> None:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    h = x * x
    handle = h.register_hook(lambda g: g * g / g.max().item())
    (slope,) = torch.autograd.grad((h**2).sum(), x, create_graph=True)
    assert slope.tolist() == pytest.approx([18 * 18 / 32 * 6, 32 * 8])
    handle.remove()
    (second,) = torch.autograd.grad(slope.sum(), x)  # (2 x²)² / 32 · 2 x = x⁵ / 4
    assert second.tolist() == pytest.approx([5 * 81 / 4, 5 * 256 / 4])


def test_a_leafs_hook_that_raises_undoes_the_walk(session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    handle = x.register_post_accumulate_grad_hook(lambda p: {}["nothing"])
    y = (x**2).sum()
    with pytest.raises(KeyError):
        y.backward()
    assert x.grad is None
    handle.remove()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def _uses_up_names() -> None:
    for _ in range(100):
        torch.ones(1) + 1


@pytest.mark.recorded
def test_a_leafs_hook_that_raises_leaves_a_session_that_works(
    young: None, session: Session
) -> None:
    x, kept = torch.tensor([1.0, 2.0], requires_grad=True), []
    seen = x.register_hook(kept.append)

    def hook(p: Any) -> None:
        kept.append(p.grad.detach() * 2)
        for _ in range(200):
            p.grad.detach().norm()
        raise KeyError(p.grad.sum().item())

    handle = x.register_post_accumulate_grad_hook(hook)
    for _ in range(2):
        with pytest.raises(KeyError, match="6"):
            (x**2).sum().backward()
    with pytest.raises(RuntimeError, match="this tensor was never made"):
        kept[-1].tolist()
    kept.clear()
    handle.remove()
    seen.remove()
    _uses_up_names()
    (x**2).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    gc.collect(0)
    assert session.info()["tensors"] <= 3


def test_what_hooks_drop_is_freed_on_the_host(young: None, session: Session) -> None:
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    sums = []

    def hook(p: Any) -> None:
        for _ in range(70):
            p.grad.detach()
        sums.append((p.grad * 2).sum().item())

    for p in (x, y):
        p.register_post_accumulate_grad_hook(hook)
    for _ in range(3):
        (x * y).sum().backward()
    assert sums == [6.0, 6.0, 12.0, 12.0, 18.0, 18.0]
    gc.collect(0)
    assert session.info()["tensors"] <= 4


def test_a_hook_far_away_is_shown_a_copy_once_and_waits_for_the_walk_then(
    session: Session, counted: Any
) -> None:
    x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    for _ in range(2):
        (x**2).sum().backward()
    assert seen == [[2.0, 4.0], [4.0, 8.0]]
    assert counted.copies == 1


@pytest.mark.recorded
def test_a_hook_in_a_walk_of_another_hook_is_called_once_more(
    young: None, session: Session
) -> None:
    """There is no copy of a copy; what the first call made is given up."""
    x, y = (torch.tensor([3.0, 4.0], requires_grad=True) for _ in range(2))
    norms, calls = [], []

    def inner(p: Any) -> None:
        calls.append("inner")
        norms.append((p.grad.detach() * 1).norm().item())

    def outer(p: Any) -> None:
        with torch.enable_grad():
            (y * p.grad).sum().backward()

    y.register_post_accumulate_grad_hook(inner)
    x.register_post_accumulate_grad_hook(outer)
    for _ in range(2):
        (x * x.detach()).sum().backward()
    assert norms == pytest.approx([5.0, 15.0])
    assert calls == ["inner"] * 3
    _uses_up_names()
    gc.collect(0)
    assert session.info()["tensors"] <= 5


def test_the_place_of_a_hook_that_was_lost_is_not_freed(young: None, server_url: str) -> None:
    with torch.connect(server_url).session(memory_limit_bytes=2**20) as session:
        x = torch.ones(2, requires_grad=True)
        session.flush()
        torch.zeros(2**20)
        y = x * 2
        y.register_hook(print)
        with pytest.raises(GradwireError) as refused:
            session.flush()
        assert refused.value.code == "memory_limit"
        del y
        gc.collect(0)
        _uses_up_names()
        assert torch.ones(2).sum().item() == 2.0


@pytest.mark.recorded
def test_what_somebody_else_freed_does_not_matter(young: None, session: Session) -> None:
    a, b, c = torch.ones(1), torch.ones(2), torch.ones(3)
    session.flush()
    names = [a._name, c._name]
    session.transport.steps(session.id, Request([{"free": names}]))
    del a, b, c
    gc.collect(0)
    assert torch.ones(2).sum().item() == 2.0
    assert session.info()["tensors"] <= 2
