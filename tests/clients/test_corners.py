"""Corners of torch's semantics that random programs found; what is expected is what torch does."""

from __future__ import annotations

import pytest

import gradwire as torch

F64 = torch.float64


def leaf() -> torch.Tensor:
    return torch.tensor([1.0, 2.0, 3.0], dtype=F64, requires_grad=True)


def test_a_complex_scalar_has_both_parts_of_its_gradient() -> None:
    x = torch.tensor([3.0, 4.0], dtype=F64, requires_grad=True)
    torch.view_as_complex(x * 1).abs().backward()
    assert x.grad.tolist() == pytest.approx([0.6, 0.8])


def test_a_comparison_in_place_leaves_no_gradient() -> None:
    x = leaf()
    y = x * 2
    y.eq_(2)
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0, 0, 0]


def test_an_op_in_place_that_changes_nothing_counts_as_a_write() -> None:
    x = leaf()
    y = x.exp()
    y.conj_physical_()
    assert y._version == 1
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_a_retained_gradient_is_a_new_tensor_each_time() -> None:
    y = leaf() * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward()
    assert (first.tolist(), y.grad.tolist()) == ([1, 1, 1], [2, 2, 2])


def test_what_the_only_root_retains_arrives_wherever_the_walk_leads() -> None:
    x, y = leaf(), leaf() * 2
    y.retain_grad()
    assert torch.autograd.grad(y.sum(), x, allow_unused=True) == (None,)
    torch.autograd.grad(y, x, torch.ones_like(y), allow_unused=True)
    assert y.grad.tolist() == [1, 1, 1]


def test_a_leaf_frozen_for_a_while_is_still_the_graphs_leaf() -> None:
    x = leaf()
    y = (x * 2).sum()
    x.requires_grad_(False).requires_grad_()
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_view_made_in_no_grad_has_no_gradient_to_ask_for() -> None:
    x = leaf()
    with torch.no_grad():
        row = x[1:]
    assert torch.autograd.grad((x * 2).sum(), row, allow_unused=True) == (None,)


def test_zeros_in_place_of_no_gradient_record_with_create_graph() -> None:
    x, y = leaf(), leaf()
    (zeros,) = torch.autograd.grad(y.sum(), x, create_graph=True, materialize_grads=True)
    assert zeros.requires_grad


def test_the_gradient_itself_has_a_name() -> None:
    x = leaf()
    (x * x).sum().backward(create_graph=True)
    g = x.grad
    assert g.grad_fn.name() == "CopyBackwards"
    with torch.no_grad():
        g.mul_(2)
    assert x.grad.tolist() == [4, 8, 12]


def test_a_tensor_cannot_be_its_own_gradient() -> None:
    x = leaf()
    with pytest.raises(RuntimeError, match="own gradient"):
        x.grad = x


def test_flags_are_set_on_leaves_only() -> None:
    y = leaf() * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad = True


def test_writing_a_tensor_over_itself() -> None:
    x = torch.tensor([0, 1, 2])
    with pytest.raises(RuntimeError):
        x[x] = 5
    assert x.tolist() == [0, 1, 2]


def test_an_empty_expanded_tensor_may_be_written() -> None:
    x = torch.zeros(2, 0)
    x.expand(3, 2, 0).neg_()
    assert x._version == 1


def test_a_bool_scalar_as_index() -> None:
    x = torch.ones(2, 3)
    assert x[torch.tensor(True)].shape == (1, 2, 3)
    assert x[torch.tensor(False)].shape == (0, 2, 3)


def test_nothing_is_looked_up_in_an_empty_result() -> None:
    assert torch.zeros(2, 0)[torch.tensor([5, 7])].shape == (2, 0)


def test_bfloat16_and_int64_in_different_layouts() -> None:
    x, y = torch.ones(2, 2, dtype=torch.bfloat16), torch.ones(2, 2, dtype=torch.int64)
    assert (x.t() / y).dtype == torch.bfloat16


def test_bools_are_not_subtracted() -> None:
    with pytest.raises(RuntimeError):
        torch.sub(torch.tensor(True), torch.ones(2))


def test_a_view_that_may_not_be_used_still_has_elements() -> None:
    y = leaf() * 1
    first, _, _ = y.unbind(0)
    y.mul_(2)
    with pytest.raises(RuntimeError):
        first.grad_fn  # noqa: B018 (torch raises when it is asked for)
    assert first.tolist() == 2


def test_a_read_that_fails_loses_no_steps() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x + 1
    with pytest.raises(torch.GradwireError):
        x.session.flush(["nothing"])
    assert y.tolist() == [2, 2]


def test_a_negative_base_has_a_complex_power() -> None:
    x = torch.tensor([-1.5], dtype=F64)
    z = torch.tensor(1 - 1j, dtype=torch.complex128, requires_grad=True)
    x.pow(z).abs().sum().backward()
    assert torch.isfinite(z.grad).item()
