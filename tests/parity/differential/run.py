"""Running programs: one step on one library, and a whole program on both, compared as it goes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
from tests.parity.differential.observe import (
    TORCHS_FAULT,
    Sight,
    changes,
    close,
    complex_infinities,
    exactness,
    fault,
    is_tensor,
    observed,
    told,
)
from tests.parity.differential.operands import concrete
from tests.parity.differential.step import WALKS, Program, Step, references, replaced
from tests.parity.differential.undefined import breaking, undefined
from tests.parity.differential.unguarded import Unguarded
from tests.parity.differential.versions import Starts
from tests.parity.observe import kind_of
from tests.parity.workers import Saying, nowhere

Variables = dict[str, Any]
TORCH, GRADWIRE = "torch", "gradwire"
"""Whose work a step is, as what watches over it is told."""


def _method(lib: Any, name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    if name == "register_hook":  # of a view whose base was written torch crashes, unless asked
        x.grad_fn  # noqa: B018 (for its history before)
    return getattr(x, name)(*args, **kwargs)


FORMS: dict[str, Callable[..., Any]] = {
    "method": _method,
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
    if step.form == "delete":
        return None
    made = partial(concrete, lib, variables)
    args = replaced(step.args, made)
    kwargs = {name: replaced(value, made) for name, value in step.kwargs}
    return FORMS[step.form](lib, step.name, *args, **kwargs)


def _bound(variables: Variables, step: Step, made: Any) -> Any:
    """Give results their names; what is a plain value is compared as it is."""
    keys = None
    if isinstance(made, dict):
        keys, made = [*made], (*made.values(),)
    several = isinstance(made, tuple | list) and any(is_tensor(m) for m in made)
    results = list(made) if several else [made]
    for name, value in zip(step.out, results, strict=False):
        if value is not None and not (step.kind in WALKS and _lent(value, variables)):
            variables[name] = value
    if several:
        return [keys, *(None if m is None else "tensor" for m in results)]
    if is_tensor(made):
        return "tensor"
    return made if isinstance(made, bool | int | float | complex | list) else None


def _lent(value: Any, variables: Variables) -> bool:
    """Whether torch gave a gradient in memory that something else has too, or as a view of it."""
    if not hasattr(value, "untyped_storage"):
        return False
    if any(value is x for x in variables.values()):  # asked for twice
        return True
    if value._is_view():
        return True
    if not value.numel():
        return False
    if not all(s for n, s in zip(value.shape, value.stride(), strict=True)):
        return True
    memory = value.untyped_storage()._cdata
    known = (x for x in variables.values() if is_tensor(x))
    return any(x.untyped_storage()._cdata == memory for x in known)


@dataclass
class Found:
    """What a run of a program showed. at: the step where the libraries differed, if they did.

    seen, given: after the last step that was compared, on torch and here.
    """

    at: int | None = None
    differences: list[str] = field(default_factory=list)
    steps: list[tuple[str, str | None]] = field(default_factory=list)  # kind, error or None
    seen: tuple[dict[str, Sight], dict[str, Sight]] = ({}, {})
    given: tuple[Any, Any] = (None, None)
    ended: str = "at its end"


def compare(program: Program, torch: Any, ours: Any, session: Any, at: Saying = nowhere) -> Found:
    """Run a program on both, a step at a time, until they differ, a walk fails, or it ends.

    A step that fails may have changed nothing here; where torch's did, the program ends too.
    at: told whose work begins, of each step.
    """
    both = _Both(torch, ours, session, at)
    for number, step in enumerate(program):
        if runnable(both.theirs, step):
            ended = both.do(number, step)
            if ended is not None:
                both.found.ended = ended
                both.found.at = number if both.found.differences else None
                break
    return both.found


def alone(program: Program, torch: Any, at: Saying) -> None:
    """Run a program on torch only, and look at its tensors after each step as compare does."""
    variables: Variables = {}
    for number, step in enumerate(program):
        at(TORCH, _placed(number, step))
        if runnable(variables, step):
            if breaking(variables, step):
                return
            execute(torch, variables, step, lambda: None)
            observed(variables)


def _placed(number: int, step: Step) -> str:
    return f"step {number}, {step.name}"


class _Both:
    """A program as it runs on both libraries, and what was seen of it before the step at hand."""

    def __init__(self, torch: Any, ours: Any, session: Any, at: Saying) -> None:
        self.torch, self.library, self.session, self.at = torch, ours, session, at
        self.theirs: Variables = {}
        self.ours: Variables = {}
        self.before: tuple[dict[str, Sight], dict[str, Sight]] = ({}, {})
        self.starts = Starts()
        self.unguarded = Unguarded()
        self.found = Found()

    def do(self, number: int, step: Step) -> str | None:
        """Do a step: why the program ends with it, if it does."""
        place = _placed(number, step)
        self.at(TORCH, place)
        if breaking(self.theirs, step):
            return "where torch promises nothing"
        void = undefined(self.theirs, step)
        expected = execute(self.torch, self.theirs, step, lambda: None)
        self.at(GRADWIRE, place)
        actual = execute(self.library, self.ours, step, self.session.flush)
        self.at(TORCH, place)
        for name in set(step.out) - self.theirs.keys():
            self.ours.pop(name, None)
        self.found.steps.append((step.kind, expected.raised))
        if void and expected.raised in (None, "IndexError"):  # or places were overwritten meanwhile
            return "where torch promises nothing"
        if fault(expected.text):
            return "where torch fails by a fault of its own"
        self.unguarded.found(step, self.theirs)
        if self.unguarded.written():
            return "where torch does not see a write"
        theirs = observed(self.theirs)
        self.at(GRADWIRE, place)
        seen = theirs, told(self.ours, self.session)
        self.at(TORCH, place)
        self.starts.found(step, self.theirs)
        self.starts.level(step, *seen)
        self.found.seen, self.found.given = seen, (expected.given, actual.given)
        self.found.differences = _outcomes(expected, actual, exactness(seen[0]))
        if self.found.differences:
            return "differing"
        return self._says_nothing(step, seen[0]) or self._changes(step, expected, *seen)

    def _says_nothing(self, step: Step, theirs: dict[str, Sight]) -> str | None:
        if _lie_otherwise(step, self.theirs, self.ours):
            return "where torch lays elements out in another order"
        if complex_infinities(theirs):
            return "where complex numbers are infinite"
        return (
            "where torch fails by a fault of its own" if TORCHS_FAULT in theirs.values() else None
        )

    def _changes(
        self, step: Step, expected: Outcome, theirs: dict[str, Sight], ours: dict[str, Sight]
    ) -> str | None:
        failed = expected.raised is not None
        spoilt = failed and bool(changes(self.before[0], theirs))
        if failed:
            undone = changes(self.before[1], ours)
            self.found.differences = [f"changed by a step that failed: {d}" for d in undone]
        if not spoilt and not self.found.differences:
            self.found.differences = changes(theirs, ours)
        self.before = theirs, ours
        if self.found.differences:
            return "differing"
        if failed and step.kind in WALKS:
            return "at a failed walk"
        return "where torch left half a step" if spoilt else None


RESULT = "result: "
"""What a difference begins with that is one of plain values."""


def _outcomes(expected: Outcome, actual: Outcome, relative: float) -> list[str]:
    if _except_clause(expected.raised) != _except_clause(actual.raised):
        return [f"torch: {_told(expected)}\ngradwire: {_told(actual)}"]
    return differing(expected.given, actual.given, relative)


def differing(e: Any, a: Any, relative: float, more: float = 0.0) -> list[str]:
    """What differs in plain results, by more than is allowed."""
    both = numbers(e) and numbers(a)
    same = close(flat(e), flat(a), relative, more) if both else e == a
    return [] if same else [f"{RESULT}{e} became {a}"]


def numbers(value: Any) -> bool:
    """Whether it is a number, or lists of numbers."""
    if isinstance(value, list):
        return all(map(numbers, value))
    return isinstance(value, int | float | complex)


def flat(value: Any) -> np.ndarray:
    """Plain values, however nested, as an array."""
    return np.ravel(np.asarray(value, complex))


def _lie_otherwise(step: Step, theirs: Variables, ours: Variables) -> bool:
    """Whether a result lies in memory in another order: what can be viewed then differs."""
    for name in step.out:
        x, y = theirs.get(name), ours.get(name)
        if is_tensor(x) and is_tensor(y) and x.shape == y.shape and x.numel():
            steps = zip(x.shape, x.stride(), y.stride(), strict=True)
            if any(n > 1 and a != b for n, a, b in steps):
                return True
    return False


def _except_clause(raised: str | None) -> str | None:
    """The class that a program would name: NotImplementedError is a RuntimeError, in Python too.

    Torch's kernels raise either of them for a dtype that they don't know, by no rule.
    """
    return "RuntimeError" if raised == "NotImplementedError" else raised


def _told(outcome: Outcome) -> str:
    if outcome.raised is None:
        return "no error"
    return f"{outcome.raised}: {outcome.text.splitlines()[0] if outcome.text else ''}"
