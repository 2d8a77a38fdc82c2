"""The core of a chunk: steps of which each waits for the one before, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire_engine.plan.buffers import Pool
from gradwire_engine.plan.chunk_values import Values, written_over
from gradwire_engine.plan.code import CALL, JOIN, VIEW, Step
from gradwire_engine.plan.fixed import Call, call_of, views
from gradwire_engine.plan.uses import Uses, of_steps, read


class Core:
    """calls: those of all steps. chains: for each carry that is no sum its result's number, and its
    array, of which a step reads row `before` and writes row `after`.
    """

    def __init__(
        self,
        values: Values,
        steps: Sequence[Step],
        chains: Sequence[tuple[int, Any]],
        reverse: bool,
    ) -> None:
        self._values, self._steps, self._reverse = values, steps, reverse
        self.calls: list[Call] = []
        self._made = {n for s in steps if s.kind not in (VIEW, CALL) for n in s.results}
        self._left = [chain for chain in chains if not self._direct(*chain)]

    def _direct(self, number: int, array: Any) -> bool:
        """Have a carry's result written where the next step reads it, if it can be."""
        if number not in self._made or number in self._values.known:
            return False
        self._values.known[number] = array[:-1] if self._reverse else array[1:], True
        return True

    def make(self, uses: Uses, place: int) -> None:
        """Make the calls. place: where the core stands among the uses of values."""
        for step in self._steps:
            for n in step.results if step.kind != VIEW else ():
                if n not in self._values.known and uses.last.get(n, -1) > place:
                    self._values.enter_until_read(n, self._values.length)
        self._join()
        self._enter_own()
        rows = range(self._values.length)
        for row in reversed(rows) if self._reverse else rows:
            self._step(row)

    def _join(self) -> None:
        """Have parts of what is joined written where they will stand."""
        times = read(self._steps)
        known = self._values.known
        for step in self._steps:
            found = [n for n in step.operands if n in self._made and n not in known]
            if step.kind != JOIN or len({*found}) != len(step.operands):
                continue
            if any(times[n] != 1 for n in found):
                continue
            number, axis = step.results[0], dict(step.options)["axis"]
            if number not in known:
                self._values.enter(number, 0)
            array, rows = known[number]
            start = 0
            for n in found:
                end = start + self._values.code.phantoms[n].shape[axis]
                known[n] = array[(slice(None),) * (axis + rows) + (slice(start, end),)], rows
                start = end

    def _enter_own(self) -> None:
        """Arrays for what only the step itself reads: the same ones for every step."""
        uses, pool = Uses([of_steps([s]) for s in self._steps], ()), Pool(self._values.memory)
        owned: dict[int, Any] = {}
        for place, step in enumerate(self._steps):
            for n in step.results if step.kind != VIEW else ():
                if n in self._values.known:
                    continue
                over = written_over(self._values.code, step, owned, uses.ending(place))
                if over is None:
                    owned[n] = self._values.array(n, 0, pool)
                else:
                    owned[n] = owned.pop(over)
                self._values.known[n] = owned[n], False
            for n in uses.ending(place):
                if n in owned:
                    pool.back(owned.pop(n))

    def _step(self, row: int) -> None:
        seen: dict[int, Any] = {}

        def now(number: int) -> Any:
            if number in seen:
                return seen[number]
            array, rows = self._values.known[number]
            return array[row, ...] if rows else array

        for step in self._steps:
            if step.kind == VIEW:
                found = views(step, now(step.operands[0]), False)
                seen.update(zip(step.results, found, strict=True))
                continue
            given = [
                self._values.as_read(step, n)[0] if n in self._values.same else now(n)
                for n in step.operands
            ]
            into = [now(n) for n in step.results]
            if step.kind == JOIN and all(np.may_share_memory(x, into[0]) for x in given):
                continue
            self.calls.append(call_of(step, [(x, False) for x in given], into))
        for number, array in self._left:
            after = array[row if self._reverse else row + 1, ...]
            self.calls.append((np.copyto, (after, now(number))))
