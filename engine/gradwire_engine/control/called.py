"""A program as one node: its plan forward, and the plan of its way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradwire_engine.apply import unsaved
from gradwire_engine.arrays import backend
from gradwire_engine.control.known import Known, OfLoop, known
from gradwire_engine.control.rounds import Loop, Step
from gradwire_engine.control.step_back import StepBack
from gradwire_engine.errors import GradwireError
from gradwire_engine.function_rule import Application, Function, FunctionRecipe, Rule
from gradwire_engine.mode import local
from gradwire_engine.symbol import SYMBOLIC
from gradwire_engine.tape import Edge, Node, Output, Program, next_seq
from gradwire_engine.tensor import INFERENCE, Tensor


def called(body: Program, args: Sequence[Any]) -> tuple[Any, ...]:
    """What a body gives for these arguments, which keeps nothing but them for its gradient.

    It has a plan once it has run often enough. A body that draws, writes to its arguments or looks
    at elements runs op by op, and so does one on values of transforms.
    """
    found = called_purely(body, args)
    return tuple(body(*args)) if found is None else found


def called_purely(body: Program, args: Sequence[Any]) -> tuple[Any, ...] | None:
    """What a body gives that neither draws nor writes; None of another, which is not run."""
    found = _plannable(body, args)
    if found is None:
        return None
    loop = Loop(body, 0, len(args), "call")
    edges = tuple([v.edge for v in args]) if local.state.grad else ()
    moves = edges.count(None) < len(edges)
    if moves and any(v.flags & INFERENCE for v in args):
        raise unsaved("Call")
    made = _results(loop, found, args)
    if moves and any(y.spec.dtype.differentiable for y in made):
        _record(loop, found, args, edges, made)
    return tuple(made)


def _record(
    loop: Loop,
    found: Known,
    args: Sequence[Tensor],
    edges: tuple[Edge | None, ...],
    made: Sequence[Tensor],
) -> None:
    """Give results their node, which keeps the arguments."""
    needs = tuple([edge is not None for edge in edges])
    recipe = found.recipes.get(needs)
    if recipe is None:
        recipe = found.recipes[needs] = _recipe(loop, found, needs)
    node = Node(recipe, edges, tuple(args), tuple([v.version for v in args]), next_seq())
    for place, out in enumerate(made):
        if out.spec.dtype.differentiable:
            out._edge = node if recipe.call.single else Output(node, place)


def _recipe(loop: Loop, found: Known, needs: tuple[bool, ...]) -> FunctionRecipe:
    """How the node of such a call is walked."""
    assert found.outputs is not None
    function = Function("Call", PullBack(loop, needs), False)
    call = Application(function, found.specs, found.outputs)
    tensors = (True,) * len(found.specs), (True,) * len(found.outputs)
    rule = Rule(function, call, needs, *tensors)
    return FunctionRecipe(call, rule, tuple(range(len(found.specs))))


def _results(loop: Loop, found: Known, args: Sequence[Tensor]) -> list[Tensor]:
    """What a body gives, as tensors outside of any graph."""
    device = args[0].spec.device if args else local.state.device
    contiguous = backend(device).xp.ascontiguousarray
    arrays = [contiguous(v.array) if v.spec.shape else v.array for v in args]
    step = Step(loop, found, 1)
    step.note(1)
    assert found.outputs is not None
    pairs = zip(step(arrays), found.outputs, strict=True)
    return [Tensor(array, spec, None).marked().in_mode() for array, spec in pairs]


def _plannable(body: Program, args: Sequence[Any]) -> Known | None:
    """What is known of a body that may be one node."""
    for v in args:
        if v.level or v.spec.device == SYMBOLIC:
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
