"""Running programs: one step on one library, and a whole program on both, compared as it goes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from tests.parity.compare import differences
from tests.parity.differential.observe import (
    TORCHS_FAULT,
    Sight,
    changes,
    complex_infinities,
    is_tensor,
    observed,
    told,
)
from tests.parity.differential.step import (
    HOOKS,
    WALKS,
    Dtype,
    Fresh,
    Hook,
    Program,
    Ref,
    Step,
    references,
    replaced,
)
from tests.parity.differential.versions import Starts
from tests.parity.observe import kind_of

Variables = dict[str, Any]

FORMS: dict[str, Callable[..., Any]] = {
    "method": lambda lib, name, x, *args, **kwargs: getattr(x, name)(*args, **kwargs),
    "function": lambda lib, name, *args, **kwargs: _named(lib, name)(*args, **kwargs),
    "operator": lambda lib, name, *args: getattr(operator, name)(*args),
    "get": lambda lib, name, x, index: x[index],
    "set": lambda lib, name, x, index, value: operator.setitem(x, index, value),
    "attribute": lambda lib, name, x: getattr(x, name),
    "assign": lambda lib, name, x, value: setattr(x, name, value),
    "node": lambda lib, name, x, *args: getattr(x.grad_fn, name)(*args),
}
"""How each form of step is done, from the library, the step's name and its operands."""


def _named(lib: Any, name: str) -> Any:
    return reduce(getattr, name.split("."), lib)


@dataclass
class Outcome:
    """What came of one step: the builtin class raised, or what it gave (no tensor: its value)."""

    raised: str | None = None
    text: str = field(default="", compare=False)
    given: Any = None


def runnable(variables: Variables, step: Step) -> bool:
    """Whether all that a step names was made."""
    return all(name in variables for name in references(step))


def execute(lib: Any, variables: Variables, step: Step, finish: Callable[[], Any]) -> Outcome:
    """Do a step: bind what it makes, and say what came of it. finish: sends what is pending.

    A gradient that torch hands out in memory that something else has too gets no name: what is
    written to one of them would show in the other, which no program should rely on.
    """
    try:
        with ExitStack() as modes:
            for mode in step.modes:
                modes.enter_context(_mode(lib, mode))
            made = _done(lib, variables, step)
        finish()
    except Exception as problem:
        return Outcome(kind_of(problem), str(problem))
    if step.form == "delete":
        del variables[step.args[0].name]
        return Outcome()
    return Outcome(given=_bound(variables, step, made))


def _mode(lib: Any, mode: str) -> Any:
    if mode == "set_grad_enabled":
        return lib.set_grad_enabled(False)
    return getattr(lib, mode)()


def _done(lib: Any, variables: Variables, step: Step) -> Any:
    def concrete(value: Any) -> Any:
        if isinstance(value, Ref):
            return variables[value.name]
        if isinstance(value, Fresh):
            x = variables[value.name]
            return (x.detach() if value.detached else x).clone()
        if isinstance(value, Dtype):
            return getattr(lib, value.name)
        return HOOKS[value.name][1] if isinstance(value, Hook) else value

    if step.form == "delete":
        return None
    args = replaced(step.args, concrete)
    kwargs = {name: replaced(value, concrete) for name, value in step.kwargs}
    return FORMS[step.form](lib, step.name, *args, **kwargs)


def _bound(variables: Variables, step: Step, made: Any) -> Any:
    """Give results their names; what is a plain value is compared as it is."""
    several = isinstance(made, tuple | list) and any(is_tensor(m) for m in made)
    results = list(made) if several else [made]
    for name, value in zip(step.out, results, strict=False):
        if value is not None and not (step.kind in WALKS and _lent(value, variables)):
            variables[name] = value
    if several:
        return [None if m is None else "tensor" for m in results]
    if is_tensor(made):
        return "tensor"
    return made if isinstance(made, bool | int | float | complex | list) else None


def _lent(value: Any, variables: Variables) -> bool:
    """Whether torch gave a gradient in memory that has a name already."""
    if not hasattr(value, "untyped_storage") or not value.numel():
        return False
    memory = value.untyped_storage()._cdata
    known = (x for x in variables.values() if is_tensor(x))
    return any(x.untyped_storage()._cdata == memory for x in known)


@dataclass
class Found:
    """What a run of a program showed. at: the step where the libraries differed, if they did."""

    at: int | None = None
    differences: list[str] = field(default_factory=list)
    steps: list[tuple[str, str | None]] = field(default_factory=list)  # kind, error or None
    ended: str = "at its end"


def compare(program: Program, torch: Any, ours: Any, session: Any) -> Found:
    """Run a program on both, a step at a time, until they differ, a walk fails, or it ends.

    A step that fails may have changed nothing here; where torch's did, the program ends too.
    """
    found = Found()
    theirs_vars: Variables = {}
    our_vars: Variables = {}
    theirs_before: dict[str, Sight] = {}
    ours_before: dict[str, Sight] = {}
    starts = Starts()
    for number, step in enumerate(program):
        if not runnable(theirs_vars, step):
            continue
        expected = execute(torch, theirs_vars, step, lambda: None)
        actual = execute(ours, our_vars, step, session.flush)
        for name in set(step.out) - theirs_vars.keys():
            our_vars.pop(name, None)
        found.steps.append((step.kind, expected.raised))
        theirs = observed(theirs_vars)
        seen = told(our_vars, session)
        starts.level(step, theirs, seen)
        if complex_infinities(theirs) or TORCHS_FAULT in theirs.values():
            found.ended = "where torch's own results say nothing"
            return found
        wrong = _outcomes(expected, actual)
        failed_walk = expected.raised is not None and step.kind in WALKS
        spoilt = expected.raised is not None and bool(changes(theirs_before, theirs))
        if not wrong and expected.raised is not None:
            wrong = [f"changed by a step that failed: {d}" for d in changes(ours_before, seen)]
        if not wrong and not spoilt:
            wrong = changes(theirs, seen)
        if wrong:
            found.at, found.differences, found.ended = number, wrong, "differing"
            return found
        if failed_walk or spoilt:
            found.ended = "at a failed walk" if failed_walk else "where torch left half a step"
            return found
        theirs_before, ours_before = theirs, seen
    return found


def _outcomes(expected: Outcome, actual: Outcome) -> list[str]:
    if expected.raised != actual.raised:
        return [f"torch: {_told(expected)}\ngradwire: {_told(actual)}"]
    return differences(expected.given, actual.given, "result")


def _told(outcome: Outcome) -> str:
    if outcome.raised is None:
        return "no error"
    return f"{outcome.raised}: {outcome.text.splitlines()[0] if outcome.text else ''}"
