"""A run of elementwise calls as steps on values.

Calls say where they read and where they write, and places are written over: a value is what a place
holds when the run begins, or what a call makes. Only what a place holds at the end of the run is
written to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire_engine.plan.code import MAP, Code, Step
from gradwire_engine.plan.compiled.elementwise import Elementwise, Place
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.writer import Given
from gradwire_engine.plan.fixed import Call
from gradwire_engine.plan.functions import copied

MOST = 64
"""Calls in a run at most: what a compiler takes grows faster than these."""


class Run:
    """Calls that are to be one, as steps on values. size: elements of each."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: list[Call] = []
        self._steps: list[Step] = []
        self._reads: dict[Any, int] = {}  # what places held when it began
        self._holds: dict[Any, int] = {}  # and hold now, where they are written
        self._places: dict[Any, Place] = {}
        self._of: dict[int, Place] = {}  # of each value, where it is read or would be written
        self._dtypes: dict[int, np.dtype] = {}
        self._numbers: dict[Any, tuple[int, Any]] = {}
        self._behind: dict[int, frozenset[int]] = {}  # the values that a value is made of
        self._count = 0

    def takes(self, found: Elementwise) -> bool:
        """Whether a call can be one of these."""
        if found.into.size != self.size or len(self.calls) == MOST:
            return False
        into = found.into.key
        for place in found.places():
            others = self._places if place.key == into else self._holds
            if any(key != place.key and self._places[key].meets(place) for key in others):
                return False
        return self._written_last(found)

    def _written_last(self, found: Elementwise) -> bool:
        """Whether all that read what its place held first are done when this call is."""
        first = self._reads.get(found.into.key)
        if first is None:
            return True
        keys = [x.key for x in found.operands if isinstance(x, Place)]
        operands = [self._holds.get(key, self._reads.get(key)) for key in keys]
        before = {v for n in operands if n is not None for v in (n, *self._behind[n])}
        readers = {s.results[0] for s in self._steps if first in s.operands}
        return readers <= before

    def add(self, call: Call, found: Elementwise) -> None:
        """A call that is taken."""
        self.calls.append(call)
        operands = [self._operand(x, found.apart) for x in found.operands]
        into = found.into
        made = self._step(found.run, operands, into.array.dtype)
        if found.apart and into.bent:
            made = self._step(copied, [made], into.array.dtype)
        self._places[into.key] = self._of[made] = into
        self._holds[into.key] = made

    def _operand(self, found: Any, apart: bool) -> int:
        if not isinstance(found, Place):
            number, _ = self._numbers.setdefault((type(found), repr(found)), (self._count, found))
            self._count = max(self._count, number + 1)
            return number
        key = found.key
        number = self._holds.get(key, self._reads.get(key, -1))
        if number < 0:
            number = self._reads[key] = self._value(found.array.dtype, frozenset())
            self._places[key] = self._of[number] = found
        if apart and found.bent:
            return self._step(copied, [number], found.array.dtype)
        return number

    def _step(self, run: Any, operands: Sequence[int], dtype: np.dtype) -> int:
        behind = [frozenset((n, *self._behind[n])) for n in operands if n in self._behind]
        made = self._value(dtype, frozenset().union(*behind))
        self._steps.append(Step(MAP, run, tuple(operands), (made,), (), None))
        return made

    def _value(self, dtype: np.dtype, behind: frozenset[int]) -> int:
        number = self._count
        self._count += 1
        self._dtypes[number], self._behind[number] = dtype, behind
        return number

    def arrays(self) -> list[Place]:
        """Where it reads, and where it writes."""
        return [self._of[n] for n in (*self._reads.values(), *self._holds.values())]

    def key(self) -> Any:
        """The same for runs that are the same function."""
        steps = tuple((s.run, s.operands, s.results) for s in self._steps)
        places = tuple(place.width for place in self.arrays())
        values = tuple(self._dtypes.items())  # the other operands are numbers
        held = tuple(self._reads.values()), tuple(self._holds.values())
        numbers = tuple((said, number) for said, (number, _) in self._numbers.items())
        return self.size, steps, values, numbers, held, places

    def given(self) -> Given:
        """It as a region without rows."""
        one = {n: np.empty((), dtype) for n, dtype in self._dtypes.items()}
        lies = {n: self._of[n].lies if n in self._of else Lies.FULL for n in one}
        phantoms = {
            n: x if lies[n] is Lies.ONE else np.broadcast_to(x, self.size) for n, x in one.items()
        }
        reads, outputs = tuple(self._reads.values()), tuple(self._holds.values())
        constants = dict(self._numbers.values())
        bent = {n: self._of[n].width for n in (*reads, *outputs) if self._of[n].bent}
        code = Code(reads, constants, phantoms, tuple(self._steps), outputs)
        return Given(code, self._steps, (self.size,), lies, reads, outputs, (), bent)
