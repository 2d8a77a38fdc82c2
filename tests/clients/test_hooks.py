"""Hooks: what is ours of them. What is torch's stands in tests/parity."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import gradwire as torch
from gradwire.session import Session
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


def test_a_hook_that_reads_may_not_replace(session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g / g.norm().item())
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


def test_the_place_of_a_hook_ends_with_its_graph(session: Session) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    for _ in range(5):
        h = x * 2
        h.register_hook(lambda g: g * 2)
        h.sum().backward()
    del h
    gc.collect()
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
