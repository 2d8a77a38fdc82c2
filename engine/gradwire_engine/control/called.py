"""A program as one node: its plan forward, and the plan of its way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradwire_engine import function
from gradwire_engine.arrays import backend
from gradwire_engine.control.known import Known, OfLoop, known
from gradwire_engine.control.rounds import Loop, Step
from gradwire_engine.control.step_back import StepBack
from gradwire_engine.control.wrapped import level_of
from gradwire_engine.errors import GradwireError
from gradwire_engine.function import Made
from gradwire_engine.function_rule import Function
from gradwire_engine.mode import local
from gradwire_engine.symbol import SYMBOLIC
from gradwire_engine.tape import Program
from gradwire_engine.tensor import Tensor


def called(body: Program, args: Sequence[Any]) -> tuple[Any, ...]:
    """What a body gives for these arguments, which keeps nothing but them for its gradient.

    It has a plan once it has run often enough. A body that draws, writes to its arguments or looks
    at elements runs op by op, and so does one on values of transforms.
    """
    found = _plannable(body, args)
    if found is None:
        return tuple(body(*args))
    loop = Loop(body, 0, len(args), "call")
    wanted = tuple(v.dtype.differentiable and v.requires_grad for v in args)

    def forward(*given: Any) -> Made:
        device = given[0].device if given else local.state.device
        library = backend(device).xp
        arrays = [library.ascontiguousarray(v.array) if v.shape else v.array for v in given]
        step = Step(loop, found, 1)
        step.note(1)
        made = [Tensor.of(a, device=device) for a in step(arrays)]
        fixed = [y for y in made if not y.dtype.differentiable]
        return Made(Function("Call", PullBack(loop, wanted), False), made, given, fixed)

    return tuple(function.apply(forward, args))


def _plannable(body: Program, args: Sequence[Any]) -> Known | None:
    """What is known of a body that may be one node."""
    if level_of(args) or any(v.spec.device == SYMBOLIC for v in args):
        return None
    try:
        found = known(body, args)
    except GradwireError:
        return None  # it says itself what is wrong
    return None if found.outputs is None or found.draws or found.writes else found


@dataclass(frozen=True, slots=True)
class PullBack(OfLoop):
    """The rule of a body's node: the step back, a body itself. wanted: which arguments get one."""

    loop: Loop
    wanted: tuple[bool, ...]

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        args, gradients = given[: len(self.wanted)], given[len(self.wanted) :]
        there = tuple(g is not None for g in gradients)
        back = StepBack(self.loop, self.wanted, there, ())
        found = iter(called(back, (*args, *[g for g in gradients if g is not None])))
        return tuple([next(found) if wanted else None for wanted in self.wanted])
