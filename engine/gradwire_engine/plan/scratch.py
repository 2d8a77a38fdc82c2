"""Scratch of blocks: which values lie where, and the memory for it, one piece for each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import address
from gradwire_engine.plan.bound import with_number
from gradwire_engine.plan.code import MAP, Code, Step
from gradwire_engine.plan.functions import select

_MOST = 64
"""Regions whose arrays a thread keeps ready."""
_LINE = 64
"""Bytes of a line of the processor's cache: buffers begin at one."""


class Buffers:
    """places: for each value the buffer it lies in. sizes: bytes of each for a row, and for all."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        self.shapes: dict[int, tuple[tuple[int, ...], bool, np.dtype]] = {}
        self.rows: list[int] = []  # bytes that a buffer has for each row of a block
        self.fixed: list[int] = []  # bytes that it has anyway

    def size(self, buffer: int, height: int) -> int:
        """Bytes of a buffer for blocks of so many rows."""
        size = max(self.rows[buffer] * height, self.fixed[buffer])
        return -(-size // _LINE) * _LINE

    def nbytes(self, height: int) -> int:
        """Bytes of all buffers."""
        return sum(self.size(b, height) for b in range(len(self.rows)))

    def arrays(self, memory: Any, height: int) -> list[Any]:
        """An array for each value, in a piece of memory."""
        starts, place = [], 0
        for buffer in range(len(self.rows)):
            starts.append(place)
            place += self.size(buffer, height)
        found = []
        for number, buffer in self.places.items():
            shape, sliced, dtype = self.shapes[number]
            seen = (height, *shape[1:]) if sliced else shape
            found.append(np.ndarray(seen, dtype, memory, starts[buffer]))
        return found

    def shortened(self, arrays: Sequence[Any], height: int) -> list[Any]:
        """The same for a block of fewer rows."""
        sliced = (self.shapes[number][1] for number in self.places)
        return [a[:height] if s else a for a, s in zip(arrays, sliced, strict=True)]


class Layout:
    """Gives values buffers, and a buffer to the next value once nobody needs the one in it."""

    def __init__(self, part: Callable[[int], Any], outputs: set[int], late: set[int]) -> None:
        self.part, self.outside = part, outputs | late
        self.buffers = Buffers()
        self._free: list[int] = []
        self._waiting: list[int] = []

    def assigned(self, steps: Sequence[Step], code: Code) -> Buffers:
        """Buffers for all that steps make and is not written elsewhere."""
        last = {n: place for place, step in enumerate(steps) for n in step.operands}
        for place, step in enumerate(steps):
            (made,) = step.results
            ending = [n for n in dict.fromkeys(step.operands) if last[n] == place]
            ending = [n for n in ending if n in self.buffers.places]
            reused = None if made in self.outside else self._in_place(step, ending, code)
            for number in ending:
                if number != reused:
                    self._waiting.append(self.buffers.places[number])
            if made not in self.outside:
                self._assign(made, reused, code)
            self._free += self._waiting
            self._waiting = []
            if made not in last and made not in self.outside:
                self._free.append(self.buffers.places[made])
        return self.buffers

    def _in_place(self, step: Step, ending: list[int], code: Code) -> int | None:
        """The operand that a step may write its result over."""
        if step.kind != MAP or with_number(step, code.phantoms):
            return None
        allowed = (
            ending
            if step.run is not select
            else [n for n in ending if n == step.operands[2] and n not in step.operands[:2]]
        )
        made = self.part(step.results[0])
        for number in allowed:
            part = self.part(number)
            same = code.phantoms[number].dtype == code.phantoms[step.results[0]].dtype
            if same and part.shape == made.shape and part.sliced == made.sliced:
                return number
        return None

    def _assign(self, number: int, over: int | None, code: Code) -> None:
        part, dtype = self.part(number), code.phantoms[number].dtype
        per_row = prod(part.shape[1:]) * dtype.itemsize if part.sliced else 0
        fixed = 0 if part.sliced else prod(part.shape) * dtype.itemsize
        buffer = self.buffers.places[over] if over is not None else self._taken(per_row, fixed)
        self.buffers.places[number] = buffer
        self.buffers.shapes[number] = part.shape, part.sliced, dtype

    def _taken(self, per_row: int, fixed: int) -> int:
        """A free buffer of this size, the one used last first; a new one where there is none."""
        found = self.buffers
        for buffer in reversed(self._free):
            if (found.rows[buffer] > 0) == (per_row > 0):
                near = max(found.rows[buffer], found.fixed[buffer]) <= 2 * max(per_row, fixed)
                if near and found.rows[buffer] >= per_row and found.fixed[buffer] >= fixed:
                    self._free.remove(buffer)
                    return buffer
        found.rows.append(per_row)
        found.fixed.append(fixed)
        return len(found.rows) - 1


class Scratch(threading.local):
    """A thread's piece of memory, which grows with what is asked, and arrays in it by region."""

    def __init__(self) -> None:
        self.memory: Any = np.empty(0, np.uint8)
        self.known: dict[tuple[Any, int], list[Any]] = {}

    def values(self, region: Any, buffers: Buffers, height: int) -> list[Any]:
        """A list of a region's values for blocks of so many rows, of which scratch is there."""
        found = self.known.get((region, height))
        if found is not None:
            return found.copy()
        size = buffers.nbytes(height)
        if size + _LINE > self.memory.nbytes:
            self.memory = np.empty(size + 2 * _LINE, np.uint8)
            self.known.clear()
        if len(self.known) >= _MOST:
            self.known.clear()
        shift = -address(self.memory) % _LINE
        made: list[Any] = region.placed(buffers.arrays(self.memory[shift:], height))
        self.known[region, height] = made
        return made.copy()


_scratch = Scratch()


def scratch() -> Scratch:
    """This thread's."""
    return _scratch
