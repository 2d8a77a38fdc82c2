"""A region as one function: all steps of a row while its elements are in registers and caches."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import numpy as np

from gradwire_engine.plan.code import CONTRACT, MAP, Step
from gradwire_engine.plan.compiled import lanes
from gradwire_engine.plan.compiled.lanes import BOOL, cast, spread, suffix
from gradwire_engine.plan.compiled.llvm import NAME, Unsupported
from gradwire_engine.plan.compiled.schedule import (
    Lies,
    Loop,
    Phase,
    Schedule,
    in_lanes,
)
from gradwire_engine.plan.compiled.text import number, vector
from gradwire_engine.plan.compiled.writer import SIZES, Given, Writer
from gradwire_engine.plan.functions import copied, select

LANES = {"float": 32, "double": 16, BOOL: 64}
"""How many elements a loop does at a time: two registers of 64 bytes, so that sums needn't wait."""
FEWEST, NARROW = 4, 64
"""Elements of the shortest rows that are compiled, and of those for which NumPy's loops are called:
each call takes as long as some fifty elements."""
_PIECE, _LONGEST = 1 << 9, 1 << 12
"""Elements of a row that are gone over at a time: between loops of NumPy's, so that what lies
between them stays in the first cache; and without, so that sums are as exact as NumPy's."""
_START = {np.add: -0.0, np.maximum: -np.inf, np.minimum: np.inf}
MOST = 100
"""Loops in a region at most: a compiler takes some 5 ms for each."""
LINE = 64
"""Bytes of a line of the processor's cache: buffers begin at one."""


class Emitter(Writer):
    """Writes the function down. text: it; scratch: bytes that it needs.

    Its table has a first row and the one behind the last; pointers, which are reads, outputs, late
    results, and scratch; and strides, bytes from row to row of reads and outputs.
    """

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self._flat = len(given.dims) == 1
        steps = given.steps
        self._made = {n for step in steps for n in step.results}
        self._schedule = Schedule(steps, given.lies, self._phantoms, set(given.outputs))
        kinds = {self.kind(n) for n in (*given.reads, *self._made)}
        most = min(LANES[kind] for kind in kinds)
        self._width = most if self._flat else fitting(given.dims[1], most)
        if given.bent:
            self._width = even(gcd(*given.bent.values()), most)
        if sum(len(phase.loops) for phase in self._schedule.phases) > MOST:
            raise Unsupported("so many loops")
        self.narrow = self._schedule.narrow
        self._piece = _PIECE if self._calls() else _LONGEST
        if not self._flat and 1 < given.dims[1] < (NARROW if self._calls() else FEWEST):
            raise Unsupported("rows so short")
        self._buffers = self._assigned()
        self._rows()
        self.text = self.out.whole(NAME)

    def _calls(self) -> bool:
        return any(loop.calls for phase in self._schedule.phases for loop in phase.loops)

    def _assigned(self) -> dict[int, int]:
        """Where in scratch each buffer begins: where another's was that nobody reads any more."""
        schedule, found = self._schedule, dict[int, int]()
        free: list[tuple[bool, int, tuple[int, int], int]] = []  # wide, bytes, read last, place
        self.scratch = 0
        for value in sorted(schedule.wide | schedule.narrow, key=schedule.made.__getitem__):
            wide = value in schedule.wide
            count = self.given.dims[-1] if wide else self._piece
            size = -(-count * SIZES[self.kind(value)] // LINE) * LINE
            begun = (schedule.made[value][0], 0) if wide else schedule.made[value]
            fitting = [f for f in free if f[:2] == (wide, size) and f[2] < begun]
            place = fitting[0][3] if fitting else self.scratch
            if fitting:
                free.remove(fitting[0])
            else:
                self.scratch += size
            free.append((wide, size, schedule.last[value], place))
            found[value] = place
        return found

    # rows

    def _rows(self) -> None:
        given, out = self.given, self.out
        pointers = (*given.reads, *given.outputs, *given.late)
        first, stop = (self._entry("i64", place) for place in range(2))
        bases = {n: self._entry("ptr", place) for place, n in enumerate(pointers, 2)}
        scratch = self._entry("ptr", 2 + len(pointers))
        self.strides = {
            n: self._entry("i64", place)
            for place, n in enumerate((*given.reads, *given.outputs), 3 + len(pointers))
        }
        for value, start in self._buffers.items():
            self.places[value] = out.moved(scratch, start)
        for value in given.reads:
            if given.lies[value] is Lies.ONE:
                self.numbers[value] = self._one(value, bases[value])
        totals = {n: self._total(n) for n in given.late if given.lies[n] is Lies.ONE}
        self._late = {**bases, **totals}
        if self._flat:
            self.places |= {n: bases[n] for n in (*given.reads, *given.outputs)}
            self._row(first, stop)
        else:
            with out.loop(first, stop, 1) as row:
                for value in (*given.reads, *given.outputs):
                    self.places[value] = bases[value]
                    if given.lies[value] not in (Lies.COLUMN, Lies.ONE):
                        distance = out.arithmetic("mul", row, self.strides[value])
                        self.places[value] = out.moved(bases[value], distance)
                for value in given.reads:
                    if given.lies[value] is Lies.ROW:
                        self.numbers[value] = self._one(value, self.places[value])
                self._row("0", str(given.dims[1]))
        for value, slot in totals.items():
            kind = self.kind(value)
            said = cast(out, self._wide(value), kind, 1, out.load(self._wide(value), slot))
            out.store(kind, said, bases[value], SIZES[kind])

    def _entry(self, kind: str, place: int) -> str:
        return self.out.load(kind, self.out.moved("%table", place, "i64"))

    def _one(self, value: int, pointer: str) -> str:
        return self.loaded(self.kind(value), pointer, 1)

    def _row(self, first: str, stop: str) -> None:
        for phase in self._schedule.phases:
            for step in phase.rows:
                self._row_step(step)
            for step in phase.totals:
                self._add_up(step, self.numbers[step.operands[0]])
            if phase.loops:
                self._phase(phase, first, stop)

    def _row_step(self, step: Step) -> None:
        """A step on one number of this row."""
        (made,) = step.results
        if in_lanes(step, self._phantoms):
            found = self.done(step, [self.operand(step, n, 1, {}) for n in step.operands], 1)
        else:
            found = self.called_once(step, made)
        self.numbers[made] = found
        if made in self.given.outputs:
            self.stored(self.kind(made), found, self.places[made], 1)

    def _add_up(self, step: Step, value: str) -> None:
        """Add a number to a total, or have it be the largest."""
        (made,) = step.results
        wide = cast(self.out, self.kind(made), self._wide(made), 1, value)
        self._accumulate(self._late[made], self._wide(made), step, wide, 1)

    # phases

    def _phase(self, phase: Phase, first: str, stop: str) -> None:
        out = self.out
        folds = [s for loop in phase.loops for s in loop.folds]
        folds = [s for s in folds if self.given.lies[s.results[0]] is not Lies.COLUMN]
        sums = {s.results[0]: self._sum(s) for s in folds}
        lanes_of = {s.results[0]: out.slot(vector(self.kind(s.results[0]), self._width))
                    for s in folds}  # fmt: skip
        with out.loop(first, stop, self._piece) as start:
            end = out.arithmetic("add", start, str(self._piece))
            less = out.value(f"icmp slt i64 {end}, {stop}")
            end = out.value(f"select i1 {less}, i64 {end}, i64 {stop}")
            for step in folds:
                self._begin(step, lanes_of[step.results[0]], self._width)
            for loop in phase.loops:
                self._loop(loop, start, end, sums, lanes_of)
            for step in folds:
                self._flush(step, sums[step.results[0]], lanes_of[step.results[0]])
        for step in folds:
            self._finish(step, sums[step.results[0]])

    def _loop(
        self, loop: Loop, start: str, end: str, sums: dict[int, str], lanes_of: dict[int, str]
    ) -> None:
        out, width = self.out, self._width
        for step in loop.calls:
            self.call(step, start, end)
        if not (loop.steps or loop.folds):
            return
        if not self._flat and self.given.dims[1] % width == 0:
            with out.loop(start, end, width) as at:
                self._body(loop, at, start, width, lanes_of)
            return
        count = out.arithmetic("sub", end, start)
        whole = out.arithmetic("sub", end, out.arithmetic("srem", count, str(width)))
        with out.loop(start, whole, width) as at:
            self._body(loop, at, start, width, lanes_of)
        with out.loop(whole, end, 1) as at:
            self._body(loop, at, start, 1, sums)

    def _body(self, loop: Loop, at: str, start: str, width: int, folded: dict[int, str]) -> None:
        """The steps of a loop at one place."""
        known: dict[int, str] = {}
        self.start, self.at = start, at
        needed = {n for s in (*loop.steps, *loop.folds) for n in s.operands}
        made = {n for s in loop.steps for n in s.results}
        for value in sorted(needed - made):  # all is read before anything is written
            if value in self._phantoms and self.given.lies[value] in (Lies.FULL, Lies.COLUMN):
                known[value] = self.read(value, width)
        stored = []
        for step in loop.steps:
            (result,) = step.results
            operands = [self.operand(step, n, width, known) for n in step.operands]
            known[result] = self.done(step, operands, width)
            if result in self.places:
                stored.append(result)
        for step in loop.folds:
            self._folded(step, known, width, folded)
        for value in stored:
            self.stored(self.kind(value), known[value], self.address(value), width)

    def _folded(
        self, step: Step, known: dict[int, str], width: int, folded: dict[int, str]
    ) -> None:
        (result,) = step.results
        kind = self.kind(result)
        operands = [self.operand(step, n, width, known) for n in step.operands]
        value = operands[0]
        for other in operands[1:]:
            value = lanes.MULTIPLY(self.out, kind, width, [value, other])
        if self.given.lies[result] is Lies.COLUMN:
            wide = self._wide(result)
            place = self.element(self._late[result], self.at, wide)
            value = cast(self.out, kind, wide, width, value)
            self._accumulate(place, wide, step, value, width, SIZES[wide])
        elif width == 1:
            self._accumulate(folded[result], self._wide(result), step,
                             cast(self.out, kind, self._wide(result), 1, value), 1)  # fmt: skip
        else:
            self._accumulate(folded[result], kind, step, value, width)

    # folds

    def _wide(self, value: int) -> str:
        """The kind that a fold's parts are put together in: sums as doubles."""
        return "double" if self.kind(value) == "float" else self.kind(value)

    def _begin(self, step: Step, slot: str, width: int) -> None:
        kind = self.kind(step.results[0]) if width > 1 else self._wide(step.results[0])
        start = spread(self.out, kind, number(start_of(step)), width)
        self.out.store(vector(kind, width), start, slot)

    def _sum(self, step: Step) -> str:
        """Where what a fold comes to stands: a total's own place, or one for this row."""
        (made,) = step.results
        if self.given.lies[made] is Lies.ONE:
            return self._late[made]
        slot = self.out.slot(self._wide(made))
        self._begin(step, slot, 1)
        return slot

    def _total(self, value: int) -> str:
        step = next(s for s in self.given.steps if value in s.results)
        slot = self.out.slot(self._wide(value))
        self._begin(step, slot, 1)
        return slot

    def _accumulate(
        self, slot: str, kind: str, step: Step, value: str, width: int, align: int = 8
    ) -> None:
        whole = vector(kind, width)
        before = self.out.load(whole, slot, align)
        both = lanes.OF_NUMBERS[_ufunc(step)](self.out, kind, width, [before, value])
        self.out.store(whole, both, slot, align)

    def _flush(self, step: Step, slot: str, lanes_slot: str) -> None:
        """What the lanes came to is put to the row's sum."""
        out, (made,) = self.out, step.results
        kind, whole = self.kind(made), vector(self.kind(made), self._width)
        value = out.load(whole, lanes_slot)
        ending = suffix(kind, self._width)
        if _ufunc(step) is np.add:
            start = f"{kind} {number(-0.0)}, {whole} {value}"
            one = out.intrinsic(kind, f"llvm.vector.reduce.fadd.{ending}", start,
                                f"{kind}, {whole}", "reassoc ")  # fmt: skip
        else:
            name = "fmaximum" if step.run is np.maximum else "fminimum"
            one = out.intrinsic(
                kind, f"llvm.vector.reduce.{name}.{ending}", f"{whole} {value}", whole
            )
        wide = self._wide(made)
        self._accumulate(slot, wide, step, cast(out, kind, wide, 1, one), 1)

    def _finish(self, step: Step, slot: str) -> None:
        (made,) = step.results
        if self.given.lies[made] is not Lies.ROW:
            return
        wide, kind = self._wide(made), self.kind(made)
        found = cast(self.out, wide, kind, 1, self.out.load(wide, slot))
        self.numbers[made] = found
        if made in self.given.outputs:
            self.stored(kind, found, self.places[made], 1)


def fitting(row: int, most: int) -> int:
    """How many elements of a row to do at a time, at most so many: those that are left over at its
    end are done one by one.
    """
    widths = [most >> i for i in range(most.bit_length()) if FEWEST <= most >> i <= row]
    return min(widths, key=lambda n: (row // n + row % n, -n), default=1)


def even(row: int, most: int) -> int:
    """How many elements to do at a time, at most so many, where none may be in two rows."""
    if row % FEWEST:
        raise Unsupported("rows that are cut unevenly")
    return min(most, row & -row)


def _ufunc(step: Step) -> Any:
    return np.add if step.kind == CONTRACT else step.run


def start_of(step: Step) -> float:
    """What a fold begins with."""
    return _START[_ufunc(step)]


def checked(steps: Sequence[Step]) -> None:
    """Raise Unsupported for steps of other kinds than are compiled."""
    for step in steps:
        if step.kind == MAP:
            if step.options or not (step.run in (copied, select) or isinstance(step.run, np.ufunc)):
                raise Unsupported(step.name)
        elif {name for name, _ in step.options} - {"axis", "keepdims"}:
            raise Unsupported("a fold in its own way")
        elif step.kind != CONTRACT and step.run not in _START:
            raise Unsupported(step.name)
