"""Ops that draw random numbers, called in a session of this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gradwire as torch
from gradwire.session import Session


@pytest.fixture
def session() -> Iterator[Session]:
    with torch.connect().session() as found:
        yield found


def test_each_call_draws_once(session: Session) -> None:
    """The first is begun by the short way, which can't draw, and every later one isn't."""
    x, layer = torch.ones(4, 6), torch.nn.MultiheadAttention(6, 2, dropout=0.5)
    drawn = session.generator.draws
    for _ in range(3):
        torch.nn.functional.dropout(x, 0.5)
        layer(x, x, x)
    assert session.generator.draws == drawn + 6


def test_what_draws_no_more_is_as_before(session: Session) -> None:
    x = torch.ones(4, 6)
    torch.nn.functional.dropout(x, 0.5)
    assert torch.nn.functional.dropout(x, 0.5, training=False).tolist() == x.tolist()


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_attention_to_itself_is_that_to_a_copy(session: Session, batched: bool, bias: bool) -> None:
    """One product in the place of three, and the same gradients."""
    torch.manual_seed(1)
    layer = torch.nn.MultiheadAttention(6, 2, bias=bias)
    x = torch.randn(*((5, 3, 6) if batched else (5, 6)), requires_grad=True)
    found = []
    for key in (x, x * 1):
        out, weights = layer(x, key, key if key is not x else x)
        assert weights is not None
        loss = (out**2).sum() + (weights**3).sum()
        found.append([out, weights, *torch.autograd.grad(loss, [x, *layer.parameters()])])
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)
