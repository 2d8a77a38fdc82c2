"""Optimisers of the engine: fifty steps on a two-layer network are torch.optim's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradwire_engine import backward
from gradwire_engine.catalogue import resolve
from gradwire_engine.optim import Optimizer
from gradwire_engine.tensor import Tensor

torch = pytest.importorskip("torch", reason="make parity installs torch")

Op = Callable[[Any], Any]
STEPS = 50
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("sgd", "SGD", {"lr": 0.05}),
    ("sgd", "SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("sgd", "SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ("sgd", "SGD", {"lr": 1e-3, "maximize": True}),
    ("adam", "Adam", {}),
    ("adam", "Adam", {"lr": 0.02, "weight_decay": 0.1, "amsgrad": True, "betas": (0.8, 0.9)}),
    ("adam", "Adam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("adamw", "AdamW", {}),
    ("adamw", "AdamW", {"lr": 0.01, "weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    ("rmsprop", "RMSprop", {}),
    ("rmsprop", "RMSprop", {"centered": True, "momentum": 0.9, "weight_decay": 0.01}),
    ("adagrad", "Adagrad", {}),
    ("adagrad", "Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("lbfgs", "LBFGS", {"max_iter": 4}),
    ("lbfgs", "LBFGS", {"lr": 0.7, "max_iter": 5, "history_size": 4}),
    ("lbfgs", "LBFGS", {"max_iter": 6, "line_search_fn": "strong_wolfe"}),
]
SHAPES = [(4, 3), (3,), (3, 2), (2,)]


def _draw(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


X = _draw(20, 4, seed=100)
Y = np.tanh(X @ _draw(4, 6, seed=101)) @ _draw(6, 2, seed=102)


def _loss(params: list[Any], x: Any, y: Any, tanh: Op, total: Op) -> Any:
    """Weights held small, or L-BFGS wanders where rounding decides where it goes."""
    w1, b1, w2, b2 = params
    difference = tanh(x @ w1 + b1) @ w2 + b2 - y
    held = 0.1 * (total(w1 * w1) + total(w2 * w2))
    return total(difference * difference) / 40 + held


def _ours(kind: str, settings: dict[str, Any]) -> tuple[list[float], list[np.ndarray]]:
    params = [Tensor.of(_draw(*s, seed=i) * 0.4, True) for i, s in enumerate(SHAPES)]
    optimizer = Optimizer(kind, [(params, settings)])
    x, y = Tensor.of(X), Tensor.of(Y)
    losses = []

    def closure() -> Tensor:
        for p in params:
            p.set_grad(None)
        loss: Tensor = _loss(params, x, y, resolve("tanh"), resolve("sum"))
        backward.backward([loss])
        return loss

    for _ in range(STEPS):
        if kind == "lbfgs":
            found = optimizer.step(closure)
        else:
            found = closure()
            optimizer.step()
        assert found is not None
        losses.append(float(found.numpy()))
    return losses, [p.numpy() for p in params]


def _theirs(kind: str, settings: dict[str, Any]) -> tuple[list[float], list[np.ndarray]]:
    params = [
        torch.tensor(_draw(*s, seed=i) * 0.4, requires_grad=True) for i, s in enumerate(SHAPES)
    ]
    optimizer = getattr(torch.optim, kind)(params, **settings)
    x, y = torch.tensor(X), torch.tensor(Y)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = _loss(params, x, y, torch.tanh, torch.sum)
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(STEPS)]
    return losses, [p.detach().numpy() for p in params]


@pytest.mark.parametrize(("kind", "theirs", "settings"), CASES)
def test_fifty_steps_end_where_torch_ends(kind: str, theirs: str, settings: dict[str, Any]) -> None:
    losses, params = _ours(kind, settings)
    expected_losses, expected = _theirs(theirs, settings)
    tolerance = 1e-9 if kind == "lbfgs" else 1e-12
    np.testing.assert_allclose(losses, expected_losses, rtol=tolerance)
    for p, q in zip(params, expected, strict=True):
        np.testing.assert_allclose(p, q, rtol=tolerance, atol=tolerance * abs(q).max())
    assert losses[0] != losses[-1]


@pytest.mark.parametrize(("kind", "theirs", "settings"), CASES[:13])
def test_complex_parameters(kind: str, theirs: str, settings: dict[str, Any]) -> None:
    begin = _draw(3, seed=1) + 1j * _draw(3, seed=2)
    gradients = [_draw(3, seed=10 + i) + 1j * _draw(3, seed=50 + i) for i in range(5)]
    ours = Tensor.of(begin.copy(), True)
    optimizer = Optimizer(kind, [([ours], settings)])
    expected = torch.tensor(begin, requires_grad=True)
    reference = getattr(torch.optim, theirs)([expected], **settings)
    for g in gradients:
        ours.set_grad(Tensor.of(g))
        expected.grad = torch.tensor(g)
        optimizer.step()
        reference.step()
    np.testing.assert_allclose(ours.numpy(), expected.detach().numpy(), rtol=1e-12)
