"""Exceptions in a step, which the loop catches and goes on after."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tests.clients.loops import Step, loop
from tests.clients.loops.gradients import weight
from tests.clients.loops.training import loss_of, network

import gradwire as torch
from gradwire import nn


class Stop(Exception):
    """Raised by what the user wrote."""


def _raise(*given: Any) -> Any:
    raise Stop


@loop
def raised_in_forward() -> Step:
    model, x = network(), torch.ones(2, 3)
    model[1].register_forward_hook(_raise)

    def step(i: int) -> None:
        with suppress(Stop):
            loss_of(model, x).backward()

    return step


@loop
def raised_by_shapes() -> Step:
    w, x = weight(), torch.ones(4)

    def step(i: int) -> None:
        with suppress(RuntimeError):
            (w * 2 + x).sum().backward()

    return step


@loop
def raised_by_elements() -> Step:
    w, rows = weight(), torch.tensor([7])

    def step(i: int) -> None:
        y = w.exp()
        with suppress(IndexError):
            y.index_select(0, rows).sum().backward()

    return step


@loop
def raised_by_a_second_walk() -> Step:
    w = weight()

    def step(i: int) -> None:
        loss = (w**2).sum()
        loss.backward()
        with suppress(RuntimeError):
            loss.backward()
        w.grad = None

    return step


@loop
def raised_in_a_hook() -> Step:
    w = weight()
    w.register_hook(_raise)

    def step(i: int) -> None:
        with suppress(Stop):
            (w**2).sum().backward()

    return step


class Broken(torch.autograd.Function):
    """Its backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise Stop


@loop
def raised_in_backward() -> Step:
    w = weight()

    def step(i: int) -> None:
        with suppress(Stop):
            Broken.apply(w).sum().backward()

    return step


@loop
def raised_around_the_optimizers_step() -> Step:
    w = weight()
    optimizer = torch.optim.Adam([w], lr=0.01)
    optimizer.register_step_post_hook(_raise)

    def step(i: int) -> None:
        (w**2).sum().backward()
        with suppress(Stop):
            optimizer.step()
        optimizer.zero_grad()

    return step


@loop
def raised_in_a_closure() -> Step:
    w = weight()
    optimizer = torch.optim.LBFGS([w], history_size=3)

    def closure() -> Any:
        optimizer.zero_grad()
        (w**2).sum().backward()
        raise Stop

    def step(i: int) -> None:
        with suppress(Stop):
            optimizer.step(closure)

    return step


@loop
def raised_in_a_transaction() -> Step:
    w = weight()

    def step(i: int) -> None:
        with suppress(Stop), w.session.transaction():
            (w**2).sum().backward()
            raise Stop

    return step


@loop
def raised_in_a_function_that_travels() -> Step:
    w = weight()

    def step(i: int) -> None:
        with suppress(Stop):
            torch.func.grad(lambda x: _raise(x * 2))(w)

    return step


@loop
def errors_that_are_kept() -> Step:
    w, x, last = weight(), torch.ones(4), [None]

    def step(i: int) -> None:
        try:
            nn.functional.mse_loss(w * 2, x.sum(1))
        except IndexError as problem:
            last[0] = repr(problem)

    return step
