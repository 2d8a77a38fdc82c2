"""Gradients: asked for in every way, with hooks, of functions of the user's own."""

from __future__ import annotations

from typing import Any

from tests.clients.loops import Step, loop
from tests.clients.loops.training import loss_of, network

import gradwire as torch
from gradwire import nn
from gradwire.utils.checkpoint import checkpoint


def weight() -> Any:
    """A small leaf."""
    return torch.ones(3, requires_grad=True)


@loop
def gradients_as_results() -> Step:
    w = weight()
    return lambda i: torch.autograd.grad((w**2).sum(), w)


@loop
def gradients_of_gradients() -> Step:
    w = weight()

    def step(i: int) -> None:
        (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
        (g**2).sum().backward(retain_graph=True)
        g.sum().backward()
        w.grad = None

    return step


@loop
def gradients_with_a_history() -> Step:
    w = weight()

    def step(i: int) -> None:
        (w**3).sum().backward(create_graph=True)
        w.grad.sum().backward()
        w.grad = None

    return step


@loop
def graphs_kept_for_a_second_walk() -> Step:
    w = weight()

    def step(i: int) -> None:
        loss = w.exp().sum()
        loss.backward(retain_graph=True)
        loss.backward()
        w.grad = None

    return step


@loop
def gradients_of_some_inputs() -> Step:
    a, b = weight(), weight()

    def step(i: int) -> None:
        (a * b).sum().backward(inputs=[a])
        a.grad = None

    return step


@loop
def gradients_of_results() -> Step:
    w, seen = weight(), [None]

    def step(i: int) -> None:
        y = w * 2
        y.retain_grad()
        y.sum().backward()
        seen[0] = y.grad
        w.grad = None

    return step


@loop
def hooks_of_tensors_and_nodes() -> Step:
    w = weight()

    def step(i: int) -> None:
        y = w * 2
        handles = [w.register_hook(lambda g: g * 2), y.register_hook(lambda g: g + 1)]
        handles.append(y.grad_fn.register_hook(lambda down, up: None))
        y.sum().backward()
        for handle in handles:
            handle.remove()
        w.grad = None

    return step


@loop
def hooks_that_stay() -> Step:
    w, norms = weight(), [None]
    w.register_hook(lambda g: norms.__setitem__(0, g.norm()))
    w.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))

    def step(i: int) -> None:
        (w**2).sum().backward()

    return step


@loop
def hooks_of_modules() -> Step:
    model, seen = nn.Linear(2, 1), {}

    def step(i: int) -> None:
        handles = [
            model.register_forward_hook(lambda m, given, y: seen.update(y=y)),
            model.register_full_backward_hook(lambda m, down, up: seen.update(up=up)),
        ]
        model(torch.ones(1, 2, requires_grad=True)).sum().backward()
        for handle in handles:
            handle.remove()
        model.zero_grad()

    return step


class Cube(torch.autograd.Function):
    """A function of the user's own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


@loop
def functions_of_the_users_own() -> Step:
    w = weight()

    def step(i: int) -> None:
        Cube.apply(w).sum().backward()
        w.grad = None

    return step


@loop
def checkpoints() -> Step:
    model, x = network(), torch.ones(2, 3)

    def step(i: int) -> None:
        checkpoint(model, x, use_reentrant=False).sum().backward()
        model.zero_grad()

    return step


@loop
def penalty_of_gradients() -> Step:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        x = torch.ones(2, 3, requires_grad=True)
        loss = loss_of(model, x)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        optimizer.zero_grad()
        (loss + g.norm()).backward()
        optimizer.step()

    return step


@loop
def graphs_that_are_dropped() -> Step:
    w = weight()

    def step(i: int) -> None:
        y = w
        for _ in range(3):
            y = (y * 2).tanh()

    return step


@loop
def nodes_looked_at() -> Step:
    w, names = weight(), [""]

    def step(i: int) -> None:
        y = (w * 2).sum()
        names[0] = y.grad_fn.next_functions[0][0].name()

    return step


@loop
def anomalies_looked_for() -> Step:
    w = weight()
    torch.autograd.set_detect_anomaly(True)

    def step(i: int) -> None:
        (w * 2).sum().backward()
        w.grad = None

    return step
