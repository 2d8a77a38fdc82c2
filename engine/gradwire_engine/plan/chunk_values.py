"""The arrays of a chunk, and the calls that do a step on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire_engine.plan.buffers import Memory, Pool
from gradwire_engine.plan.code import MAP, PRODUCT, VIEW, Code, Step
from gradwire_engine.plan.fixed import Call, Operand, call_of, views
from gradwire_engine.plan.functions import copied, select
from gradwire_engine.plan.uses import Uses

_SHORT, _SMALL = 1 << 9, 1 << 15
"""Elements of a row, and of a value, up to which operands are not broadcast to it each time."""


class Values:
    """known: of each value its array, and whether that has an axis of rows. lasting: arrays of what
    is there before the first call; pool: of the rest. same: values that are the same in every step.
    """

    def __init__(self, code: Code, length: int, memory: Memory) -> None:
        self.code, self.length, self.memory = code, length, memory
        self.pool, self.lasting = Pool(memory), Pool(memory)
        self.known: dict[int, Operand] = {n: (_plain(c), False) for n, c in code.constants.items()}
        self.same: set[int] = set()
        self.once: list[Call] = []
        self._owned: dict[int, Any] = {}
        self._solid: dict[tuple[int, tuple[int, ...]], Any] = {}

    def array(self, number: int, rows: int, pool: Pool) -> Any:
        """An array for a value, with so many rows if any."""
        laid_out = self.code.phantoms[number]
        shape = (rows, *laid_out.shape) if rows else laid_out.shape
        return pool.array(shape, laid_out.dtype)

    def enter(self, number: int, rows: int, pool: Pool | None = None) -> Any:
        """An array for a value, which is known from now on."""
        made = self.array(number, rows, pool or self.lasting)
        self.known[number] = made, bool(rows)
        return made

    def enter_until_read(self, number: int, rows: int) -> Any:
        """An array that is given back once its value was read for the last time."""
        made = self._owned[number] = self.enter(number, rows, self.pool)
        return made

    def let_go(self, numbers: Sequence[int]) -> None:
        """Give back the arrays of values that nobody reads any more."""
        for number in numbers:
            if number in self._owned:
                self.pool.back(self._owned.pop(number))

    def do_once(self, step: Step) -> None:
        """Do a step before all others."""
        self.same.update(step.results)
        if step.kind == VIEW:
            self.see(step)
            return
        into = [self.enter(n, 0) for n in step.results]
        self.once.append(call_of(step, [self.as_read(step, n) for n in step.operands], into))

    def see(self, step: Step) -> None:
        """A view, in all rows."""
        array, rows = self.known[step.operands[0]]
        seen = views(step, array, rows)
        self.known.update({n: (v, rows) for n, v in zip(step.results, seen, strict=True)})

    def do(self, step: Step, place: int, uses: Uses) -> Call:
        """Do a step for all rows; place: where it stands among the uses of values."""
        rows = self.length if any(self.known[n][1] for n in step.operands) else 0
        operands = [self.as_read(step, n) for n in step.operands]
        into = []
        for number in step.results:
            over = written_over(self.code, step, self._owned, uses.ending(place))
            if over is None:
                into.append(self.enter_until_read(number, rows))
            else:
                into.append(self._owned.pop(over))
                self._owned[number] = into[-1]
                self.known[number] = into[-1], bool(rows)
        return call_of(step, operands, into)

    def as_read(self, step: Step, number: int) -> Operand:
        """An operand. What is the same in every step is laid out so that reading it is fastest: of
        products row-major, and elements of short rows as often as they are read.
        """
        array, rows = self.known[number]
        if number not in self.same:
            return array, rows
        if step.kind == PRODUCT:
            return self._laid_out(number, array.shape), False
        made = self.code.phantoms[step.results[0]]
        short = made.ndim > 1 and made.shape[-1] < _SHORT and made.size <= _SMALL
        if step.kind == MAP and short and array.ndim:
            return self._laid_out(number, made.shape), False
        return array, False

    def _laid_out(self, number: int, shape: tuple[int, ...]) -> Any:
        """A value row-major in this shape."""
        array = self.known[number][0]
        if array.shape == shape and array.flags.c_contiguous:
            return array
        if (number, shape) not in self._solid:
            made = self._solid[number, shape] = self.lasting.array(shape, array.dtype)
            self.once.append((np.copyto, (made, array)))
        return self._solid[number, shape]


def written_over(
    code: Code, step: Step, owned: dict[int, Any], ending: Sequence[int]
) -> int | None:
    """An operand that a step's result may be written over: it ends here, and looks the same."""
    if step.kind != MAP or step.run in (select, copied):
        return None
    made = code.phantoms[step.results[0]]
    for number in step.operands:
        if number in owned and number in ending:
            given = code.phantoms[number]
            if (given.shape, given.dtype) == (made.shape, made.dtype):
                return number
    return None


def _plain(constant: Any) -> Any:
    """A constant as it is computed with: of an array without axes its number."""
    return constant[()] if isinstance(constant, np.ndarray) and not constant.ndim else constant
