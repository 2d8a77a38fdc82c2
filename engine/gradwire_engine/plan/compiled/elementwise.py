"""Calls of functions of elements, taken apart: where each reads and writes, in rows or without."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import address
from gradwire_engine.plan.bound import EXTREMES
from gradwire_engine.plan.compiled.emit import FEWEST
from gradwire_engine.plan.compiled.lanes import BOOL, KINDS, instruction
from gradwire_engine.plan.compiled.loops import inner_loop
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.fixed import Call
from gradwire_engine.plan.functions import copied, select

_TRIES = 1 << 12
"""How long NumPy may try to find out whether two arrays overlap; where that is too short, they are
taken to."""


class Place(NamedTuple):
    """Where elements lie, one after the other in the order of a call's result.

    size: how many; width: of them in a row, all where there are no gaps, 0 where they are all the
    same one; stride: bytes from row to row.
    """

    array: Any
    size: int
    width: int
    stride: int

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for the same elements in the same order."""
        return address(self.array), self.array.dtype, self.width, self.stride

    @property
    def lies(self) -> Lies:
        return Lies.FULL if self.width else Lies.ONE

    @property
    def bent(self) -> bool:
        """Whether it has rows apart, or all in the same place."""
        return 0 < self.width < self.size

    def seen(self) -> Any:
        """The elements as an array: of rows where there are any."""
        if not self.bent:
            return self.array
        shape, strides = (self.size // self.width, self.width), (self.stride, self.array.itemsize)
        return np.lib.stride_tricks.as_strided(self.array, shape, strides)

    def meets(self, other: Place) -> bool:
        """Whether both have memory in common."""
        if not np.may_share_memory(self.array, other.array):
            return False
        most: Any = _TRIES  # which NumPy's stubs take to be 0 or -1
        try:
            return np.shares_memory(self.array, other.array, most)
        except np.exceptions.TooHardError:
            return True


def _place(array: Any, shape: tuple[int, ...]) -> Place | None:
    """Where the elements of an array lie that is read or written in this shape; None where that is
    not in rows.
    """
    if array.ndim > len(shape):
        return None
    strides, itemsize = np.broadcast_to(array, shape).strides, array.itemsize
    axes: list[tuple[int, int]] = []  # sizes and strides, from the innermost on, in few axes
    size = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        size *= n
        if n == 1:
            continue
        if axes and stride == axes[-1][0] * axes[-1][1]:
            axes[-1] = axes[-1][0] * n, axes[-1][1]
        else:
            axes.append((n, stride))
    if not axes:
        return Place(array, size, size, 0)
    width, step = axes[0]
    if len(axes) == 1 and step in (0, itemsize):
        return Place(array, size, width if step else 0, 0)
    if len(axes) == 2 and step == itemsize and not width % FEWEST:  # as many fit a vector
        return Place(array, size, width, axes[1][1])
    return None


class Elementwise(NamedTuple):
    """A call taken apart. operands: places, and Python's numbers; apart: whether it is a loop of
    NumPy's, which is handed elements without gaps.
    """

    run: Any
    operands: Sequence[Any]
    into: Place
    apart: bool

    def places(self) -> list[Place]:
        """What it reads, and what it writes."""
        return [*(x for x in self.operands if isinstance(x, Place)), self.into]


def elementwise(call: Call) -> Elementwise | None:
    """A call that can be compiled; None where it can't."""
    run, operands, into = _taken_apart(*call)
    operands = [np.asarray(x) if isinstance(x, np.generic) else x for x in operands]
    if type(into) is not np.ndarray or not into.size or not _fitting(run, operands, into):
        return None
    places = [_place(x, into.shape) if type(x) is np.ndarray else x for x in operands]
    written = _place(into, into.shape)
    if written is None or not written.width or any(place is None for place in places):
        return None
    read = [place for place in places if isinstance(place, Place)]
    # Where both overlap, NumPy copies what is read first; of a choice, not even where they are one.
    if any((run is select or x.key != written.key) and x.meets(written) for x in read):
        return None
    if (
        run is np.power and not into.ndim
    ):  # of numbers by themselves, for which it has ways of its own
        return None
    kind = KINDS[read[0].array.dtype]
    apart = isinstance(run, np.ufunc) and instruction(run, kind) is None
    return Elementwise(run, places, written, apart)


def _taken_apart(run: Any, given: tuple[Any, ...]) -> tuple[Any, Sequence[Any], Any]:
    """A call as a function of elements, its operands, and the array that it writes: None if it is
    of another form.
    """
    if isinstance(run, partial):
        known = run.func in EXTREMES and run.keywords.keys() == {"out"}
        return (run.func, given, run.keywords["out"]) if known else (run, (), None)
    if run is np.copyto and len(given) == 2:
        return copied, given[1:], given[0]
    if run is copied or run is select or isinstance(run, np.ufunc):
        return run, given[:-1], given[-1]
    return run, (), None


def _fitting(run: Any, operands: Sequence[Any], into: Any) -> bool:
    """Whether all dtypes are compiled, and those that NumPy computes in without a cast."""
    arrays = [x for x in operands if type(x) is np.ndarray]
    numbers = [x for x in operands if type(x) is not np.ndarray]
    if not arrays or not all(x.dtype in KINDS and x.flags.aligned for x in (*arrays, into)):
        return False
    if not all(type(x) in (int, float) for x in numbers):
        return False
    if run is copied:
        return True
    if run is select:
        return arrays[0] is operands[0] and KINDS[arrays[0].dtype] == BOOL
    if (run.nin, run.nout, run.signature) != (len(operands), 1, None):
        return False
    kinds = [x.dtype if type(x) is np.ndarray else type(x) for x in operands]
    try:
        *taken, made = run.resolve_dtypes((*kinds, None))
    except TypeError:
        return False
    said = [x.dtype for x in arrays]
    if made != into.dtype or any(t != said[0] for t in (*taken, *said)):
        return False
    kind = KINDS[said[0]]
    if kind == BOOL and numbers:
        return False
    letters = "".join(t.char for t in taken) + "->" + made.char
    return instruction(run, kind) is not None or inner_loop(run, letters) is not None
