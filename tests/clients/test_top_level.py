"""Functions whose parameters at torch's top level are others than in nn.functional; layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwire as torch

functional = torch.nn.functional


def row() -> torch.Tensor:
    return torch.tensor([0.2, -0.4, 0.9])


def ones() -> torch.Tensor:
    return torch.tensor([1.0, -1.0, 1.0])


def rows() -> torch.Tensor:
    return torch.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]])


def log() -> torch.Tensor:
    return functional.log_softmax(torch.arange(18.0).reshape(3, 2, 3) / 10, -1)


def lengths() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([3, 3]), torch.tensor([1, 1])


def places() -> torch.Tensor:
    return torch.tensor([[1], [2]])


SAME: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "embedding": (
        lambda: torch.embedding(rows(), torch.tensor([1, 0]), 1),
        lambda: functional.embedding(torch.tensor([1, 0]), rows(), 1),
    ),
    "kl_div": (
        lambda: torch.kl_div(row(), row().exp(), 2, log_target=False),
        lambda: functional.kl_div(row(), row().exp(), reduction="sum"),
    ),
    "a default that reduces nothing": (
        lambda: torch.kl_div(row(), row().exp()),
        lambda: functional.kl_div(row(), row().exp(), reduction="none"),
    ),
    "ctc_loss": (
        lambda: torch.ctc_loss(log(), places(), *lengths(), 0, 1, False),
        lambda: functional.ctc_loss(log(), places(), *lengths()),
    ),
    "batch_norm": (
        lambda: torch.batch_norm(rows(), row(), ones(), None, None, True, 0.1, 1e-5, True),
        lambda: functional.batch_norm(rows(), None, None, row(), ones(), training=True),
    ),
    "instance_norm": (
        lambda: torch.instance_norm(log(), None, None, None, None, True, 0.1, 1e-5, True),
        lambda: functional.instance_norm(log()),
    ),
    "layer_norm": (
        lambda: torch.layer_norm(rows(), (3,), row(), None, 1e-5, True),
        lambda: functional.layer_norm(rows(), (3,), row()),
    ),
    "group_norm": (
        lambda: torch.group_norm(rows(), 3, None, row(), 1e-5, True),
        lambda: functional.group_norm(rows(), 3, None, row()),
    ),
    "hinge_embedding_loss": (
        lambda: torch.hinge_embedding_loss(row(), ones(), 2.0, 1),
        lambda: functional.hinge_embedding_loss(row(), ones(), 2.0),
    ),
    "triplet_margin_loss": (
        lambda: torch.triplet_margin_loss(rows(), rows() * 2, rows() + 1, 1.0, 2, 1e-6, False, 2),
        lambda: functional.triplet_margin_loss(rows(), rows() * 2, rows() + 1, reduction="sum"),
    ),
    "poisson_nll_loss": (
        lambda: torch.poisson_nll_loss(row(), ones(), True, False, 1e-8, 1),
        lambda: functional.poisson_nll_loss(row(), ones()),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_the_top_level_has_parameters_of_its_own(name: str) -> None:
    top, wanted = (make() for make in SAME[name])
    assert top.shape == wanted.shape
    assert torch.equal(top, wanted)


def test_names_of_reductions_are_those_of_nn_functional() -> None:
    with pytest.raises(TypeError, match="must be int, not str"):
        torch.kl_div(row(), ones(), reduction="sum")


def test_memory_formats_say_how_elements_lie() -> None:
    x = torch.arange(120.0).reshape(2, 3, 4, 5).requires_grad_()
    y = x.contiguous(memory_format=torch.channels_last)
    assert y.stride() == (60, 1, 15, 3)
    assert not y.is_contiguous()
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert y.contiguous(memory_format=torch.channels_last) is y
    assert torch.equal(y, x)
    (y * y).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())
    assert x.to(torch.float64, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    turned = x.detach()[0, 0].t()
    assert turned.clone(memory_format=torch.preserve_format).stride() == (1, 5)
    assert turned.clone(memory_format=torch.contiguous_format).stride() == (4, 1)
    with pytest.raises(RuntimeError, match="required rank 4"):
        turned.contiguous(memory_format=torch.channels_last)
    with pytest.raises(TypeError, match=r"torch\.memory_format, not int"):
        turned.contiguous(memory_format=1)


def test_modules_take_memory_formats_for_what_has_as_many_axes() -> None:
    layer = torch.nn.Conv2d(3, 4, 2).to(memory_format=torch.channels_last)
    assert layer(torch.ones(1, 3, 4, 4)).shape == (1, 4, 3, 3)
