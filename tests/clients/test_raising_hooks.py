"""Walks that fail in the user's Python, or before it: what they leave behind.

Which error is told stands in tests/parity.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest

import gradwire as torch
from gradwire.faults import Fault, ending, meant, tells
from gradwire.session import Session
from gradwire_engine.errors import GradwireError, error


def _raises(*given: Any) -> None:
    raise KeyError("a hook")


def _refused(h: Any) -> Any:
    """A result whose rule raises."""
    return torch.linalg.qr(h, mode="r")[1]


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise KeyError("a backward")


def _leaf() -> Any:
    return torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)


def test_a_hook_that_raises_changes_nothing(session: Session) -> None:
    x, w = _leaf(), _leaf()
    w.grad = torch.ones(2, 2)
    h = x * 2
    h.retain_grad()
    after = h * w
    after.register_hook(lambda g: g * 10)
    handle = x.register_hook(_raises)
    with pytest.raises(KeyError, match="a hook"):
        after.sum().backward()
    assert x.grad is None
    assert h.grad is None
    assert w.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    handle.remove()
    after.sum().backward()
    assert w.grad.tolist() == [[41.0, 21.0], [21.0, 61.0]]
    assert h.grad.tolist() == [[20.0, 10.0], [10.0, 30.0]]


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_rule_that_raises_before_a_hook_changes_nothing(session: Session, register: str) -> None:
    x, w = _leaf(), _leaf()
    getattr(x, register)(_raises)
    y = (_refused(x * 1) * w).sum()
    with pytest.raises(GradwireError, match="qr") as refused:
        y.backward()
    assert refused.value.__cause__ is None
    assert x.grad is None
    assert w.grad is None
    (w * 2).sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_copy_walks_where_the_mirrors_failed_on_the_way(session: Session, counted: Any) -> None:
    x = _leaf()
    handle = x.register_hook(_raises)
    with pytest.raises(KeyError):
        (x * 2).sum().backward()
    assert counted.copies == 1
    handle.remove()
    x.register_hook(lambda g: g * 2)
    (x * 2).sum().backward()
    assert counted.copies == 1
    with pytest.raises(GradwireError, match="only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(GradwireError, match="was not used"):
        torch.autograd.grad((x * 2).sum(), _leaf())
    assert counted.copies == 1


def test_no_copy_is_left(young: None, session: Session) -> None:
    x = _leaf()
    x.register_hook(_raises)
    for _ in range(3):
        with pytest.raises(KeyError):
            (x * 2).sum().backward()
    gc.collect(0)
    assert session.info()["tensors"] <= 3


def test_where_no_copy_can_be_made_the_users_exception_is_raised(
    session: Session, counted: Any
) -> None:
    def refuse(*asked: Any) -> None:
        raise error("limit_exceeded", "there are 3 sessions, and the limit is 3")

    counted.imagine = refuse
    x = _leaf()
    x.register_hook(_raises)
    with pytest.raises(KeyError):
        _refused(x * 1).sum().backward()


def test_a_hook_within_a_leafs_hook_that_walks(session: Session) -> None:
    x, inner = _leaf(), _leaf()
    inner.register_hook(_raises)
    loss = (inner * 2).sum()
    x.register_post_accumulate_grad_hook(lambda p: loss.backward())
    with pytest.raises(KeyError, match="a hook"):
        (x * 2).sum().backward()
    assert x.grad is None
    assert inner.grad is None


def test_functions_that_raise_are_told_once(session: Session) -> None:
    x = _leaf()
    y = Fails.apply(x)
    for _ in range(2):
        with pytest.raises(KeyError, match="a backward"):
            y.sum().backward()
    assert x.grad is None
    with pytest.raises(GradwireError, match="only for scalar outputs"):
        y.backward()
    assert torch.autograd.grad(y.sum() + x.sum(), y)[0].tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_function_that_raises_does_so_in_derivatives_of_functions(session: Session) -> None:
    with pytest.raises(KeyError, match="a backward"):
        torch.autograd.functional.jacobian(Fails.apply, torch.ones(2))


def test_the_last_of_faults_with_one_text_is_meant(young: None) -> None:
    first, last = Fault("f", ValueError("first")), Fault("f", ValueError("last"))
    told = error("invalid_argument", f"einsum: {ending(last.text, 'g', 'o')['args'][0]!r}: no")
    assert last.became(meant(told)) and not first.became(meant(told))
    assert meant(told).args == ("last",)
    assert tells(told, first.again())
    assert not tells(told, ValueError("first"))
    del first, last
    gc.collect(0)
    assert meant(told) is told


class Particular(Exception):
    """Takes other arguments than it has, and more than those."""

    def __init__(self, step: int, *, name: str) -> None:
        super().__init__(f"{name} failed")
        self.step = step


@pytest.mark.parametrize(
    "problem",
    [
        Particular(3, name="it"),
        KeyError("w"),
        OSError(2, "not there"),
        torch.GradwireError("internal", "no"),
    ],
)
def test_a_fault_raises_the_like_of_what_was_raised(problem: Exception) -> None:
    fault = Fault("f", problem)
    for _ in range(2):
        again = fault.again()
        assert again is not problem
        assert type(again) is type(problem)
        assert (str(again), again.args) == (str(problem), problem.args)
        assert {**vars(problem), **vars(again)} == vars(again)
        again.add_note("raised")  # which the next one does not have
    assert getattr(fault.again(), "__notes__", []) == []


def test_what_a_hook_looks_at_is_there_though_the_walk_fails_later(session: Session) -> None:
    x, w, seen = _leaf(), _leaf(), []
    y = _refused(x * 1) * w

    def hook(g: Any) -> None:
        seen.append(g.sum().item())
        raise KeyError("after a look")

    y.register_hook(hook)
    with pytest.raises(RuntimeError if session.transport.url != "embedded" else KeyError) as told:
        y.sum().backward()
    if session.transport.url == "embedded":
        assert seen == [4.0]
    else:  # there it would be called after the walk
        assert "qr" in str(told.value)
    assert w.grad is None


def test_a_walk_within_a_hook_that_fails_changes_nothing(session: Session, counted: Any) -> None:
    x, other = _leaf(), _leaf()
    refused = _refused(other * 1).sum()
    handle = x.register_hook(lambda g: refused.backward(retain_graph=True))
    y = (x * 2).sum()
    with pytest.raises(GradwireError, match="qr"):
        y.backward()
    assert counted.copies == 1
    assert x.grad is None
    assert other.grad is None
    handle.remove()
    y.backward()
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_step_within_a_leafs_hook_is_not_tried_before(session: Session, counted: Any) -> None:
    x = _leaf()
    optimizer = torch.optim.SGD([x], lr=1.0)
    x.register_post_accumulate_grad_hook(lambda p: (optimizer.step(), optimizer.zero_grad())[0])
    (x * 2).sum().backward()
    assert counted.copies == 0
    assert x.tolist() == [[0.0, -1.0], [-1.0, 1.0]]


def test_a_hook_that_walks_from_what_it_made_does_so_after_the_walk(session: Session) -> None:
    x, w = _leaf(), _leaf()

    def hook(g: Any) -> None:
        with torch.enable_grad():
            (g * w).sum().backward()

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert x.grad.tolist() == w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


@pytest.mark.recorded
def test_gradients_within_a_hook_come_to_no_hooks_that_do_something(session: Session) -> None:
    x, w, seen = _leaf(), _leaf(), []
    loss = (w * 3).sum()
    w.register_hook(lambda g: seen.append(g.shape))
    x.register_hook(lambda g: g + torch.autograd.grad(loss, w, retain_graph=True)[0])
    (x * 2).sum().backward()
    assert x.grad.tolist() == [[5.0, 5.0], [5.0, 5.0]]
    assert seen == [torch.Size([2, 2])]
    w.register_hook(lambda g: g * 2)
    with pytest.raises(GradwireError, match="gives a gradient back; it can't be") as refused:
        (x * 2).sum().backward()
    assert refused.value.code == "untraceable"
