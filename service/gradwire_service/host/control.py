"""Steps that run programs by a condition, or again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradwire_engine import control
from gradwire_engine.errors import error
from gradwire_engine.layout import in_rows
from gradwire_service.host.inside import Inside
from gradwire_service.host.protocol.control import CondStep, ControlStep, ScanStep, WhileStep
from gradwire_service.host.scope import Callee

if TYPE_CHECKING:
    from gradwire_service.host.steps import Steps


def programs_of(step: ControlStep) -> dict[str, str]:
    """The programs that a step names, by its fields."""
    fields = (
        ("true_fn", "false_fn") if isinstance(step, CondStep)
        else ("scan",) if isinstance(step, ScanStep)
        else ("while_loop", "body_fn")
    )  # fmt: skip
    return {field: getattr(step, field) for field in fields}


def given_to(step: ControlStep) -> list[Any]:
    """The arguments of its programs, as they stand in the step."""
    init = [] if isinstance(step, CondStep) else step.init
    rows = step.xs if isinstance(step, ScanStep) else []
    return [*init, *rows, *step.args]


def check(step: ControlStep, programs: Sequence[Callee]) -> int:
    """How many results it has, once the programs are seen to fit it and each other."""
    count = len(given_to(step))
    for field, program in zip(programs_of(step), programs, strict=True):
        if len(program.inputs) != count:
            raise error(
                "invalid_argument",
                f"{step.word}: {field} is program {program.id}, which takes {len(program.inputs)} "
                f"inputs ({', '.join(program.inputs)}), and gets {count}",
                "give one for each input, in order",
                raised=TypeError,
            )
    gives = [len(program.outputs) for program in programs]
    if isinstance(step, CondStep):
        _need(gives[0] == gives[1], step, f"true_fn gives {gives[0]} results, false_fn {gives[1]}",
              "both have to give as many")  # fmt: skip
        return gives[0]
    carries = len(step.init)
    if isinstance(step, WhileStep):
        _need(gives[0] == 1, step, f"the condition gives {gives[0]} results", "it gives one bool")
        _need(gives[1] == carries, step,
              f"body_fn gives {gives[1]} results, init has {carries}",
              "it gives the new carries, one for each")  # fmt: skip
        return carries
    _need(gives[0] >= carries, step, f"the program gives {gives[0]} results, init has {carries}",
          "it gives the new carries first, one for each")  # fmt: skip
    return gives[0]


def _need(holds: bool, step: ControlStep, detail: str, hint: str) -> None:
    if not holds:
        raise error("invalid_argument", f"{step.word}: {detail}", hint)


def run(steps: Steps, step: ControlStep) -> None:
    """Do the step; its results land in the graph."""
    programs = [steps.session.program(key) for key in programs_of(step).values()]
    check(step, programs)
    for program in programs:
        steps.spend(program)
    given = [steps.reader.operand(value) for value in given_to(step)]
    steps.session.origins.mark(steps.index, step.out)
    made = _run(steps, step, [Inside(program) for program in programs], given)
    found = [in_rows(x, given) for x in made]
    steps.name_results(step.word, step.out, found[0] if len(found) == 1 else found)


def _run(
    steps: Steps, step: ControlStep, programs: Sequence[Inside], given: Sequence[Any]
) -> list[Any]:
    if isinstance(step, CondStep):
        pred = steps.reader.operand(step.cond)
        return list(control.cond(pred, programs[0], programs[1], given))
    carries = len(step.init)
    init, rest = given[:carries], given[carries:]
    if isinstance(step, WhileStep):
        return control.while_loop(programs[0], programs[1], init, rest, bound=step.bound)
    count = len(step.xs)
    last, found = control.scan(
        programs[0],
        init,
        rest[:count],
        rest[count:],
        length=step.length,
        reverse=step.reverse,
        checkpoint=step.checkpoint,
    )
    return [*last, *found]
