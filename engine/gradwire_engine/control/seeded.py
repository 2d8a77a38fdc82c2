"""Random numbers in a loop: each step has a stream of its own, and the way back draws the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradwire_engine.control.known import OfBody, known
from gradwire_engine.control.outlined import outlining
from gradwire_engine.control.rounds import Loop, refuse_symbols
from gradwire_engine.journal import assign
from gradwire_engine.mode import local, using
from gradwire_engine.random import Generator
from gradwire_engine.tape import Program
from gradwire_engine.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Seeded(OfBody):
    """A body with one row more, its step's number, by which it draws. place: where that stands."""

    body: Program
    place: int
    seed: int
    draw: int

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        number = int(values[self.place].numpy())
        source = np.random.SeedSequence([self.seed & (2**64 - 1), self.draw, number])
        generator = Generator(int(source.generate_state(1, np.uint64)[0]))
        with using(generator=generator):
            return self.body(*values[: self.place], *values[self.place + 1 :])


def seeded(
    loop: Loop, init: Sequence[Any], xs: list[Any], args: Sequence[Any], times: int
) -> tuple[Loop, list[Any]]:
    """The loop, and its rows with the steps' numbers, if its body may draw."""
    values = [*init, *xs, *args]
    refuse_symbols(loop.asked, values)
    if outlining(values) or not known(loop.body, loop.rows(values)).draws:
        return loop, xs
    body = _drawing(loop.body, loop.carries + loop.slices)
    device = values[0].device if values else local.state.device
    numbers = Tensor.of(np.arange(times), device=device)
    return replace(loop, body=body, slices=loop.slices + 1), [*xs, numbers]


def _drawing(body: Program, place: int) -> Seeded:
    """The body by step numbers at this place, from one draw of the random state in force."""
    state = local.state
    if state.generator is None:
        state.generator = Generator()
    draw = state.generator.draws
    assign(state.generator, "draws", draw + 1)
    return Seeded(body, place, state.generator.seed, draw)


@dataclass(frozen=True, slots=True)
class Counted:
    """A body, or where `steps` is false a condition, with the step's number as first carry."""

    program: Program
    steps: bool

    @property
    def id(self) -> str:
        """The program's."""
        return self.program.id

    def __call__(self, number: Any, *values: Any) -> tuple[Any, ...]:
        if not self.steps:
            return self.program(*values)
        return (number + 1, *self.program(number, *values))


def counted(
    cond_fn: Program, body_fn: Program, values: Sequence[Any]
) -> tuple[Counted, Counted, Tensor]:
    """Condition and body of a loop that draws, and its first step's number."""
    body = Counted(_drawing(body_fn, 0), True)
    device = values[0].device if values else local.state.device
    return Counted(cond_fn, False), body, Tensor.of(np.asarray(0), device=device)
