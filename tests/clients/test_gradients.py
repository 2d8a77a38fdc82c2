"""`.grad`: the same object while it lives, its own life after zeroing, and who may set it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gradwire as torch
from gradwire.session import Session


def _with_gradient() -> torch.Tensor:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    return x


def test_the_gradient_is_one_object(session: Session) -> None:
    x = _with_gradient()
    assert x.grad is x.grad
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first, "backward adds into the same gradient"
    assert first.tolist() == [5.0, 7.0]


def test_a_gradient_outlives_none(session: Session) -> None:
    x = _with_gradient()
    kept = x.grad
    x.grad = None
    assert x.grad is None
    assert kept.tolist() == [2.0, 4.0]
    (x * 3).sum().backward()
    assert x.grad is not kept
    assert (x.grad.tolist(), kept.tolist()) == ([3.0, 3.0], [2.0, 4.0])


def test_zeroing_in_place_is_seen_everywhere(session: Session) -> None:
    x = _with_gradient()
    kept = x.grad
    x.grad.zero_()
    assert kept.tolist() == x.grad.tolist() == [0.0, 0.0]
    kept += 5
    assert x.grad.tolist() == [5.0, 5.0]


def test_an_assigned_gradient_is_the_tensor_itself(session: Session) -> None:
    x = torch.zeros(2, requires_grad=True)
    g = torch.tensor([7.0, 8.0])
    x.grad = g
    assert x.grad is g
    (x * 1).sum().backward()
    assert g.tolist() == [8.0, 9.0]
    del x.grad
    assert x.grad is None


def test_a_gradient_of_the_wrong_kind_is_refused(session: Session) -> None:
    x = _with_gradient()
    for wrong, kind in (
        (torch.ones(3), RuntimeError),
        (torch.ones(2).double(), RuntimeError),
        (1.0, TypeError),
    ):
        with pytest.raises(kind):
            x.grad = wrong
    assert x.grad.tolist() == [2.0, 4.0]


def test_gradients_of_results_need_retain_grad(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    h, plain = x * 2, x * 3
    h.retain_grad()
    (h * h + plain).sum().backward()
    assert h.grad.tolist() == [4.0, 4.0]
    with pytest.warns(UserWarning, match="not a leaf"):
        assert plain.grad is None


def test_gradients_with_a_graph(session: Session) -> None:
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    assert g is x.grad
    (again,) = torch.autograd.grad(g.sum(), x)
    assert (g.item(), again.item()) == (12.0, 12.0)


def test_a_gradient_as_input_of_a_walk(session: Session) -> None:
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    y = x.grad**2
    (by_gradient,) = torch.autograd.grad(y.sum(), x.grad)
    assert by_gradient.tolist() == [24.0]


def test_update_in_no_grad(session: Session) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    before = w
    (w * w).sum().backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
    assert w is before
    assert w.is_leaf
    assert w.requires_grad
    assert w.tolist() == [0.0, 0.0]
    w.data = torch.tensor([5.0, 6.0])
    assert w.tolist() == [5.0, 6.0]
    with pytest.raises(RuntimeError, match="must agree"):
        w.data = torch.ones(3)


def test_detach_shares_elements_not_history(session: Session) -> None:
    x = torch.zeros(2, requires_grad=True)
    d = x.detach()
    d.add_(3)
    assert x.tolist() == [3.0, 3.0]
    assert (d.requires_grad, x._version) == (False, 1)


def test_numpy_is_a_copy(session: Session) -> None:
    x = torch.zeros(3)
    a = x.numpy()
    a[:] = 9
    assert x.tolist() == [0.0] * 3
    source = np.ones(3, np.float32)
    y = torch.from_numpy(source)
    source[:] = 5
    assert y.tolist() == [1.0] * 3
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(2, requires_grad=True).numpy()
    assert torch.ones(2, requires_grad=True).numpy(force=True).tolist() == [1.0, 1.0]
    assert np.asarray(torch.ones(2), dtype=np.float64).dtype == np.float64


def test_copies_of_tensors(session: Session) -> None:
    x = _with_gradient()
    made = copy.deepcopy(x)
    assert made is not x
    assert (made.is_leaf, made.requires_grad, made.tolist()) == (True, True, [1.0, 2.0])
    assert made.grad.tolist() == [2.0, 4.0]
    with torch.no_grad():
        made.zero_()
    assert x.tolist() == [1.0, 2.0]
    both = copy.deepcopy([x, x])
    assert both[0] is both[1]
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(x * 2)
    again = pickle.loads(pickle.dumps(x))
    assert (again.is_leaf, again.requires_grad, again.tolist()) == (True, True, [1.0, 2.0])
    assert again.grad is None
