"""Training: every optimizer, gradients cleared in every way, schedules, copies of the weights."""

from __future__ import annotations

from copy import deepcopy
from io import BytesIO
from typing import Any

import numpy as np
from tests.clients.loops import Step, loop

import gradwire as torch
from gradwire import nn


def network() -> Any:
    """Two layers, with as little in them as a network may have."""
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def loss_of(model: Any, x: Any) -> Any:
    """A number that is smaller the closer the outputs are to 1."""
    return ((model(x) - 1) ** 2).mean()


def trained(kind: Any, **settings: Any) -> Step:
    """A training loop with this optimizer."""
    model, x = network(), torch.ones(2, 3)
    optimizer = kind(model.parameters(), **settings)

    def step(i: int) -> None:
        optimizer.zero_grad()
        loss_of(model, x).backward()
        optimizer.step()

    return step


@loop
def sgd() -> Step:
    return trained(torch.optim.SGD, lr=0.01)


@loop
def sgd_with_momentum() -> Step:
    return trained(torch.optim.SGD, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.01)


@loop
def adam() -> Step:
    return trained(torch.optim.Adam, lr=0.01, amsgrad=True)


@loop
def adamw() -> Step:
    return trained(torch.optim.AdamW, lr=0.01)


@loop
def rmsprop() -> Step:
    return trained(torch.optim.RMSprop, lr=0.01, momentum=0.5, centered=True)


@loop
def adagrad() -> Step:
    return trained(torch.optim.Adagrad, lr=0.01)


@loop
def lbfgs() -> Step:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], lr=0.1, max_iter=2, history_size=3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (weight**4).sum()
        loss.backward()
        return loss

    return lambda i: optimizer.step(closure)


@loop
def closure_of_sgd() -> Step:
    model, x, losses = network(), torch.ones(2, 3), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = loss_of(model, x)
            loss.backward()
            return loss

        losses[:] = [optimizer.step(closure)]

    return step


class Signs(torch.optim.Optimizer):
    """An optimizer of the user's own, which keeps a mean of the gradients."""

    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                kept = self.state[p]
                with torch.no_grad():
                    kept["mean"] = 0.9 * kept.get("mean", torch.zeros_like(p)) + p.grad
                    p -= group["lr"] * kept["mean"].sign()


@loop
def optimizer_of_the_users_own() -> Step:
    return trained(lambda parameters, lr: Signs(parameters, {"lr": lr}), lr=0.01)


@loop
def hooks_of_an_optimizer() -> Step:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    seen: list[Any] = [None]

    def step(i: int) -> None:
        handle = optimizer.register_step_post_hook(lambda *given: seen.__setitem__(0, given))
        (weight**2).sum().backward()
        optimizer.step()
        handle.remove()
        seen[0] = None

    return step


@loop
def gradients_filled_with_zeros() -> Step:
    model, x = network(), torch.ones(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        optimizer.zero_grad(set_to_none=False)
        loss_of(model, x).backward()
        optimizer.step()

    return step


@loop
def gradients_cleared_by_the_module() -> Step:
    model, x = network(), torch.ones(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        loss_of(model, x).backward()
        optimizer.step()
        model.zero_grad(set_to_none=bool(i % 2))

    return step


@loop
def gradients_set_by_hand() -> Step:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)

    def step(i: int) -> None:
        weight.grad = weight.detach() * 0.1
        optimizer.step()
        weight.grad = None

    return step


@loop
def gradients_never_cleared() -> Step:
    weight = torch.ones(2, requires_grad=True)

    def step(i: int) -> None:
        (weight * 2).sum().backward()

    return step


@loop
def gradients_accumulated() -> Step:
    model, batches = network(), torch.ones(2, 2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        for batch in batches:
            (loss_of(model, batch) / 2).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@loop
def gradients_clipped() -> Step:
    model, x = network(), torch.ones(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        optimizer.zero_grad()
        loss_of(model, x).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()

    return step


@loop
def gradients_looked_at() -> Step:
    weight, norms = torch.ones(2, requires_grad=True), [0.0]

    def step(i: int) -> None:
        (weight**2).sum().backward()
        norms[0] = weight.grad.norm().item()
        weight.grad = None

    return step


@loop
def weights_changed_by_hand() -> Step:
    weight = torch.ones(2, requires_grad=True)

    def step(i: int) -> None:
        (weight**2).sum().backward()
        with torch.no_grad():
            weight.sub_(0.01 * weight.grad)
            weight.grad.zero_()

    return step


@loop
def weights_replaced() -> Step:
    kept = [torch.ones(2, requires_grad=True)]

    def step(i: int) -> None:
        weight = kept[0]
        (weight**2).sum().backward()
        kept[0] = (weight.detach() - 0.01 * weight.grad).requires_grad_()

    return step


@loop
def data_of_weights() -> Step:
    weight = torch.ones(2, requires_grad=True)

    def step(i: int) -> None:
        (weight**2).sum().backward()
        weight.data -= 0.01 * weight.grad
        weight.data = weight.data * 1
        weight.grad = None

    return step


@loop
def rates_on_a_schedule() -> Step:
    model, x = network(), torch.ones(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)

    def step(i: int) -> None:
        optimizer.zero_grad()
        loss = loss_of(model, x)
        loss.backward()
        optimizer.step()
        cosine.step()
        plateau.step(loss.item())

    return step


@loop
def mean_of_weights_in_a_copy() -> Step:
    model = network()
    mean = deepcopy(model)

    def step(i: int) -> None:
        with torch.no_grad():
            for mine, its in zip(mean.parameters(), model.parameters(), strict=True):
                mine.lerp_(its, 0.1)

    return step


@loop
def copy_of_the_model_in_each_step() -> Step:
    model, best = network(), [None]

    def step(i: int) -> None:
        best[0] = deepcopy(model)

    return step


@loop
def a_new_model_in_each_step() -> Step:
    def step(i: int) -> None:
        model = nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        loss_of(model, torch.ones(1, 2)).backward()
        optimizer.step()

    return step


@loop
def states_taken_and_given_back() -> Step:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss_of(model, torch.ones(1, 2)).backward()
    optimizer.step()

    def step(i: int) -> None:
        model.load_state_dict(model.state_dict())
        optimizer.load_state_dict(optimizer.state_dict())

    return step


@loop
def states_saved() -> Step:
    model = nn.Linear(2, 1)

    def step(i: int) -> None:
        file = BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        model.load_state_dict(torch.load(file))

    return step


@loop
def batches_of_arrays() -> Step:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = [np.full(3, i, np.float32) for i in range(4)]
    loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)

    def step(i: int) -> None:
        for batch in loader:
            optimizer.zero_grad()
            loss_of(model, batch).backward()
            optimizer.step()

    return step


@loop
def batch_norm_and_dropout() -> Step:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        model.train(bool(i % 2))
        optimizer.zero_grad()
        loss_of(model, torch.ones(2, 3)).backward()
        optimizer.step()

    return step


@loop
def state_of_a_recurrent_network() -> Step:
    model, x = nn.LSTM(2, 3), torch.ones(2, 1, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    hidden: list[Any] = [None]

    def step(i: int) -> None:
        optimizer.zero_grad()
        y, state = model(x, hidden[0])
        hidden[0] = tuple(h.detach() for h in state)
        y.sum().backward()
        optimizer.step()

    return step


@loop
def parameters_frozen_and_freed() -> Step:
    model, x = network(), torch.ones(2, 3)

    def step(i: int) -> None:
        model[0].requires_grad_(bool(i % 2))
        loss_of(model, x).backward()
        model.zero_grad()

    return step
