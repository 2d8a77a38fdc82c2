"""What is recorded and not sent yet, and what becomes of it when a step fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gradwire import defaults
from gradwire.transport import Step
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.journal import Journal
from gradwire_engine.mode import local

if TYPE_CHECKING:
    from gradwire.tensor import Tensor


class Pending:
    """Steps in order; for each its line, the length of the journal before it, what it makes."""

    __slots__ = ("arrays", "lines", "made", "marks", "nbytes", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.lines: list[str] = []
        self.marks: list[int] = []
        self.made: list[list[tuple[str, ref[Tensor]]]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.nbytes = 0

    def add(
        self,
        step: Step,
        line: str,
        mark: int,
        made: Sequence[Tensor | None],
        arrays: dict[str, np.ndarray],
    ) -> None:
        """Add one step."""
        self.steps.append(step)
        self.lines.append(line)
        self.marks.append(mark)
        self.made.append([(t._name, ref(t)) for t in made if t is not None])
        self.arrays.update(arrays)
        self.nbytes += sum(array.nbytes for array in arrays.values())

    def extend(self, later: Pending, mark: int) -> None:
        """Add steps that were kept aside; what they changed in mirrors is not undone any more."""
        self.steps += later.steps
        self.lines += later.lines
        self.marks += [mark] * len(later.steps)
        self.made += later.made
        self.arrays |= later.arrays
        self.nbytes += later.nbytes

    def first_not_done(self, problem: GradwireError) -> int:
        """The step that failed, which is named in the error's notes; 0 if none was begun.

        It is the number of all steps where they were done and only reading a tensor failed.
        """
        step = problem.step
        if step is None or not 0 <= step <= len(self.steps):
            return 0
        if step < len(self.steps) and self.lines[step]:
            problem.add_note(f"recorded at {self.lines[step]}")
        return 0 if problem.code == "invalid_request" else step

    def freed_already(self, problem: GradwireError) -> bool:
        """Leave out what was done, and a name that was to be freed and is not there any more."""
        step = problem.step
        if problem.code != "tensor_not_found" or step is None or step >= len(self.steps):
            return False
        names = self.steps[step].get("free", ())
        gone = next((name for name in names if repr(name) in problem.detail), None)
        if gone is None:
            return False
        for done in (self.steps, self.lines, self.marks, self.made):
            del done[:step]
        self.steps[0] = {"free": [name for name in names if name != gone]}
        return True

    def lose(self, problem: GradwireError, first: int) -> tuple[list[str], set[str]]:
        """Give up the steps from `first` on.

        The names that still have to be freed; and names that the host never had, of which Python
        may speak nevertheless: it forgot them already, or holds no tensor by them.
        """
        where = self.lines[first] if first < len(self.lines) else ""
        never = {name for step in self.steps[first:] for name in _made_by(step)}
        unfreed = [n for step in self.steps[first:] for n in step.get("free", ())]
        gone = never.difference(unfreed)
        for made in self.made[first:]:
            for name, reference in made:
                tensor = reference()
                if tensor is not None:
                    tensor._lose(Lost(problem, where))
                    gone.discard(name)
        return [name for name in unfreed if name not in never], gone


def _made_by(step: Step) -> Iterator[str]:
    """The names that a step gives."""
    yield from _names_in([step.get("tensor"), step.get("out"), list(step.get("keep", {}).values())])


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names_in(item)


class Lost:
    """In the place of a lost tensor's mirror: asked for anything, it says why there is none."""

    __slots__ = ("_problem", "_where")

    def __init__(self, problem: GradwireError, where: str) -> None:
        self._problem = problem
        self._where = where

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        where = f", recorded at {self._where}," if self._where else ""
        raise error(
            "tensor_not_found",
            f"this tensor was never made: a step before it{where} failed: {self._problem.detail}",
            "make it again, after mending what failed",
            raised=RuntimeError,
        )


class Recording:
    """Changes to mirrors in the journal of their session, with the session held.

    `mark` is how long the journal was before. If the block raises, its changes are undone.
    """

    __slots__ = ("_before", "_journal", "_lock", "_prepare", "mark")

    def __init__(self, lock: Any, journal: Journal, prepare: Callable[[], None]) -> None:
        self._lock = lock
        self._journal = journal
        self._prepare = prepare

    def __enter__(self) -> Recording:
        self._lock.acquire()
        try:
            self._prepare()
        except BaseException:
            self._lock.release()
            raise
        state = local.state
        wanted = defaults.dtype()
        if state.default_dtype is not wanted:
            state.set_default_dtype(wanted)
        self._before = state.journal, state.device, state.fallible
        state.journal, state.device, state.fallible = self._journal, "meta", False
        self.mark = len(self._journal.entries)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        state = local.state
        state.journal, state.device, state.fallible = self._before
        if kind is not None:
            self._journal.rollback(self.mark)
        self._lock.release()

    @property
    def fallible(self) -> bool:
        """Whether an op ran whose elements may make it fail."""
        return local.state.fallible


_INSIDE = ("gradwire.", "gradwire_engine.")


def users_line() -> str:
    """Where the caller outside of this package stands: "file.py:12"."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "gradwire" and not name.startswith(_INSIDE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


__all__ = ["Lost", "Pending", "Recording", "users_line"]
