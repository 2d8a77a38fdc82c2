"""The user's functions: called once, where the user is; what they do travels as a program."""

from __future__ import annotations

from typing import Any

import pytest

import gradwire as torch
from gradwire import embedded, posted
from gradwire.session import Session
from gradwire.utils.checkpoint import checkpoint


def test_a_function_is_called_once_and_runs_where_the_tensors_are(session: Session) -> None:
    called = []

    def loss(x: Any) -> Any:
        called.append(x.shape)
        return (x**3).sum()

    x = torch.tensor([1.0, 2.0])
    assert torch.func.hessian(loss)(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert called == [torch.Size([2])]


def test_a_function_that_looks_at_a_value_is_refused_with_its_line(session: Session) -> None:
    def loss(x: Any) -> Any:
        return x.sum() * x[0].item()  # looked at here

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    if session.transport.url == "embedded":
        checkpoint(loss, x).backward()
        assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]
        return
    line = loss.__code__.co_firstlineno + 1
    with pytest.raises(RuntimeError, match=rf"test_users_functions\.py:{line}") as refused:
        checkpoint(loss, x)
    assert getattr(refused.value, "code", None) == "untraceable"
    assert "torch.where" in str(getattr(refused.value, "hint", ""))
    assert x.grad is None
    assert torch.func.grad(lambda x: (x * x).sum())(x.detach()).tolist() == [2.0, 4.0]


def test_there_may_be_any_number_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posted, "KEPT", 5)
    with torch.connect(None).session():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        for factor in range(20):
            found = torch.func.grad(lambda x, factor=factor: (x * factor).sum())(x)
            assert found.tolist() == [factor, factor]
        assert len(embedded._programs()._ids) == 5


def test_a_function_that_pulls_back_may_be_mapped(session: Session) -> None:
    x = torch.tensor([1.0, 2.0])
    _, pull = torch.func.vjp(lambda x: x * x.sum(), x)
    (rows,) = torch.func.vmap(pull)(torch.eye(2))
    assert rows.tolist() == [[4.0, 1.0], [2.0, 5.0]]


def test_arguments_that_are_not_used_have_zeros(session: Session) -> None:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])
    by_x, by_y = torch.func.grad(lambda x, y: x.sum(), (0, 1))(x, y)
    assert (by_x.tolist(), by_y.tolist()) == ([1.0, 1.0], [[0.0]])


@pytest.mark.parametrize("preserved", [True, False])
def test_a_checkpoint_draws_the_same_numbers_again_unless_told(
    session: Session, preserved: bool
) -> None:
    x = torch.ones(1000, requires_grad=True)
    drop = torch.nn.functional.dropout
    y = torch.utils.checkpoint.checkpoint(drop, x, preserve_rng_state=preserved)
    y.sum().backward()
    assert (x.grad.tolist() == y.tolist()) is preserved
