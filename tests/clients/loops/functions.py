"""Functions that travel: transforms, compiled ones, loops on the host."""

from __future__ import annotations

from typing import Any

from tests.clients.loops import Step, loop
from tests.clients.loops.gradients import weight
from tests.clients.loops.training import loss_of, network

import gradwire as torch


@loop
def transforms_composed() -> Step:
    x = torch.ones(2, 3)
    slopes = torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))
    return lambda i: slopes(x)


@loop
def forward_mode() -> Step:
    x = torch.ones(3)
    return lambda i: torch.func.jvp(torch.sin, (x,), (x,))


@loop
def pullbacks() -> Step:
    x = torch.ones(3)

    def step(i: int) -> None:
        y, pull = torch.func.vjp(torch.sin, x)
        pull(y)

    return step


@loop
def jacobians_and_hessians() -> Step:
    x = torch.ones(2)

    def step(i: int) -> None:
        torch.func.jacrev(torch.sin)(x)
        torch.func.hessian(lambda x: x.sin().sum())(x)
        torch.autograd.functional.jacobian(torch.sin, x)

    return step


@loop
def modules_as_functions() -> Step:
    model, x = network(), torch.ones(2, 3)
    kept = [{name: p.detach() for name, p in model.named_parameters()}]

    def loss(parameters: Any) -> Any:
        return torch.func.functional_call(model, parameters, (x,)).sum()

    def step(i: int) -> None:
        slopes = torch.func.grad(loss)(kept[0])
        kept[0] = {name: p - 0.01 * slopes[name] for name, p in kept[0].items()}

    return step


@loop
def compiled_functions() -> Step:
    model, x = network(), torch.ones(2, 3)
    compiled = torch.compile(lambda x: loss_of(model, x))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(i: int) -> None:
        optimizer.zero_grad()
        compiled(x).backward()
        optimizer.step()

    return step


@loop
def functions_with_another_number_each_time() -> Step:
    x = torch.ones(2)
    return lambda i: torch.func.grad(lambda x: (x * (i % 5)).sum())(x)


@loop
def loops_on_the_host() -> Step:
    w, xs = weight(), torch.ones(2, 3)

    def step(i: int) -> None:
        carry, _ = torch.scan(lambda carry, x: (carry * x, carry), w, xs)
        carry.sum().backward()
        w.grad = None

    return step


@loop
def loops_on_the_host_until() -> Step:
    x = torch.ones(1)
    return lambda i: torch.while_loop(lambda x: x.sum() < 8, lambda x: (x * 2,), (x,))


@loop
def branches_on_the_host() -> Step:
    w = weight()

    def step(i: int) -> None:
        y = torch.cond(w.sum() > 1, lambda x: x.sin(), lambda x: x.cos(), (w,))
        y.sum().backward()
        w.grad = None

    return step
