"""Corners of torch's semantics that random programs found; what is expected is what torch does."""

from __future__ import annotations

from typing import Any

import pytest

import gradwire as torch
from gradwire.session import Session

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
    assert g.grad_fn.name() == "torch::autograd::CopyBackwards"
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


def test_writes_through_views_are_freed_like_all_else() -> None:
    x = leaf()
    y = x + 0
    y[0] = 1
    y.sum().backward()
    with pytest.raises(RuntimeError, match="CopySlices"):
        y.sum().backward()


def test_a_power_keeps_its_result_even_for_its_base_alone() -> None:
    x = leaf()
    y = x ** torch.tensor([1.0, 2.0, 3.0], dtype=F64)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()
    z = x**2
    z.mul_(2)
    z.sum().backward()
    assert x.grad.tolist() == [4, 8, 12]


def test_backward_frees_the_node_of_an_input() -> None:
    y = leaf().exp()
    y.backward(torch.ones_like(y), inputs=[y])
    with pytest.raises(RuntimeError, match="freed"):
        y.sum().backward()


def test_gradients_that_depend_on_nothing_record_nothing() -> None:
    x = torch.tensor(2.0, dtype=F64, requires_grad=True)
    for y in (x.prod(), x.var(correction=1)):
        assert not torch.autograd.grad(y, x, create_graph=True)[0].requires_grad


def test_an_expanded_view_is_not_written_by_index() -> None:
    x = torch.ones(1).expand(3)
    with pytest.raises(RuntimeError):
        x[::2] = 2
    x.fill_(3)
    assert x.tolist() == [3, 3, 3]


def test_one_value_for_a_mask_is_converted() -> None:
    x = torch.tensor([1, 2])
    x[torch.tensor([False, True])] = torch.tensor([[7.5]])
    assert x.tolist() == [1, 7]


@pytest.mark.parametrize(("value", "stored"), [(-1, 255), (255.0, 255), (-0.5, None), (300, None)])
def test_numbers_for_bytes(value: float, stored: int | None) -> None:
    mask, place = torch.tensor([True]), torch.tensor([0])
    for write in (
        lambda x: x.__setitem__(0, value),
        lambda x: x.masked_fill_(mask, value),
        lambda x: x.index_fill_(0, place, value),
    ):
        x = torch.tensor([3], dtype=torch.uint8)
        if stored is None:
            with pytest.raises(RuntimeError):
                write(x)
        else:
            write(x)
        assert x.tolist() == [3 if stored is None else stored]


def test_of_several_faults_torch_names_a_view_that_may_not_be_used() -> None:
    x = leaf()
    with torch.no_grad():
        y = x[1:]
    y.detach().mul_(2)
    y.bool()
    with pytest.raises(RuntimeError, match="view"):
        y.diagonal()


def test_a_view_made_in_no_grad_leads_nowhere_but_is_freed() -> None:
    x = leaf()
    with torch.no_grad():
        y = x[1:]
    z = y.softmax(0)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        z.sum().backward()


def test_zeros_in_place_of_gradients_are_inference_tensors_in_its_mode() -> None:
    x, y = leaf(), leaf()
    z = (x * 1).sum()
    with torch.inference_mode():
        (zeros,) = torch.autograd.grad(z, y, materialize_grads=True)
    assert zeros.is_inference()


def test_bools_are_not_subtracted_from_numbers() -> None:
    with pytest.raises(RuntimeError):
        1 - torch.tensor(True)


def test_index_copy_counts() -> None:
    x = torch.zeros(3)
    with pytest.raises(IndexError):
        x.index_copy_(0, torch.tensor([0, 1]), torch.tensor(1.0))
    with pytest.raises(IndexError):
        x.index_copy_(0, torch.tensor([0, 1]), torch.ones(3))


def test_what_is_empty_cannot_be_wrong() -> None:
    x = torch.zeros(1, 0)
    x[torch.tensor([[1]])] = 5
    empty = torch.zeros(0)
    assert torch.cat([empty, empty], 3).shape == (0,)
    assert (torch.zeros(1, 0, dtype=torch.bool) @ torch.zeros(0, dtype=torch.bool)).shape == (1,)
    torch.zeros(0, dtype=torch.int32).fmod_(0)
    z = torch.zeros(0, dtype=torch.complex128, requires_grad=True)
    torch.view_as_real(z).sum().backward()
    assert z.grad.shape == (0,)


def test_any_real_number_fills_any_dtype() -> None:
    assert torch.zeros(1, dtype=torch.bool).index_fill_(0, torch.tensor([0]), 2.5).tolist() == [
        True
    ]


def test_an_operand_written_by_its_own_op_was_modified() -> None:
    x = leaf()
    y = x * 1
    y **= y
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()


def test_an_index_too_large_is_said_before_all_else() -> None:
    y = leaf() * 1
    first, _ = y.split(2)
    y.mul_(2)
    with pytest.raises(IndexError):
        first[2]
    with pytest.raises(RuntimeError):
        first[1]


def test_a_scalar_is_not_split_along_any_axis() -> None:
    with pytest.raises(RuntimeError):
        torch.tensor(1.0).split(1, 2)


def test_the_real_part_of_a_complex_scalar_fills_integers() -> None:
    x, y = torch.tensor([1, 2]), torch.tensor([1, 2])
    z = torch.tensor([7.5 + 1j])[0]
    x[:] = z
    y.fill_(z)
    assert x.tolist() == y.tolist() == [7, 7]


def test_integers_have_no_history_to_protect() -> None:
    x = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        y = x.squeeze()
    y.copy_(leaf())
    assert x.tolist() == [[1, 2, 3]]
    assert not y.requires_grad


def test_a_leafs_own_cotangent_takes_its_dtype() -> None:
    x = leaf()
    x.backward(torch.ones(3))
    assert x.session.flush([f"{x._name}.grad"])[f"{x._name}.grad"].array.dtype == "float64"


def test_a_window_of_an_expanded_view_is_written() -> None:
    x = torch.tensor([1.0])
    x.expand(2).unfold(0, 2, 2)[0, :1].mul_(3)
    assert x.tolist() == [3]


def test_an_empty_tensor_is_no_operand_of_its_own_index_copy(session: Session) -> None:
    x = torch.zeros(1, 0)
    with pytest.raises(RuntimeError, match="share memory"):
        x.index_copy_(-1, torch.tensor([1]), x)


@pytest.mark.parametrize("wrong", ["x", 3, [None], ["x"]])
def test_what_a_walk_begins_and_ends_at_must_be_tensors(session: Session, wrong: Any) -> None:
    x = torch.ones(1, requires_grad=True)
    for asked in (lambda: torch.autograd.grad(wrong, x), lambda: torch.autograd.backward(wrong)):
        with pytest.raises(TypeError, match="expected a tensor, a gradient edge"):
            asked()
    with pytest.raises(TypeError, match="expected a tensor, a gradient edge"):
        torch.autograd.grad(x * 2, wrong)


def test_a_reflected_operator_takes_a_number_first_by_its_name() -> None:
    x = torch.tensor([3.0, 4.0])
    assert torch.Tensor.__rsub__(2.0, x) is NotImplemented
    assert torch.Tensor.__rpow__(2.0, x).tolist() == [9.0, 16.0]
    assert (2.0 - x).tolist() == [-1.0, -2.0]
    assert (2.0**x).tolist() == [8.0, 16.0]
