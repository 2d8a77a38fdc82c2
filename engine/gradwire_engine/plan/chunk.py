"""So many steps of a loop as one list of calls, on arrays that stay where they are.

What does not wait for the step before it is done for all of the steps at a time, and what results
are made of after them; between these stand the core's calls, for one step after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.plan.buffers import TooLargeError
from gradwire_engine.plan.chunk_making import Making
from gradwire_engine.plan.code import Code
from gradwire_engine.plan.compiled.calls import compiled_calls
from gradwire_engine.plan.fixed import Call
from gradwire_engine.plan.parted import parted

CACHED = 3 << 19
"""Bytes of a chunk that stay in the second-level cache."""
LONGEST = 16
"""Steps in a chunk at most."""
LARGEST = 4 << 20
"""Bytes from which on a step is better done in regions, of blocks that fit the cache."""
COPIED = 1 << 25
"""Bytes that a chunk may take for what is the same in every step: weights, and their sums."""


def longest(code: Code, carries: int, slices: int, reverse: bool, keeps: bool) -> int:
    """How many of a body's steps are a chunk at most: 0 where one takes too much, or can't be done
    so.

    keeps: whether the carries that go into steps are asked for, those of sums too.
    """
    parts = parted(code, carries, slices, keeps)
    try:
        few = [Making(code, parts, carries, slices, n, reverse).memory.nbytes for n in (1, 2, 3)]
    except (TooLargeError, ValueError, TypeError, ArithmeticError, LookupError):
        return 0
    each = max(1, few[2] - few[1])
    if each > LARGEST or few[1] - 2 * each > COPIED:
        return 0
    return max(1, min(LONGEST, CACHED // each))


def chunk_of(
    code: Code, carries: int, slices: int, reverse: bool, keeps: bool, length: int
) -> Chunk:
    """A chunk of so many of a body's steps."""
    parts = parted(code, carries, slices, keeps)
    return Chunk(Making(code, parts, carries, slices, length, reverse))


class Chunk:
    """Steps on arrays of its own: `start` takes carries and the rest, `run` rows, `end` carries.

    length: steps of a run. Rows lie in their own order; reverse: the last one's step is the first.
    One thread may use it at a time.
    """

    def __init__(self, made: Making) -> None:
        self._made, self.length = made, made.length
        self._calls: Sequence[Call] = made.calls
        self._code: int | None = None  # bytes of what is compiled
        self._first, self._last = (self.length, 0) if made.reverse else (0, self.length)

    @property
    def nbytes(self) -> int:
        """Of all its arrays, and of compiled functions."""
        return self._made.memory.nbytes + (self._code or 0)

    def compile(self) -> None:
        """Have elementwise calls compiled, once."""
        if self._code is None:
            made = self._made
            self._calls, self._code = compiled_calls(made.calls, made.ends, made.memory)

    def start(self, carry: Sequence[Array], rest: Sequence[Array]) -> None:
        """Begin with these carries."""
        for into, array in zip(self._made.rest, rest, strict=True):
            into[...] = array
        for (into, chain), array in zip(self._made.carries, carry, strict=True):
            (into[self._last, ...] if chain else into)[...] = array
        _run(self._made.once)

    def run(self, rows: Sequence[Array], stacks: Sequence[Array], into: Sequence[Array]) -> None:
        """All steps. rows: of each of the slices so many; stacks, into: where kept carries go, and
        what is collected.
        """
        for array, given in zip(self._made.rows, rows, strict=True):
            if array is not None:
                np.copyto(array, given)
        for array, chain in self._made.carries:
            if chain:
                array[self._first] = array[self._last]
        _run(self._calls)
        for stack, kept in zip(stacks, self._made.kept, strict=False):
            np.copyto(stack, kept)
        for array, made in zip(into, self._made.collected, strict=True):
            np.copyto(array, made)

    def end(self, done: bool = True) -> list[Array]:
        """The carries now. done: false where `run` failed; then those that it began with."""
        place = self._last if done else self._first
        return [np.array(a[place, ...] if chain else a) for a, chain in self._made.carries]

    def wipe(self) -> None:
        """Leave nothing of what it was given and made."""
        self._made.memory.wipe()


def _run(calls: Sequence[Call]) -> None:
    for call, given in calls:
        call(*given)
