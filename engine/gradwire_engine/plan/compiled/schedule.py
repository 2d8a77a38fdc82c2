"""When each step of a compiled region is done: in which phase of a row, and in which loop.

A row is gone over in phases: what needs a fold along the row waits for the phase after it. In a
phase a piece of the row is gone over in loops: a step that is a loop of NumPy's ends one of ours.
What is made in one loop and read in another lies in a buffer, of a piece or of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.plan.code import CONTRACT, FOLD, MAP, Step
from gradwire_engine.plan.compiled.lanes import BOOL, KINDS, instruction
from gradwire_engine.plan.compiled.llvm import Unsupported
from gradwire_engine.plan.functions import copied, select


class Lies(Enum):
    """Along which axes of the space a value differs: all, the rows, the columns, none."""

    FULL = "full"
    ROW = "row"
    COLUMN = "column"
    ONE = "one"


class Loop(NamedTuple):
    """calls: of NumPy's loops, before it; steps: what is done in it; folds: of what it has."""

    calls: list[Step]
    steps: list[Step]
    folds: list[Step]


class Phase(NamedTuple):
    """rows: steps on one number a row, before its loops; totals: folds of such numbers."""

    rows: list[Step]
    totals: list[Step]
    loops: list[Loop]


class Schedule:
    """phases: in their order. wide: values that need a buffer of a row, narrow: of a piece.

    made, last: the phase and loop in which a value is made, and read for the last time.
    """

    def __init__(
        self, steps: Sequence[Step], lies: Mapping[int, Lies], phantoms: Mapping[int, Any],
        outside: set[int],
    ) -> None:  # fmt: skip
        self.phases: list[Phase] = []
        self.wide: set[int] = set()
        self.narrow: set[int] = set()
        self._lies, self._phantoms, self._outside = lies, phantoms, outside
        self.made: dict[int, tuple[int, int]] = {}
        self.last: dict[int, tuple[int, int]] = {}
        for step in steps:
            self._place(step)

    def _place(self, step: Step) -> None:
        (made,) = step.results
        arrays = [n for n in step.operands if n in self._phantoms]
        full = [n for n in arrays if self._lies[n] is Lies.FULL]
        phase = max((self.made.get(n, (0, 0))[0] for n in arrays), default=0)
        at = max((self._loop_of(n, phase) for n in full), default=0)
        if step.kind in (FOLD, CONTRACT):
            self._fold(step, made, full, phase, at)
        elif step.kind != MAP:
            raise Unsupported(step.kind)
        elif self._lies[made] is Lies.ROW:
            self.made[made] = phase, 0
            self._phase(phase).rows.append(step)
        elif self._lies[made] is not Lies.FULL:
            raise Unsupported("a map of what is the same in all rows")
        elif not in_lanes(step, self._phantoms):
            self._call(step, made, full, phase, at)
        else:
            self.made[made] = phase, at
            self._loop(phase, at).steps.append(step)
            self._keep(full, phase, at)

    def _call(self, step: Step, made: int, full: list[int], phase: int, at: int) -> None:
        """A loop of NumPy's: behind the loops that make its operands."""
        ready = max((self._loop_of(n, phase) + 1 for n in full if self._here(n, phase)), default=at)
        self.made[made] = phase, ready
        self._loop(phase, ready).calls.append(step)
        for number in (*full, made):
            self._buffer(number, phase, ready)

    def _fold(self, step: Step, made: int, full: list[int], phase: int, at: int) -> None:
        where = self._lies[made]
        dtypes = {self._phantoms[n].dtype for n in (*step.operands, made) if n in self._phantoms}
        if len(dtypes) != 1 or kind_of(dtypes.pop()) == BOOL:
            raise Unsupported("a fold of other dtypes")
        if full and where in (Lies.ROW, Lies.ONE, Lies.COLUMN):
            self.made[made] = phase + 1, 0
            self._loop(phase, at).folds.append(step)
            self._keep(full, phase, at)
        elif step.kind == FOLD and where is Lies.ONE and self._lies[step.operands[0]] is Lies.ROW:
            self._phase(phase).totals.append(step)
        else:
            raise Unsupported("a fold of what is the same in all rows")

    def _keep(self, full: Sequence[int], phase: int, at: int) -> None:
        """Have a buffer for what was made in another loop."""
        for number in full:
            if self.made.get(number, (phase, at)) != (phase, at):
                self._buffer(number, phase, at)

    def _buffer(self, number: int, phase: int, at: int) -> None:
        """Have a buffer for what is read there, if it is made here and not written outside."""
        if number in self._outside or number not in self.made:
            return
        self.last[number] = max(self.last.get(number, (0, 0)), (phase, at))
        if self.made[number][0] != phase:
            self.narrow.discard(number)
            self.wide.add(number)
        elif number not in self.wide:
            self.narrow.add(number)

    def _here(self, number: int, phase: int) -> bool:
        return number in self.made and self.made[number][0] == phase

    def _loop_of(self, number: int, phase: int) -> int:
        return self.made[number][1] if self._here(number, phase) else 0

    def _phase(self, place: int) -> Phase:
        while len(self.phases) <= place:
            self.phases.append(Phase([], [], []))
        return self.phases[place]

    def _loop(self, phase: int, place: int) -> Loop:
        loops = self._phase(phase).loops
        while len(loops) <= place:
            loops.append(Loop([], [], []))
        return loops[place]


def in_lanes(step: Step, phantoms: Mapping[int, Any]) -> bool:
    """Whether a map is done by instructions."""
    if step.run is copied or step.run is select:
        return True
    return instruction(step.run, operand_kind(step, phantoms)) is not None


def operand_kind(step: Step, phantoms: Mapping[int, Any]) -> str:
    """What LLVM calls the dtype of a step's operands, which are alike."""
    dtypes = {phantoms[n].dtype for n in step.operands if n in phantoms}
    if len(dtypes) != 1:
        raise Unsupported("dtypes that differ")
    return kind_of(dtypes.pop())


def kind_of(dtype: np.dtype) -> str:
    """What LLVM calls a dtype."""
    found = KINDS.get(dtype)
    if found is None:
        raise Unsupported(str(dtype))
    return found
