"""Long runs of steps on single numbers, compiled as one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradwire_engine.plan.code import CALL, MAP, VIEW, Code, Step
from gradwire_engine.plan.compiled.emit import Emitter, checked
from gradwire_engine.plan.compiled.lanes import KINDS
from gradwire_engine.plan.compiled.llvm import Unsupported
from gradwire_engine.plan.compiled.native import Native
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.writer import Given
from gradwire_engine.plan.functions import copied
from gradwire_engine.plan.uses import readers

LEAST, MOST = 64, 1 << 12
"""Steps from which on it is worth the compiler's time, and in one function at most: what a compiler
takes grows faster than these."""

Reads = Callable[[Any], Sequence[int]]


class _Cells(threading.local):
    """A thread's own memory for what a run reads and makes, and the pointers to it."""

    call: Callable[[], None]

    def __init__(self, native: Native, dtypes: Sequence[np.dtype]) -> None:
        self.cells = [np.empty(1, dtype) for dtype in dtypes]
        self._scratch = np.empty(native.nbytes, np.uint8)
        self.call = native.ready([*self.cells, self._scratch], 0, 1)


class Straight:
    """A run of steps. Called with what it reads, it gives what others read: numbers, or arrays of
    one element. lines: of the graph, that it does.
    """

    single = False
    __name__ = "straight"

    def __init__(self, given: Given) -> None:
        phantoms = [given.code.phantoms[n] for n in (*given.reads, *given.outputs)]
        self._cells = _Cells(Native(given), [array.dtype for array in phantoms])
        self.lines = tuple(dict.fromkeys(step.line for step in given.steps))
        self._reads = len(given.reads)
        self._shapes = [array.shape for array in phantoms[self._reads :]]

    def __call__(self, *numbers: Any) -> list[Any]:
        own = self._cells
        for cell, value in zip(own.cells, numbers, strict=False):
            cell[:] = value
        own.call()
        return [
            cell.copy().reshape(shape) if shape else cell[0]
            for cell, shape in zip(own.cells[self._reads :], self._shapes, strict=True)
        ]


def straightened(code: Code, units: Sequence[Any], reads: Reads) -> list[Any]:
    """The units, with runs of steps on single numbers as one step. reads: what a unit reads."""
    reading = readers(map(reads, units))
    found: list[Any] = []
    for first, stop in _runs(code, units):
        run = units[first:stop]
        made = _straight(code, run, _wanted(code, run, reading, range(first, stop)))
        found += run if made is None else [made]
    return found


def _runs(code: Code, units: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """From where to where units are runs, or one that is none's part."""
    fitting: dict[Any, bool] = {}
    first = 0
    while first < len(units):
        stop = first
        while stop < min(len(units), first + MOST) and _single(code, units[stop], fitting):
            stop += 1
        stop = max(stop, first + 1)
        yield first, stop
        first = stop


def _single(code: Code, unit: Any, fitting: dict[Any, bool]) -> bool:
    """Whether a unit is a step on single numbers that is compiled, or sees one in another shape.

    fitting: what is known of steps with the same function and dtypes.
    """
    if not isinstance(unit, Step) or unit.kind not in (MAP, VIEW):
        return False
    arrays = [code.phantoms.get(n) for n in (*unit.operands, *unit.results)]
    if not all(a is None or (a.size == 1 and a.dtype in KINDS) for a in arrays):
        return False
    if unit.kind == VIEW:
        return True
    known = (code.constants.get(n) for n in unit.operands)
    kinds = [type(c) if a is None else a.dtype for a, c in zip(arrays, known, strict=False)]
    key = unit.run, tuple(kinds), unit.options
    if key not in fitting:
        fitting[key] = False
        with suppress(Unsupported):  # whether it can be shows where it is written down
            checked([unit])
            Emitter(_given(code, [unit], unit.results))
            fitting[key] = True
    return fitting[key]


def _wanted(
    code: Code, run: Sequence[Step], reading: Mapping[int, Sequence[int]], inside: range
) -> tuple[int, ...]:
    """What a run makes and others read."""
    made = [n for step in run if isinstance(step, Step) for n in step.results]
    outputs = set(code.outputs)
    return tuple(
        n for n in made if n in outputs or any(p not in inside for p in reading.get(n, ()))
    )


def _straight(code: Code, run: Sequence[Step], wanted: tuple[int, ...]) -> Step | None:
    """A run as one step; None where it isn't compiled."""
    if len(run) < LEAST:
        return None
    given = _given(code, _without_views(code, run, wanted), wanted)
    try:
        call = Straight(given)
    except Unsupported:
        return None
    return Step(CALL, call, given.reads, wanted, (), None)


def _given(code: Code, steps: Sequence[Step], wanted: tuple[int, ...]) -> Given:
    """Steps on single numbers as a region of one row."""
    made = {n for step in steps for n in step.results}
    numbers = {n for step in steps for n in (*step.operands, *step.results) if n in code.phantoms}
    reads = tuple(sorted(numbers - made))
    lies = dict.fromkeys(numbers, Lies.ROW)
    return Given(code, steps, (1, 1), lies, reads, wanted, ())


def _without_views(code: Code, run: Sequence[Step], wanted: tuple[int, ...]) -> list[Step]:
    """The steps with what views show in the place of views; a copy where a view is wanted."""
    names: dict[int, int] = {}
    found = []
    for step in run:
        operands = tuple(names.get(n, n) for n in step.operands)
        arrays = (code.phantoms[n] for n in operands if n in code.phantoms)
        dtype = next((array.dtype for array in arrays), None)
        if step.kind == VIEW and code.phantoms[step.results[0]].dtype == dtype:
            names[step.results[0]] = operands[0]
            if step.results[0] not in wanted:
                continue
            step = step._replace(kind=MAP, run=copied)
        found.append(step._replace(operands=operands))
    return found
