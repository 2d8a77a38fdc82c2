"""A compiled function of a region, called with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradwire_engine.plan.compiled.emit import LINE, Emitter, start_of
from gradwire_engine.plan.compiled.llvm import compiled
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.writer import Given


class Native:
    """A compiled region. nbytes: of scratch, for one thread."""

    def __init__(self, given: Given) -> None:
        made = Emitter(given)
        self.text, self.nbytes = made.text, made.scratch
        self._function = compiled(made.text)
        self._sliced = [
            given.lies[n] in (Lies.FULL, Lies.ROW) for n in (*given.reads, *given.outputs)
        ]
        self._flat, self._reads = len(given.dims) == 1, len(given.reads)
        self._starts = [
            start_of(next(s for s in given.steps if n in s.results)) for n in given.late
        ]

    def run(self, arrays: Sequence[Any], totals: Sequence[Any], start: int, stop: int) -> None:
        """Rows from start to stop. arrays: what is read, then what is given, as the divided space
        sees it; totals: where what is given at the end goes.
        """
        reads = [self._in_rows(array) for array in arrays[: self._reads]]
        for total, first in zip(totals, self._starts, strict=True):
            total.fill(first)
        scratch = np.empty(self.nbytes + LINE, np.uint8)
        self.ready([*reads, *arrays[self._reads :], *totals, scratch], start, stop)()

    def ready(self, arrays: Sequence[Any], start: int, stop: int) -> Callable[[], None]:
        """A call of the function on these arrays, totals and scratch, which have to stay there."""
        addresses = [a.__array_interface__["data"][0] for a in arrays]
        addresses[-1] += -addresses[-1] % LINE
        strides = [
            0 if self._flat or not sliced else a.strides[0]
            for a, sliced in zip(arrays, self._sliced, strict=False)
        ]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        steps = (ctypes.c_int64 * len(strides))(*strides)
        return partial(self._function.call, pointers, steps, start, stop)

    @staticmethod
    def _in_rows(array: Any) -> Any:
        """An array whose rows have no gaps, with elements where the processor wants them."""
        dense = array.shape[-1] == 1 or array.strides[-1] == array.itemsize
        return array if dense and array.flags.aligned else array.copy()
