"""Mirrors know what the host knows: spec, layout, graph and version of every op's result."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clients.test_errors import assert_agrees

import gradwire as torch
from gradwire.session import Session

_LAYOUTS = {
    "transposed": lambda x: x.T.sin(),
    "back again": lambda x: x.T.sin().T,
    "both transposed": lambda x: x.T + x.T,
    "one of two": lambda x: x.T.reshape(4, 3) + x.T,
    "row added": lambda x: x.T * x[:, 0],
    "column added": lambda x: x.T * x[:1].T,
    "permuted": lambda x: x.expand(2, 3, 4).permute(2, 0, 1).exp(),
    "number": lambda x: 2 * x.T,
    "sliced": lambda x: x[:, ::2].cos(),
    "cast": lambda x: x.T.double(),
    "copied": lambda x: x.T.clone(),
    "whole": lambda x: x.T.contiguous(),
    "compared": lambda x: x.T > 0,
    "chosen": lambda x: torch.where(x.T > 0, x.T, 0.0),
    "summed": lambda x: x.T.sum(1),
    "matrix product": lambda x: x.T @ x,
    "expanded": lambda x: x[:1].expand(3, 4) * 1,
}


@pytest.mark.parametrize("name", _LAYOUTS)
def test_results_lie_in_memory_as_the_mirror_says(session: Session, name: str) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    made = _LAYOUTS[name](x)
    told = made.is_contiguous()
    if told:
        assert made.view(-1).numel() == made.numel()
        assert made.view(-1).tolist() == made.flatten().tolist()
    flat = made.T.reshape(-1)
    flat.tolist()
    assert_agrees(session, made, flat)


def test_a_chain_of_everything(session: Session) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    y = x.T.exp().T.view(12)
    z = torch.stack([y, y * 2]).softmax(0)[0]
    top = z.sort().values[:3]
    mask = z[z > 0.1]
    w = torch.zeros(4)
    w[1:3] = top[:2]
    kept: list[Any] = [x, y, z, top, mask, w]
    assert_agrees(session, *kept)
    w.sum().backward()
    assert_agrees(session, *kept, x.grad)
