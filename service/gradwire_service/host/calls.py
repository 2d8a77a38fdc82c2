"""Steps that call a program: as part of the graph, or under a transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from gradwire_engine.checkpoint import checkpoint
from gradwire_engine.control import called
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.layout import in_rows, sees
from gradwire_engine.vmap import vmap
from gradwire_service.host.custom import custom
from gradwire_service.host.derivatives import Ask, Wanted, derive
from gradwire_service.host.inside import Inside, located
from gradwire_service.host.literals import placed
from gradwire_service.host.protocol.calls import CallPart, CallStep, TransformStep, VmapStep
from gradwire_service.host.scope import Callee

if TYPE_CHECKING:
    from gradwire_service.host.sessions import Session
    from gradwire_service.host.steps import Steps


def call(steps: Steps, step: CallStep) -> None:
    """Run a program on tensors of the scope; its nodes land in the graph."""
    program = steps.session.program(step.call)
    values = operands(steps, program, step)
    steps.session.origins.mark(steps.index, step.out)
    if step.backward is not None:
        outputs = custom(program, steps.session.program(step.backward), step, values)
    elif step.planned:
        outputs = called(Inside(program), values)
    elif step.checkpoint:
        outputs = checkpoint(Inside(program), values, step.preserve_rng_state)
    else:
        outputs = Inside(program)(*values)
    direct = step.backward is None and not step.planned  # views of arguments are torch's then
    results = [x if direct and sees(x, values) else in_rows(x, values) for x in outputs]
    steps.name_results(program.id, step.out, results[0] if len(results) == 1 else results)


def over_batch(steps: Steps, step: VmapStep) -> None:
    """Run a program once for all examples along an axis of its arguments."""
    program = steps.session.program(step.vmap)
    values = operands(steps, program, step)
    steps.session.origins.mark(steps.index, step.out)
    in_dims, out_dims = _dims(step.in_dims), _dims(step.out_dims)
    batched = vmap(Inside(program), in_dims, out_dims, step.randomness)
    outputs = [in_rows(x, values) for x in batched(*values)]
    steps.name_results(program.id, step.out, outputs[0] if len(outputs) == 1 else outputs)


def _dims(given: int | Sequence[int | None]) -> int | tuple[int | None, ...]:
    return given if isinstance(given, int) else tuple(given)


def transform(steps: Steps, step: TransformStep) -> None:
    """A derivative of a program at tensors of the scope, by name its parts in order."""
    program = steps.session.program(step.call)
    values = operands(steps, program, step)
    steps.session.origins.mark(steps.index, step.out)
    _name(steps, step, program, _derived(steps, step, program, values))


def transform_again(steps: Steps, step: TransformStep) -> None:
    """The same where the step was posted before: by a plan, if there is one for it."""
    session = cast("Session", steps.session)
    program = session.program(step.call)
    values = operands(steps, program, step)
    session.origins.mark(steps.index, step.out)
    again = session.again
    found = None if again is None else again.found(session, program, step, values)
    if found is None:
        found = _derived(steps, step, program, values)
        if again is not None:
            again.learn(session, program, step, values, found)
    _name(steps, step, program, found)


def _derived(
    steps: Steps, step: TransformStep, program: Callee, values: Sequence[Any]
) -> list[Any]:
    """The derivative's parts and, where they are asked for, the program's outputs behind them."""
    asked = Ask(program, values, Wanted.of(step), steps.reader.cotangent, step.create_graph)
    try:
        found = derive(step.transform, asked)
    except GradwireError as problem:
        raise located(problem, program) from problem.__cause__
    outputs = () if step.values is None else found.outputs
    if not step.create_graph:
        outputs = [x.detach() for x in outputs]
    return [in_rows(x, values) for x in (*found.flat(), *outputs)]


def _name(steps: Steps, step: TransformStep, program: Callee, found: Sequence[Any]) -> None:
    """Bind what was found."""
    last = len(found) - (0 if step.values is None else len(program.outputs))
    parts = found[:last]
    steps.name_results(step.transform, step.out, parts[0] if len(parts) == 1 else parts)
    if step.values is not None:
        steps.name_results(program.id, list(step.values), found[last:])


def operands(steps: Steps, program: Callee, step: CallPart) -> list[Any]:
    """The values of a call's arguments, one for each input of the program."""
    check_count("program", program, step.args)
    steps.spend(program)
    return [_operand(steps, place, value) for place, value in enumerate(step.args)]


def check_count(what: str, program: Callee, args: Sequence[Any], more: str = "") -> None:
    """Refuse other than one argument for each input. more: what else the caller can do."""
    if len(args) != len(program.inputs):
        raise error(
            "invalid_argument",
            f"{what} {program.id}: it takes {len(program.inputs)} arguments "
            f"({', '.join(program.inputs)}), got {len(args)}",
            f"give one for each input, in order{more}",
            raised=TypeError,
        )


def _operand(steps: Steps, place: int, value: Any) -> Any:
    try:
        return steps.reader.operand(value)
    except GradwireError as problem:
        raise placed(problem, f"args[{place}]") from problem.__cause__
