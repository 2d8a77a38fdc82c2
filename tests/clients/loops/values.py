"""Values without training: results kept and replaced, written, drawn, read, or forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.clients.loops import Step, loop
from tests.clients.loops.gradients import weight
from tests.clients.loops.training import network

import gradwire as torch
from gradwire.current import Client


@loop
def nothing_looked_at() -> Step:
    x = torch.ones(3)

    def step(i: int) -> None:
        (x * 2).exp()

    return step


@loop
def predictions() -> Step:
    model, x = network(), torch.ones(2, 3)

    def step(i: int) -> None:
        with torch.no_grad():
            model(x)

    return step


@loop
def predictions_in_inference_mode() -> Step:
    model, x = network(), torch.ones(2, 3)

    def step(i: int) -> None:
        with torch.inference_mode():
            model(x).argmax(1)

    return step


@loop
def lists_filled_and_cleared() -> Step:
    w, losses = weight(), []

    def step(i: int) -> None:
        losses.append((w * i).sum())
        if len(losses) == 5:
            losses.clear()

    return step


@loop
def results_by_keys() -> Step:
    x, found = torch.ones(3), {}

    def step(i: int) -> None:
        found[i % 3] = x * i

    return step


@loop
def results_with_a_history_replaced() -> Step:
    w = weight()
    kept = [w * 1]

    def step(i: int) -> None:
        kept[0] = kept[0].detach() + w

    return step


@loop
def views_written() -> Step:
    x = torch.zeros(4, 3)

    def step(i: int) -> None:
        x[i % 4] = i
        x[1:3].add_(1)
        x.view(-1, 2)[0].zero_()

    return step


@loop
def views_written_with_a_history() -> Step:
    w = weight()

    def step(i: int) -> None:
        y = torch.zeros(2, 3)
        y[0] = w
        y[1].add_(w)
        y.sum().backward()
        w.grad = None

    return step


@loop
def written_in_place() -> Step:
    x = torch.zeros(3)

    def step(i: int) -> None:
        with torch.no_grad():
            x.add_(1).mul_(0.5)
            torch.add(x, 1, out=x)

    return step


@loop
def elements_read() -> Step:
    x = torch.ones(3)

    def step(i: int) -> None:
        y = x * i
        y.tolist(), y.numpy(), repr(y), y.sum().item()
        [float(v) for v in y]

    return step


@loop
def shapes_that_elements_decide() -> Step:
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)

    def step(i: int) -> None:
        x[x > 0].sum().backward()
        x.nonzero()
        x.unique()
        x.grad = None

    return step


@loop
def parts_of_results() -> Step:
    x = torch.ones(2, 3)

    def step(i: int) -> None:
        x.sort(1)
        for row in x:
            row.topk(2)
        x.unbind(1)

    return step


@loop
def arrays_sent_up() -> Step:
    kept = [None]

    def step(i: int) -> None:
        kept[0] = torch.from_numpy(np.full(3, i)) + torch.tensor([1, 2, 3])

    return step


@loop
def random_numbers() -> Step:
    generator = torch.Generator()

    def step(i: int) -> None:
        torch.manual_seed(i)
        generator.manual_seed(i)
        torch.randn(2, generator=generator) + torch.rand(2)
        torch.bernoulli(torch.full((2,), 0.5))
        torch.distributions.Normal(0.0, 1.0).rsample((2,))

    return step


@loop
def random_states_put_back() -> Step:
    def step(i: int) -> None:
        state = torch.get_rng_state()
        torch.randn(2)
        torch.set_rng_state(state)

    return step


@loop
def transactions() -> Step:
    w = weight()
    optimizer = torch.optim.Adam([w], lr=0.01)

    def step(i: int) -> None:
        with w.session.transaction():
            optimizer.zero_grad()
            loss = (w**2).sum()
            loss.backward()
            optimizer.step()
        loss.item()

    return step


@loop
def profiles() -> Step:
    x = torch.ones(3)

    def step(i: int) -> None:
        with x.session.profile() as found:
            x * 2
        str(found)

    return step


@loop
def snapshots_and_pictures() -> Step:
    w = weight()

    def step(i: int) -> None:
        loss = (w * 2).sum()
        if i % 10 == 9:  # each looks at all objects of the process
            w.session.snapshot(loss)
            w.session.graph("json", loss)

    return step


@loop
def attributes_of_tensors() -> Step:
    x = torch.ones(3)

    def step(i: int) -> None:
        y = x * 2
        y.label = "a result"
        y.source: Any = x

    return step


@loop
def sessions_within_the_loop() -> Step:
    client = Client(weight().session.transport)

    def step(i: int) -> None:
        with client.session():
            (weight() * 2).sum().backward()

    return step
