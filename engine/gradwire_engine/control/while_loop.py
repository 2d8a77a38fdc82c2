"""while_loop: a body as long as a condition holds, as one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradwire_engine import function
from gradwire_engine.arrays import Array
from gradwire_engine.control import while_wrapped, wrapped
from gradwire_engine.control.cond import need_bool
from gradwire_engine.control.known import WORTH, known
from gradwire_engine.control.outlined import outlined, outlining
from gradwire_engine.control.rounds import Loop, Running, Step, looked_at, refuse_symbols
from gradwire_engine.control.scan import node
from gradwire_engine.control.seeded import counted
from gradwire_engine.errors import error
from gradwire_engine.function import Made
from gradwire_engine.function_rule import Function
from gradwire_engine.mode import charge, local
from gradwire_engine.tape import Program
from gradwire_engine.tensor import Tensor


def while_loop(
    cond_fn: Program,
    body_fn: Program,
    carried: Sequence[Any],
    args: Sequence[Any] = (),
    *,
    bound: int | None = None,
) -> list[Any]:
    """Run a body on its own results as long as the condition holds for them; the last carries.

    cond_fn: from carries and `args` to one bool. body_fn: from the same to the new carries. bound:
    it has to end within so many steps; gradients need one, since the carries of all steps are kept
    for them.
    """
    loop = Loop(body_fn, len(carried), 0, "while_loop")
    values = (*carried, *args)
    refuse_symbols(loop.asked, values)
    if outlining(values) or not known(body_fn, values).draws:
        return run(cond_fn, loop, values, bound)
    cond_fn, body_fn, number = counted(cond_fn, body_fn, values)
    loop = replace(loop, body=body_fn, carries=loop.carries + 1)
    return run(cond_fn, loop, (number, *values), bound)[1:]


def run(cond_fn: Program, loop: Loop, values: Sequence[Any], bound: int | None) -> list[Any]:
    """The last carries for these values: carries, and the rest."""
    if wrapped.level_of(values):
        return while_wrapped.looped(run, cond_fn, loop, values, bound)
    refuse_symbols(loop.asked, values)
    if not outlining(values):
        _check(cond_fn, loop, values)
    needs = local.state.grad and any(v.requires_grad for v in values)

    def forward(*given: Any) -> Made:
        keep = needs and bound is not None
        if outlining(given):
            count = 1 if bound is None else bound
            made, stacks = outlined(loop, given, count, keep, cond_fn)
        else:
            turns = _Turns(cond_fn, loop, given, keep)
            made, stacks = turns.all(bound)
            count = turns.count
        if not needs or bound is not None:
            return node("WhileLoop", loop, given, made, stacks, count, False)
        fixed = [y for y in made if not y.dtype.differentiable]
        return Made(Function("WhileLoop", Unbounded(loop.body.id)), made, (), fixed)

    return function.apply(forward, values)[: loop.carries]


def _check(cond_fn: Program, loop: Loop, values: Sequence[Any]) -> None:
    """Shapes before work: the condition is one bool, and carries stay what they are."""
    found = known(cond_fn, values).outputs
    if found is not None:
        _check_condition(found)
    made = looked_at(loop, values).outputs
    if made is not None and len(made) != loop.carries:
        raise error(
            "invalid_argument",
            f"while_loop: the body gives {len(made)} results, and has {loop.carries} carries",
            "give the new carries, one for each",
        )


def _check_condition(found: Sequence[Any]) -> None:
    if len(found) != 1:
        raise error(
            "invalid_argument",
            f"while_loop: the condition gives {len(found)} results",
            "give one bool",
        )
    need_bool("while_loop: the condition", found[0])


@dataclass(frozen=True, slots=True)
class Unbounded:
    """The rule of a loop of which nothing was kept."""

    id: str

    def __call__(self, *gradients: Any) -> tuple[Any, ...]:
        raise error(
            "invalid_argument",
            "while_loop: its gradient needs the carries of all steps, and how many there may be "
            "was not said",
            "give it a bound, or use scan with a length",
        )


class _Turns(Running):
    """A loop that runs on arrays until its condition says no."""

    def __init__(self, cond_fn: Program, loop: Loop, values: Sequence[Tensor], keep: bool) -> None:
        super().__init__(loop, values)
        self._cond, self._values = Loop(cond_fn, 0, 0, loop.asked), values
        self._kept: list[list[Array]] | None = [[] for _ in self.carry] if keep else None
        self._nbytes = sum(v.spec.nbytes for v in values[: loop.carries])
        self._plan(0)
        self.count = self._noted = 0

    def _plan(self, times: int) -> None:
        self._ask = Step(self._cond, known(self._cond.body, self._values), times)
        self._step = Step(self._loop, looked_at(self._loop, self._values), times)

    def all(self, bound: int | None) -> tuple[list[Tensor], list[Tensor]]:
        """The last carries; those that were kept, an array each with a row for each step."""
        try:
            with self:
                while self._goes_on():
                    self._tick()
                    if bound is not None and self.count >= bound:
                        raise error(
                            "limit_exceeded",
                            f"while_loop: it has not ended after {bound} steps, its bound",
                            "give it a higher bound, or another condition",
                        )
                    self._turn()
        finally:
            self._note()  # last: it may refuse
        return [self._tensor(a) for a in self.carry], self._stacked()

    def _goes_on(self) -> bool:
        (found,) = self._ask([*self.carry, *self._rest])
        if self._ask.outputs is not None:
            _check_condition(self._ask.outputs)
        return bool(found.reshape(()))

    def _turn(self) -> None:
        if self._kept is not None:
            charge(self._nbytes)
            for place, array in enumerate(self.carry):
                self._kept[place].append(array)
                self._held[f"{self.count}.{place}"] = self._tensor(array)
        self.carry = list(self._step([*self.carry, *self._rest]))[: self._loop.carries]
        self.count += 1
        if self.count == WORTH:
            self._note()
            self._plan(WORTH)

    def _note(self) -> None:
        """Have the meter count the turns since the last time."""
        times, self._noted = self.count - self._noted, self.count
        for step in (self._ask, self._step):
            step.note(times)

    def _stacked(self) -> list[Tensor]:
        if self._kept is None:
            return []
        charge(self._nbytes * self.count)
        found = []
        for arrays, like in zip(self._kept, self._values, strict=False):
            spec = like.spec
            stack = self._library.empty((self.count, *spec.shape), spec.dtype.numpy)
            for place, array in enumerate(arrays):
                stack[place] = array
            found.append(self._tensor(stack))
        return found

    def _tensor(self, array: Array) -> Tensor:
        if self.device == "cpu":
            array = np.asarray(array)
        return Tensor.of(array, device=self.device)
