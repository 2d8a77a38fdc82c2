"""What the nodes of a graph know of the tensors that it began with."""

from __future__ import annotations

import gc

import pytest

import gradwire as torch
from gradwire.session import Session


def _reached(node: object) -> list:
    """The leaves that a node leads to, as programs that draw graphs collect them."""
    found, left, seen = [], [node], set()
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        left += [following for following, _ in node.next_functions]
    return found


def test_the_leaves_of_a_graph_are_found(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    layer = torch.nn.Linear(2, 1).double().float()
    loss = layer(x * w).sum()
    leaves = _reached(loss.grad_fn)
    wanted = [x, w, layer.weight, layer.bias]
    assert {id(leaf) for leaf in leaves} == {id(tensor) for tensor in wanted}
    with pytest.raises(AttributeError, match="variable"):
        loss.grad_fn.variable  # noqa: B018


def test_a_leaf_that_is_gone_is_none(young: None, session: Session) -> None:
    y = torch.ones(2, requires_grad=True) * 2
    gc.collect(0)
    assert _reached(y.grad_fn) == [None]
