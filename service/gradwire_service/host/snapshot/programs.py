"""Programs in a snapshot: each once, as it was posted; and what holds them in the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.snapshot.fields import (
    flag,
    flags,
    incompatible,
    listed,
    named,
    need,
    text,
    whole,
)
from gradwire_service.host.custom import Backward
from gradwire_service.host.hooks import BEFORE, Hook
from gradwire_service.host.inside import Inside
from gradwire_service.host.limits import Limits
from gradwire_service.host.programs import Program, build
from gradwire_service.host.programs.normal import written
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.names import may_be_written
from gradwire_service.host.protocol.requests import Program as Model
from gradwire_service.host.snapshot import loops

_LONGEST_ID = 128


class Written:
    """Programs as they are met; those that one calls come before it."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._known: set[str] = set()

    def __call__(self, what: Any) -> Any:
        """What stands in the graph for a program, as data."""
        loop = loops.WRITE.get(type(what))
        if loop is not None:
            return {loop[0]: loop[1](self, what)}
        write = _WRITE.get(type(what))
        if write is None:
            name = getattr(what, "id", type(what).__name__)
            raise error(
                "untraceable",
                f"snapshot: the graph holds {name}, a function of Python",
                "hooks and functions have to be programs for a snapshot, not Python of this "
                "process",
                raised=NotImplementedError,
            )
        return write(self, what)

    def program(self, program: Any) -> str:
        """The id of a program, which is written with all that it calls."""
        if type(program) is not Program:
            return str(self(program))  # refuses it
        if program.id not in self._known:
            self._known.add(program.id)
            for called in program.calls.values():
                self.program(called)
            self.rows.append(program_row(program))
        return program.id


def program_row(program: Program) -> dict[str, Any]:
    """A program as it was posted, with its id; those that it calls are named by theirs."""
    entries = [entry.written() for entry in program.entries]
    row = {"id": program.id, "inputs": entries, "outputs": list(program.outputs)}
    if program.source is not None:
        return row | {"source": program.source}
    return row | {"ops": [written(step) for step in program.steps]}


def _hook(rows: Written, hook: Hook) -> dict[str, Any]:
    program = None if hook.program is None else rows.program(hook.program)
    row = [hook.id, program, hook.observes, hook.out, hook.takes, dict(hook.keep)]
    return {"hook": [*row, [list(pair) for pair in hook.late]] if hook.late else row}


def _backward(rows: Written, backward: Backward) -> dict[str, Any]:
    return {"backward": [rows.program(backward.program.program), list(backward.null)]}


_WRITE: dict[type, Callable[[Written, Any], dict[str, Any]]] = {
    Hook: _hook,
    Backward: _backward,
    Inside: lambda rows, inside: {"inside": rows.program(inside.program)},
}


class Restored:
    """The programs of a snapshot, built anew; each has to be what its id says."""

    def __init__(self, rows: Any, limits: Limits) -> None:
        self._programs: dict[str, Program] = {}
        rows = listed(rows, "programs")
        need(len(rows) <= limits.programs, f"it has {len(rows)} programs, and {limits.programs} "
             "is the limit")  # fmt: skip
        for row in rows:
            self._build(named(row, "a program"), limits)

    def _build(self, row: Mapping[str, Any], limits: Limits) -> None:
        key = text(row.get("id"), "the id of a program")
        try:
            model = read(Model, {name: value for name, value in row.items() if name != "id"})
            made = build(model, {}, self.find, limits)
        except GradwireError as problem:
            raise incompatible(f"program {key}: {problem.detail}") from problem
        need(made.id == key, f"program {key} is another one, {made.id}")
        self._programs[key] = made

    def find(self, key: Any) -> Program:
        """The program of an id."""
        found = self._programs.get(key) if type(key) is str else None
        if found is None:
            raise incompatible(f"it lacks the program {str(key)[:64]!r}")
        return found

    def __call__(self, data: Any) -> Any:
        """What data stands for in the graph."""
        need(len(named(data, "what holds a program")) == 1, "what holds a program is two things")
        ((kind, fields),) = data.items()
        if kind in loops.READ:
            return loops.READ[kind](self, fields)
        read_it = _READ.get(kind)
        if read_it is None:
            raise incompatible(f"a program is held by {kind[:60]!r}")
        return read_it(self, fields)


def _read_hook(programs: Restored, data: Any) -> Hook:
    fields = listed(data, "a hook")
    need(len(fields) in (6, 7), "a hook has other fields")
    key, program, observes, out, takes, keep = fields[:6]
    named_well = out is None or (type(out) is str and may_be_written(out))
    need(named_well, "a hook's out is no name")
    return Hook(
        text(key, "the id of a hook", _LONGEST_ID),
        None if program is None else programs.find(program),
        flag(observes, "observes"),
        out,
        whole(takes, "what a hook takes", BEFORE),
        _kept(keep),
        tuple([_late(pair) for pair in listed((*fields, [])[6], "what a hook waits for")]),
    )


def _late(data: Any) -> tuple[int, str]:
    place, name = listed(data, "what a hook waits for", 2)
    return whole(place, "a place of an input", 0), text(name, "what a hook waits for", 256)


def _kept(data: Any) -> tuple[tuple[str, str], ...]:
    found = named(data, "what a hook keeps")
    well = all(type(name) is str and may_be_written(name) for name in found.values())
    need(well, "a hook keeps something under no name")
    return tuple(found.items())


def _read_backward(programs: Restored, data: Any) -> Backward:
    key, null = listed(data, "a backward", 2)
    program, absent = programs.find(key), flags(null, "null")
    need(absent.count(False) == len(program.outputs), f"program {key} gives other gradients")
    return Backward(Inside(program), absent)


_READ: dict[str, Callable[[Restored, Any], Any]] = {
    "hook": _read_hook,
    "backward": _read_backward,
    "inside": lambda programs, key: Inside(programs.find(key)),
}
