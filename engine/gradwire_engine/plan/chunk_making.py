"""How a chunk is made: which calls do its steps, on which arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire_engine.plan.buffers import Memory
from gradwire_engine.plan.chunk_core import Core
from gradwire_engine.plan.chunk_values import Values
from gradwire_engine.plan.code import VIEW, Code, Step
from gradwire_engine.plan.fixed import Call, summed, sums_rows
from gradwire_engine.plan.parted import Parts, in_order
from gradwire_engine.plan.uses import Uses, of_steps, read


class Making:
    """rest, rows (None where nobody reads them), carries: arrays for what a chunk is given, a carry
    with a row more than there are steps, or as a sum; kept, collected: arrays of what it gives.
    once, calls: what is called first, and then for each chunk; ends: where in these a step of the
    core ends, or the first begins. memory: of all arrays.
    """

    ROOM = 3 << 24
    """Bytes that arrays may take: nothing that is worth a chunk takes more."""

    def __init__(
        self, code: Code, parts: Parts, carries: int, slices: int, length: int, reverse: bool
    ) -> None:
        self.code, self.length, self.reverse = code, length, reverse
        self.parts = parts if length > 1 else in_order(code, parts, carries)
        self.memory = Memory(self.ROOM)
        self._values = values = Values(code, length, self.memory)
        self.once, self.calls = values.once, list[Call]()
        rest = code.inputs[carries + slices :]
        values.same.update(rest)
        self.rest = [values.enter(n, 0) for n in rest]
        for step in parts.once:
            values.do_once(step)
        collected = code.outputs[carries:]
        self._later = self._summed_in_making() if length > 1 else {}
        self._uses = self._used()
        rows = code.inputs[carries : carries + slices]
        self.rows = [values.enter(n, length) if n in self._uses.last else None for n in rows]
        self.carries = [self._carry(place) for place in range(carries)]
        self.kept = [values.known[n][0] for n in code.inputs[:carries] if n in values.known]
        self._do_all()
        self.collected = [np.asarray(values.known[n][0]) for n in collected]

    def _summed_in_making(self) -> dict[int, Step]:
        """Addends that nobody else reads, and that are summed in making them."""
        steps = (*self.parts.before, *self.parts.core, *self.parts.after)
        addends = self.parts.addends
        times = read(steps)
        times.update([*addends, *self.code.outputs])
        return {
            s.results[0]: s
            for s in (*self.parts.before, *self.parts.after)
            if s.results[0] in addends
            and times[s.results[0]] == 1
            and sums_rows(s, self.code.phantoms[s.results[0]].size)
        }

    def _at_once(self, steps: Sequence[Step]) -> list[Step]:
        return [s for s in steps if s.results[0] not in self._later]

    def _used(self) -> Uses:
        """Uses of values: by each step before the core, by the core, by each after it, at last."""
        before, after = (
            [of_steps([s]) for s in self._at_once(p)] for p in (self.parts.before, self.parts.after)
        )
        last = [n for s in self._later.values() for n in s.operands]
        sums = {self.code.outputs[place] for place in self.parts.sums}
        results = [n for n in self.code.outputs if n not in sums]
        groups = [*before, of_steps(self.parts.core), *after]
        return Uses(groups, [*self.parts.addends, *last, *results])

    def _carry(self, place: int) -> tuple[Any, bool]:
        """The array of a carry, and whether it is no sum. Then rows are what goes into steps, from
        the second on what comes out; the other way round where the last row's step is the first.
        """
        number = self.code.inputs[place]
        if place in self.parts.sums:
            return self._values.array(number, 0, self._values.lasting), False
        array = self._values.array(number, self.length + 1, self._values.lasting)
        self._values.known[number] = array[1:] if self.reverse else array[:-1], True
        return array, True

    def _do_all(self) -> None:
        numbers = zip(self.code.outputs, self.carries, strict=False)
        chains = [(number, array) for number, (array, chain) in numbers if chain]
        core = Core(self._values, self.parts.core, chains, self.reverse)
        before = self._at_once(self.parts.before)
        self._each(before, 0)
        core.make(self._uses, len(before))
        each = len(core.calls) // self.length
        self.ends = {len(self.calls) + each * place for place in range(self.length + 1)}
        self.calls += core.calls
        self._values.let_go(self._uses.ending(len(before)))
        self._each(self._at_once(self.parts.after), len(before) + 1)
        self._sums()

    def _each(self, steps: Sequence[Step], first: int) -> None:
        """Steps for all rows at a time."""
        for place, step in enumerate(steps, first):
            if step.kind == VIEW:
                self._values.see(step)
            else:
                self.calls.append(self._values.do(step, place, self._uses))
            self._values.let_go(self._uses.ending(place))

    def _sums(self) -> None:
        """Add up addends over all rows; to the sums at the very end, when nothing can fail."""
        last: list[Call] = []
        for place, addends in self.parts.sums.items():
            total = self.carries[place][0]
            last += [(np.add, (total, self._over_rows(n), total)) for n in addends]
        self.calls += last

    def _over_rows(self, number: int) -> Any:
        """An addend added up over all rows."""
        known = self._values.known
        made = self._values.array(number, 0, self._values.pool)
        step = self._later.get(number)
        call = step and summed(step, [known[n] for n in step.operands], made)
        if step is not None and call is None:
            self.calls.append(self._values.do(step, -1, self._uses))
        array, rows = known.get(number, (made, False))
        if call is None and rows and self.length == 1:
            return array[0, ...]
        if call is None:
            reduced = (np.add.reduce, (array, 0, None, made))
            call = reduced if rows else (np.multiply, (array, self.length, made))
        self.calls.append(call)
        return made
