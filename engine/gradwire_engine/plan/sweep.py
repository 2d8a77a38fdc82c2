"""A region made ready to run: all of its steps on one block of rows after the other.

What a block leaves between its steps lies in scratch that stays in the processor's cache, and is
used again for the next block. Blocks are shared out among threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from gradwire_engine.kernels.row_blocks import BUFFER, share_out, threads
from gradwire_engine.plan.bound import Part, bound, dotted, number_taken
from gradwire_engine.plan.code import CONTRACT, FOLD, VIEW, Code, Step
from gradwire_engine.plan.compiled import compiled_region
from gradwire_engine.plan.functions import contracted
from gradwire_engine.plan.regions import Region
from gradwire_engine.plan.scratch import Layout, scratch
from gradwire_engine.plan.space import along, divided, extents

BLOCK = 1 << 18
"""Elements in a block at most. Between two calls a thread needs Python's lock, and a wait for it
costs as much as a call on 64 thousand elements: longer calls meet less often."""
CACHED = 1 << 23
"""Bytes of scratch of one thread that stay in the third-level cache. A step works on a few arrays
of these at a time, so the second level needn't hold them all."""
SHARED = 1 << 18
"""Elements of a region from which on its rows are shared out among threads."""

NARROW, BUFFERED = 1 << 7, 1 << 13
"""Elements of a row up to which a call for each row takes longer than copying rows that meet a
column into a buffer, and bytes of a buffer that holds many of them."""


class Sweep:
    """One region. reads: values that it takes; makes: values that it gives, as arrays.

    nbytes: of scratch, all threads together.
    """

    def __init__(
        self, code: Code, region: Region, wanted: Sequence[int], dims: tuple[int, ...]
    ) -> None:
        self.code, self.region = code, region
        self.makes = tuple(wanted)
        reads = sorted(region.reads())
        self.dims = dims
        self.rows = self.dims[0]
        self.reads = tuple(self._part(n) for n in reads)
        self.late = tuple(n for n in wanted if n in region.late)
        self.outputs = tuple(self._part(n) for n in wanted if n not in region.late)
        self._assign()
        taken, given = ([p.number for p in parts] for parts in (self.reads, self.outputs))
        steps = _without_views(region)
        self.native = compiled_region(code, steps, dims, self._part, taken, given, self.late)
        if self.native is not None:
            self.nbytes = self.native.nbytes * len(self.parts)

    def _part(self, number: int) -> Part:
        shape, axes = self.code.phantoms[number].shape, self.region.axes[number]
        varies = along(shape, axes, self.dims)
        seen = tuple(n if v else 1 for n, v in zip(self.dims, varies, strict=True))
        same = tuple(
            slice(None) if a or n == 1 else slice(1) for n, a in zip(shape, axes, strict=True)
        )
        whole = all(part == slice(None) for part in same)
        order = tuple(sorted(range(len(axes)), key=lambda i: -axes[i]))
        moved = [i for i in order if axes[i]] != sorted(i for i in order if axes[i])
        dtype = self.code.phantoms[number].dtype
        part = Part(number, seen, varies[0], dtype, None, None)
        return part._replace(same=None if whole else same, order=order if moved else None)

    def _assign(self) -> None:
        """Give every value its place among a block's arrays, and scratch where it needs any."""
        region, code = self.region, self.code
        self.slots: dict[Hashable, int] = {}
        self.constants: list[tuple[int, Any]] = []
        for number in sorted({n for _, s in region.steps for n in s.operands}):
            if number not in code.phantoms:  # a number, not an array
                self.constants.append((self._slot(number), code.constants[number]))
        for part in (*self.reads, *self.outputs):
            self._slot(part.number)
        late = {n: self._slot(n) for n in self.late}
        steps = self._contracting(_without_views(region))
        layout = Layout(self._part, {p.number for p in self.outputs}, set(late))
        self.buffers = layout.assigned(steps, code)
        self._scratch = [self._slot(number) for number in self.buffers.places]
        self.calls = [self._call(step) for step in steps]
        self.height = self._height()
        self._buffer = self._buffered()
        self.parts = self._shares()
        self.nbytes = self.buffers.nbytes(self.height) * len(self.parts)
        at = {n: i for i, n in enumerate(self.makes)}
        combining = {s.results[0]: np.add if s.run is contracted else s.run for s in steps}
        self.folds = [(self.slots[n], combining[n], self._part(n), at[n]) for n in self.late]
        self._from = [(self.slots[p.number], p) for p in self.reads]
        self._into = [(self.slots[p.number], p, at[p.number]) for p in self.outputs]

    def _contracting(self, steps: list[Step]) -> list[Step]:
        """The steps with products that only a sum along rows reads as part of that sum."""
        read = Counter(n for step in steps for n in step.operands)
        read.update(self.makes)
        products = {
            s.results[0]: s
            for s in steps
            if s.run is np.multiply and read[s.results[0]] == 1
            and all(
                n in self.code.phantoms and dotted(self._part(n), self.dims)
                for n in (*s.operands, *s.results)
            )
        }  # fmt: skip
        found = {step.results[0]: step for step in steps}
        for step in steps:
            product = products.get(step.operands[0])
            if product is None or step.kind != FOLD or step.run is not np.add:
                continue
            if self._part(step.results[0]).shape == (*self.dims[:-1], 1):
                del found[product.results[0]]
                found[step.results[0]] = step._replace(
                    kind=CONTRACT, run=contracted, operands=product.operands
                )
        return list(found.values())

    def _slot(self, key: Hashable) -> int:
        return self.slots.setdefault(key, len(self.slots))

    def _height(self) -> int:
        """Rows in a block."""
        inner = prod(self.dims[1:])
        most = max(1, min(self.rows, BLOCK // max(1, inner)))
        fitting = max(1, CACHED // max(1, sum(self.buffers.rows)))
        return min(most, fitting)

    def _buffered(self) -> int:
        """Elements in NumPy's buffers meanwhile."""
        if self.dims[-1] > NARROW:
            return BUFFER
        largest: int = max(self.code.phantoms[n].dtype.itemsize for n in self.region.axes)
        return BUFFERED // largest

    def _shares(self) -> list[tuple[int, int]]:
        """The rows of each thread."""
        count = threads() if self.region.size >= SHARED else 1
        share = -(-self.rows // min(count, self.rows))
        return [(start, min(start + share, self.rows)) for start in range(0, self.rows, share)]

    def _call(self, step: Step) -> tuple[Callable[..., Any], Any]:
        """What runs for a step, and what gets its arguments: operands, and where to write."""
        places = [*map(partial(self._given, step), step.operands), self.slots[step.results[0]]]
        array = next(n for n in step.operands if n in self.code.phantoms)
        before, after = self._part(array), self._part(step.results[0])
        return bound(step, before, after, self.dims, self.code.phantoms), itemgetter(*places)

    def _given(self, step: Step, number: int) -> int:
        """The place of an operand; a number may have several, one for each dtype."""
        taken = None if number in self.code.phantoms else number_taken(self.code, step, number)
        if taken is None:
            return self.slots[number]
        key = (number, taken.dtype)
        if key not in self.slots:
            self.constants.append((self._slot(key), taken))
        return self.slots[key]

    def run(self, arrays: Sequence[Any], give: Sequence[Any]) -> None:
        """Work on the arrays of what it reads; results are written into those of `give`."""
        full = [
            (slot, part.seen(a), part.sliced)
            for (slot, part), a in zip(self._from, arrays, strict=True)
        ]
        full += [(slot, part.seen(give[i]), part.sliced) for slot, part, i in self._into]
        if len(self.parts) == 1:
            found = [self._share(full, 0, self.rows)]
        else:
            found = share_out([partial(self._share, full, *rows) for rows in self.parts])
        for _, part, i in self._into:
            if part.same is not None:
                give[i][...] = give[i][part.same]
        for place, (_, combine, part, i) in enumerate(self.folds):
            total = found[0][place]
            for other in found[1:]:
                combine(total, other[place], out=total)
            part.seen(give[i])[...] = total

    def _share(self, full: list[tuple[int, Any, bool]], start: int, stop: int) -> list[Any]:
        """Some rows, compiled or block by block; what the late folds came to."""
        if self.native is not None:
            arrays = [array for _, array, _ in full]
            totals = [np.empty(part.shape, part.dtype) for _, _, part, _ in self.folds]
            self.native.run(arrays, totals, start, stop)
            return totals
        if len(self.dims) == 1:
            return self._blocks(full, start, stop)
        before = np.setbufsize(self._buffer)
        try:
            return self._blocks(full, start, stop)
        finally:
            np.setbufsize(before)

    def _blocks(self, full: list[tuple[int, Any, bool]], start: int, stop: int) -> list[Any]:
        count = -(-(stop - start) // self.height)
        height = -(-(stop - start) // count)
        slots = scratch().values(self, self.buffers, height)
        for slot, array, _ in full:
            slots[slot] = array
        totals = [np.empty(part.shape, part.dtype) for _, _, part, _ in self.folds]
        if height == self.rows:
            self._block(slots, totals, True)
            return totals
        rows = [(slot, array) for slot, array, sliced in full if sliced]
        for first in range(start, stop, height):
            last = min(first + height, stop)
            for slot, array in rows:
                slots[slot] = array[first:last]
            if last - first < height:
                arrays = [slots[slot] for slot in self._scratch]
                self._fill(slots, self.buffers.shortened(arrays, last - first))
            self._block(slots, totals, first == start)
        return totals

    def placed(self, arrays: Sequence[Any]) -> list[Any]:
        """A block's values, of which numbers are there and what lies in these arrays of scratch."""
        slots: list[Any] = [None] * len(self.slots)
        for slot, value in self.constants:
            slots[slot] = value
        self._fill(slots, arrays)
        return slots

    def _block(self, slots: list[Any], totals: list[Any], first: bool) -> None:
        """One block; what its late folds come to is added to the totals."""
        into = totals if first else [np.empty_like(total) for total in totals]
        for (slot, *_), array in zip(self.folds, into, strict=True):
            slots[slot] = array
        for call, given in self.calls:
            call(*given(slots))
        if not first:
            for (_, combine, _, _), total, part in zip(self.folds, totals, into, strict=True):
                combine(total, part, out=total)

    def _fill(self, slots: list[Any], arrays: Sequence[Any]) -> None:
        for slot, array in zip(self._scratch, arrays, strict=True):
            slots[slot] = array


def _without_views(region: Region) -> list[Step]:
    """The steps of a region, with what was seen through views named directly."""
    names: dict[int, int] = {}
    found = []
    for _, step in region.steps:
        operands = tuple(names.get(n, n) for n in step.operands)
        if step.kind == VIEW:
            names[step.results[0]] = operands[0]
        else:
            found.append(step._replace(operands=operands))
    return found


def axes_of(code: Code, region: Region, wanted: Sequence[int]) -> tuple[int, ...] | None:
    """The axes of the space, so few that every value lies along some; None where there are none.

    wanted: what the region gives. That, and what it reads, are arrays, whose order in memory has to
    be that of the space.
    """
    arrays = {*region.reads(), *wanted}
    intervals = []
    for number, axes in region.axes.items():
        laid_out = code.phantoms[number]
        strides = laid_out.strides if number in arrays else None
        intervals += extents(laid_out.shape, axes, strides)
    return divided(intervals, region.size)
