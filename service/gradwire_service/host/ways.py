"""How steps that were posted before are done: what is the same at each post is found out once.

That is what follows from the step alone: its op, which of the op's overloads it means, where in the
arguments tensors go. What tensors those are, and all that follows from them, is the engine's affair
each time, so a way gives what the step gives bit by bit, errors included. Where a name stands for
nothing, or the step is of a rarer kind, it is done like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.catalogue import find, inplace_twin
from gradwire_engine.errors import GradwireError
from gradwire_engine.inplace import run
from gradwire_engine.mode import GRAD_MODES
from gradwire_engine.op import explain
from gradwire_engine.tensor import Tensor
from gradwire_service.host.arguments import Prepared, prepared
from gradwire_service.host.calls import transform_again
from gradwire_service.host.posted import Posted, Way
from gradwire_service.host.protocol.calls import TransformStep
from gradwire_service.host.protocol.names import GRAD
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.steps import OpStep
from gradwire_service.host.steps import DO, Steps, works_in_place

Ways = list[Way | None]


def ways_of(steps: Steps, wanted: Sequence[StepPart]) -> Ways | None:
    """The ways of steps that were posted before; None where each is looked at, or they are new."""
    return wanted.ways if type(wanted) is Posted and steps.profile is None else None


def go(steps: Steps, index: int, step: StepPart, ways: Ways) -> None:
    """Do a step of which no way is known yet, and find out how one like it is done."""
    steps.index = index
    steps.session.meter.tick()
    plain = DO[type(step)]
    if step.grad_mode is not None:
        plain = _in_mode(step.grad_mode, plain)
    plain(steps, step)
    ways[index] = _way_of(step, plain)


def _in_mode(mode: str, way: Way) -> Way:
    """The same in another grad mode."""
    entered = GRAD_MODES[mode]

    def inside(steps: Steps, step: StepPart) -> None:
        with entered():
            way(steps, step)

    return inside


def _way_of(step: StepPart, plain: Way) -> Way:
    """How to do a step that went well; `plain` does it as if it were new."""
    if type(step) is TransformStep:
        return transform_again if step.grad_mode is None else plain
    if type(step) is not OpStep or step.generator is not None:
        return plain
    in_place = step.op[-1] == "_" and works_in_place(step.op)
    op = inplace_twin(step.op) if in_place else find(step.op)
    call = None if op is None else prepared(op, step.args, step.kwargs)
    if call is None:
        return plain
    way = (_writing if in_place else _making)(step, call, plain)
    return way if step.grad_mode is None else _in_mode(step.grad_mode, way)


def _making(step: OpStep, call: Prepared, plain: Way) -> Way:
    name, out, overload = step.op, step.out, call.overload
    apply, given = overload, None
    short = getattr(overload, "short", None)
    if short is not None and short[0] == len(step.args) and not step.kwargs:
        given, apply = short  # the other arguments are defaults, which it knows

    def make(steps: Steps, step: StepPart) -> None:
        values = None if steps.several else _values(steps, call)
        if values is None:
            plain(steps, step)
            return
        steps.session.origins.mark(steps.index, out)
        try:
            result = apply(*values[:given])
        except (GradwireError, AttributeError, TypeError) as problem:
            explain(problem, overload, values)
        if type(result) is Tensor and type(out) is str:
            steps.bind(out, result)
        else:
            steps.name_results(name, out, result)

    return make


def _writing(step: OpStep, call: Prepared, plain: Way) -> Way:
    name, written, overload = step.op, step.args[0], call.overload

    def write(steps: Steps, step: StepPart) -> None:
        values = None if steps.several else _values(steps, call)
        if values is None:
            plain(steps, step)
            return
        steps.session.origins.mark(steps.index, written)
        run(name, overload, values)

    return write


def _values(steps: Steps, call: Prepared) -> tuple[Any, ...] | None:
    """The arguments, with what their names stand for now; None if one stands for nothing."""
    tensors = steps.session.tensors
    found: list[Any] = list(call.values)
    for place, name in call.tensors:
        value = tensors.get(name)
        if value is None and name[-len(GRAD) :] == GRAD:
            owner = tensors.get(name[: -len(GRAD)])
            value = None if owner is None else owner.grad
        if value is None:
            return None
        found[place] = value
    return tuple(found)
