"""From the model of a program to the program: its text read, its steps checked, its id found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gradwire_engine.errors import error
from gradwire_service.host import source
from gradwire_service.host.elements import Array
from gradwire_service.host.limits import Limits
from gradwire_service.host.programs.check import Check
from gradwire_service.host.programs.entry import Entry
from gradwire_service.host.programs.normal import carried, identity, normal
from gradwire_service.host.programs.program import Program
from gradwire_service.host.protocol import from_source, limit_steps
from gradwire_service.host.protocol.calls import CallPart
from gradwire_service.host.protocol.requests import Program as Model
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.steps import OpStep


def build(
    model: Model,
    arrays: Mapping[str, Array],
    find: Callable[[str], Program],
    limits: Limits,
) -> Program:
    """The program of a model. `find` gives those that it calls, `arrays` came with the body.

    Refused: names nobody makes, ops that don't exist or don't take such arguments, unknown
    programs, repeated names, programs past the limits.
    """
    entries = [
        Entry(e)
        if isinstance(e, str)
        else Entry(e.name, e.dtype, None if e.shape is None else tuple(e.shape))
        for e in model.inputs
    ]
    _distinct("inputs", [entry.name for entry in entries])
    _distinct("outputs", model.outputs, "; in source text another name for y is again = y")
    if not model.outputs:
        raise error("invalid_request", "outputs: a program has at least one", "name what it gives")
    steps, lines = _steps(model, [entry.name for entry in entries], arrays, limits)
    text = normal(entries, steps, model.outputs)
    _limit("bytes", len(text), limits.program_bytes)
    check = Check([entry.name for entry in entries], find, limits)
    check.all(steps, lines, model.outputs)
    _limit("levels of calls", check.depth, limits.program_depth)
    _limit("steps (those of programs it calls among them)", check.size, limits.program_size)
    return Program(
        identity(text),
        tuple(entries),
        tuple(steps),
        tuple(model.outputs),
        source=model.source,
        lines=tuple(lines),
        calls=check.calls,
        leaves=frozenset(check.leaves),
        size=check.size,
        depth=check.depth,
        nbytes=len(text),
    )


def _distinct(field: str, names: Sequence[str], more: str = "") -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise error(
            "invalid_request",
            f"{field}: {twice!r} stands there twice",
            f"name each of them once{more}",
        )


def _limit(what: str, count: int, limit: int) -> None:
    if count > limit:
        raise error(
            "limit_exceeded",
            f"the program has {count} {what}, and the limit is {limit}",
            "split it into programs that are called one after the other",
        )


def _steps(
    model: Model, names: Sequence[str], arrays: Mapping[str, Array], limits: Limits
) -> tuple[Sequence[StepPart], Sequence[int]]:
    if model.source is None:
        limit_steps(len(model.ops or ()), limits.program_steps)
        return [_carried(step, arrays) for step in model.ops or ()], ()
    read = source.read(
        model.source,
        max_length=limits.source_length,
        max_steps=limits.program_steps,
        names=names,
    )
    return from_source(read.steps), read.lines


def _carried(step: StepPart, arrays: Mapping[str, Array]) -> StepPart:
    """The step with what it needs of the body in itself."""
    if not arrays:
        return step
    if not isinstance(step, OpStep | CallPart):
        return step
    fields = ("args", "kwargs") if isinstance(step, OpStep) else step.literals
    return step.model_copy(update={name: carried(getattr(step, name), arrays) for name in fields})
