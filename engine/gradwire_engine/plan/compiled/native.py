"""A compiled function of a region, called with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradwire_engine.arrays import address
from gradwire_engine.plan.compiled.emit import LINE, Emitter, start_of
from gradwire_engine.plan.compiled.llvm import compiled
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.writer import Given


class Native:
    """A compiled region. nbytes: of scratch, for one thread, with what columns are summed up in."""

    def __init__(self, given: Given) -> None:
        made = Emitter(given)
        self.text, self._scratch = made.text, made.scratch + LINE
        self._function = compiled(made.text)
        numbers = (*given.reads, *given.outputs)
        rows = len(given.dims) > 1
        self._strided = [
            n in given.bent or (rows and given.lies[n] in (Lies.FULL, Lies.ROW)) for n in numbers
        ]
        self._reads = len(given.reads)
        self._columns = {
            place: start_of(next(s for s in given.steps if n in s.results))
            for place, n in enumerate(given.late)
            if given.lies[n] is Lies.COLUMN
        }
        self.nbytes = self._scratch + 8 * given.dims[-1] * len(self._columns)

    def run(self, arrays: Sequence[Any], totals: Sequence[Any], start: int, stop: int) -> None:
        """Rows from start to stop. arrays: what is read, then what is given, as the divided space
        sees it; totals: where what is given at the end goes.
        """
        reads = [_in_rows(array) for array in arrays[: self._reads]]
        sums = list(totals)
        for place, first in self._columns.items():
            sums[place] = np.full(totals[place].shape, first, np.float64)
        scratch = np.empty(self._scratch, np.uint8)
        self.ready([*reads, *arrays[self._reads :], *sums, scratch], start, stop)()
        for place in self._columns:
            totals[place][...] = sums[place]

    def ready(self, arrays: Sequence[Any], start: int, stop: int) -> Callable[[], None]:
        """A call of the function for rows from start to stop, as often as wanted.

        arrays: what is read, what is given, totals (of columns as doubles), scratch.
        """
        addresses = [address(a) for a in arrays]
        addresses[-1] += -addresses[-1] % LINE
        strides = [
            a.strides[0] if strided else 0
            for a, strided in zip(arrays, self._strided, strict=False)
        ]
        table = start, stop, *addresses, *strides
        found = partial(self._function.call, (ctypes.c_int64 * len(table))(*table))
        vars(found)["kept"] = self, arrays  # which addresses don't keep
        return found


def dense(array: Any) -> bool:
    """Whether an array's rows have no gaps."""
    found: bool = array.shape[-1] == 1 or array.strides[-1] == array.itemsize
    return found


def _in_rows(array: Any) -> Any:
    """An array with dense rows, and elements where the processor wants them. Only who hands a plan
    other arrays than it was made for has them copied.
    """
    return array if dense(array) and array.flags.aligned else array.copy()
