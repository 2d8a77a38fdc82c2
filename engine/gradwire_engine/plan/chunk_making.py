"""The arrays of a chunk, and its calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradwire_engine.plan.buffers import Pool
from gradwire_engine.plan.code import CALL, JOIN, MAP, PRODUCT, VIEW, Code, Step
from gradwire_engine.plan.fixed import Call, Operand, call_of, summed, views
from gradwire_engine.plan.functions import copied, select
from gradwire_engine.plan.parted import Parts

_END = 1 << 30
"""The place of what is read after all steps."""


class Making:
    """rest, rows (None where nobody reads them), carries: arrays for what a chunk is given, a carry
    with a row more than there are steps, or as a sum; kept, collected: arrays of what it gives.
    once, calls: what is called first, and then for each chunk. nbytes: of all arrays.
    """

    def __init__(
        self, code: Code, parts: Parts, carries: int, slices: int, length: int, reverse: bool
    ) -> None:
        self.code, self.length, self.reverse = code, length, reverse
        self.pool, self.lasting = Pool(), Pool()
        self.known: dict[int, Operand] = {n: (_plain(c), False) for n, c in code.constants.items()}
        self._owned: dict[int, Any] = {}
        self._solid: dict[int, Any] = {}
        self.nbytes = 0
        self.once: list[Call] = []
        self.calls: list[Call] = []
        self.rest = [self._enter(n, 0) for n in code.inputs[carries + slices :]]
        for step in parts.once:
            self._do(step, self.once)
        addends = [n for found in parts.sums.values() for n in found]
        collected = code.outputs[carries:]
        later = _stacking(parts, addends, collected)
        before = [s for s in parts.before if s.results[0] not in later]
        after = [s for s in parts.after if s.results[0] not in later]
        next_ones = [n for p, n in enumerate(code.outputs[:carries]) if p not in parts.sums]
        read_last = [n for s in later.values() for n in s.operands]
        ending = [*addends, *collected, *next_ones, *read_last]
        self._uses = _Uses([*([s] for s in before), parts.core, *([s] for s in after)], ending)
        rows = code.inputs[carries : carries + slices]
        self.rows = [self._enter(n, length) if n in self._uses.last else None for n in rows]
        self.carries = [self._carry(place, place in parts.sums) for place in range(carries)]
        self.kept = [self.known[n][0] for n in code.inputs[:carries] if n in self.known]
        self._each(before, 0)
        self._core(parts, len(before), carries)
        self._each(after, len(before) + 1)
        self._sums(parts.sums, later)
        self.nbytes += self.pool.nbytes + self.lasting.nbytes
        self.collected = [np.asarray(self.known[n][0]) for n in collected]

    def _array(self, number: int, length: int, pool: Pool) -> Any:
        """An array for a value; with an axis of rows if there is a length."""
        laid_out = self.code.phantoms[number]
        shape = (length, *laid_out.shape) if length else laid_out.shape
        return pool.array(shape, laid_out.dtype)

    def _enter(self, number: int, length: int) -> Any:
        made = self._array(number, length, self.pool)
        self.known[number] = made, bool(length)
        return made

    def _carry(self, place: int, is_sum: bool) -> tuple[Any, bool]:
        """The array of a carry. Of others than sums rows are what goes in, from the second on out;
        the other way round where the last row's step is the first.
        """
        number = self.code.inputs[place]
        if is_sum:
            return self._array(number, 0, self.pool), False
        array = self._array(number, self.length + 1, self.pool)
        self.known[number] = array[1:] if self.reverse else array[:-1], True
        return array, True

    # what is done for all steps at a time

    def _each(self, steps: Sequence[Step], place: int) -> None:
        for at, step in enumerate(steps, place):
            self._do(step, self.calls, at)
            self._let_go(at)

    def _do(self, step: Step, calls: list[Call], place: int = -1) -> None:
        operands = [self.known[n] for n in step.operands]
        rows = any(many for _, many in operands)
        if step.kind == VIEW:
            seen = views(step, *operands[0])
            self.known.update({n: (v, rows) for n, v in zip(step.results, seen, strict=True)})
            return
        into = [self._result(step, n, rows, place) for n in step.results]
        calls.append(call_of(step, self._solid_operands(step), into))

    def _result(self, step: Step, number: int, rows: bool, place: int) -> Any:
        """An array for a result; that of an operand which nobody else reads, where that will do."""
        laid_out = self.code.phantoms[number]
        for n in step.operands if step.kind == MAP and step.run not in (select, copied) else ():
            array = self._owned.get(n)
            if array is not None and self._uses.last.get(n) == place:
                shape = array.shape[1:] if self.known[n][1] else array.shape
                if (shape, array.dtype, self.known[n][1]) == (laid_out.shape, laid_out.dtype, rows):
                    self._owned[number] = self._owned.pop(n)
                    self.known[number] = array, rows
                    return array
        made = self._enter(number, self.length if rows else 0)
        if place >= 0:
            self._owned[number] = made
        return made

    def _let_go(self, place: int) -> None:
        for number in self._uses.ending(place):
            if number in self._owned:
                self.pool.back(self._owned.pop(number))

    def _solid_operands(self, step: Step) -> list[Operand]:
        """The operands; what stays the same and lies across is multiplied row-major."""
        if step.kind != PRODUCT:
            return [self.known[n] for n in step.operands]
        return [self._row_major(n) for n in step.operands]

    def _row_major(self, number: int) -> Operand:
        array, rows = self.known[number]
        if rows or array.flags.c_contiguous or number in self.code.constants:
            return array, rows
        if number not in self._solid:
            made = self._solid[number] = self.lasting.array(array.shape, array.dtype)
            self.once.append((np.copyto, (made, array)))
        return self._solid[number], False

    # the core

    def _core(self, parts: Parts, place: int, carries: int) -> None:
        results = [n for s in parts.core if s.kind not in (VIEW, CALL) for n in s.results]
        direct: dict[int, int] = {}  # results that are written where the next step reads them
        for carry, number in enumerate(self.code.outputs[:carries]):
            array, chain = self.carries[carry]
            if chain and number in results and number not in direct:
                direct[number] = carry
                self.known[number] = array[:-1] if self.reverse else array[1:], True
        for step in parts.core:
            for n in step.results if step.kind != VIEW else ():
                if n not in direct and self._uses.root_last(n) > place:
                    self._owned[n] = self._enter(n, self.length)
        self._join(parts.core, results)
        self._inner(parts.core)
        rows = range(self.length)
        for row in reversed(rows) if self.reverse else rows:
            self._step(parts, row, [c for c in range(carries) if c not in direct.values()])
        self._let_go(place)

    def _join(self, steps: Sequence[Step], results: Sequence[int]) -> None:
        """Have parts of what is joined written where they will stand."""
        uses = _counted(n for s in steps for n in s.operands)
        for step in steps:
            if step.kind != JOIN:
                continue
            number, (axis,) = step.results[0], dict(step.options).values()
            parts_of = [n for n in step.operands if n in results and n not in self.known]
            if len({*parts_of}) != len(step.operands) or any(uses[n] != 1 for n in parts_of):
                continue
            if number not in self.known:
                self._enter(number, 0)
            array, rows = self.known[number]
            start = 0
            for n in parts_of:
                size = self.code.phantoms[n].shape[axis]
                index = (slice(None),) * (axis + rows)
                self.known[n] = array[(*index, slice(start, start + size))], rows
                start += size

    def _inner(self, steps: Sequence[Step]) -> None:
        """Arrays for what only the step itself reads: the same for every step."""
        uses, pool = _Uses([[s] for s in steps], ()), Pool()
        owned: dict[int, Any] = {}
        for place, step in enumerate(steps):
            for n in step.results if step.kind != VIEW else ():
                if n in self.known:
                    continue
                over = self._over(step, n, owned, uses, place)
                owned[n] = owned.pop(over) if over else self._array(n, 0, pool)
                self.known[n] = owned[n], False
            for n in uses.ending(place):
                if n in owned:
                    pool.back(owned.pop(n))
        self.nbytes += pool.nbytes

    def _over(
        self, step: Step, number: int, owned: dict[int, Any], uses: _Uses, place: int
    ) -> int | None:
        """An operand that a result may be written over."""
        if step.kind != MAP or step.run in (select, copied):
            return None
        laid_out = self.code.phantoms[number]
        wanted = (laid_out.shape, laid_out.dtype)
        for n in step.operands:
            array = owned.get(n)
            alike = array is not None and (array.shape, array.dtype) == wanted
            if alike and uses.last[n] == place:
                return n
        return None

    def _step(self, parts: Parts, row: int, left: Sequence[int]) -> None:
        """One step. left: carries that are not written by the steps themselves."""
        seen: dict[int, Any] = {}

        def now(number: int) -> Any:
            if number in seen:
                return seen[number]
            array, rows = self.known[number]
            return array[row, ...] if rows else array

        for step in parts.core:
            if step.kind == VIEW:
                seen.update(
                    zip(step.results, views(step, now(step.operands[0]), False), strict=True)
                )
                continue
            given = [now(n) for n in step.operands]
            if step.kind == PRODUCT:
                given = [
                    x if n in seen or self.known[n][1] else self._row_major(n)[0]
                    for x, n in zip(given, step.operands, strict=True)
                ]
            into = [now(n) for n in step.results]
            if step.kind == JOIN and all(np.may_share_memory(x, into[0]) for x in given):
                continue
            self.calls.append(call_of(step, [(x, False) for x in given], into))
        for carry in left:
            array, chain = self.carries[carry]
            if chain:
                after = array[row if self.reverse else row + 1, ...]
                self.calls.append((np.copyto, (after, now(self.code.outputs[carry]))))

    # sums

    def _sums(self, sums: dict[int, Sequence[int]], later: dict[int, Step]) -> None:
        """Add up addends over all steps; to the sums at the very end, when nothing can fail."""
        last: list[Call] = []
        for place, addends in sums.items():
            total = self.carries[place][0]
            for number in addends:
                made = self._array(number, 0, self.pool)
                self.calls.append(self._summed(number, later, made))
                last.append((np.add, (total, made, total)))
        self.calls += last

    def _summed(self, number: int, later: dict[int, Step], made: Any) -> Call:
        if number in later:
            step = later[number]
            found = summed(step, [self.known[n] for n in step.operands], made)
            if found is not None:
                return found
            self._do(step, self.calls)
        array, rows = self.known[number]
        if not rows:
            return np.multiply, (array, self.length, made)
        return np.add.reduce, (array, 0, None, made)


class _Uses:
    """Where values are read for the last time, by groups of steps in order; views are what they
    show.
    """

    def __init__(self, groups: Sequence[Sequence[Step]], ending: Iterable[int]) -> None:
        self._roots: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self._ending: dict[int, list[int]] = {}
        for place, steps in enumerate(groups):
            for step in steps:
                for n in step.results:
                    if step.kind == VIEW:
                        self._roots[n] = self._root(step.operands[0])
                    else:
                        self.last[n] = place
                for n in step.operands:
                    self.last[self._root(n)] = place
        for n in ending:
            self.last[self._root(n)] = _END
        for n, place in self.last.items():
            self._ending.setdefault(place, []).append(n)

    def _root(self, number: int) -> int:
        return self._roots.get(number, number)

    def root_last(self, number: int) -> int:
        """Where a value is read for the last time."""
        return self.last.get(self._root(number), -1)

    def ending(self, place: int) -> Sequence[int]:
        """Values that nobody reads after this place."""
        return self._ending.get(place, ())


def _counted(numbers: Iterable[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for n in numbers:
        found[n] = found.get(n, 0) + 1
    return found


def _stacking(parts: Parts, addends: Sequence[int], collected: Sequence[int]) -> dict[int, Step]:
    """Addends that are products which nobody else reads: they are summed in multiplying."""
    steps = (*parts.before, *parts.core, *parts.after)
    uses = _counted([*addends, *collected, *(n for s in steps for n in s.operands)])
    return {
        s.results[0]: s
        for s in (*parts.before, *parts.after)
        if s.kind == PRODUCT and s.results[0] in addends and uses[s.results[0]] == 1
    }


def _plain(constant: Any) -> Any:
    """A constant as it is computed with: of an array without axes its number."""
    return constant[()] if isinstance(constant, np.ndarray) and not constant.ndim else constant
