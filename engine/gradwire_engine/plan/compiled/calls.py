"""Runs of elementwise calls on arrays that stay where they are, each as one compiled call.

Calls say where they read and where they write, and places are written over. So each run is turned
into steps on values first: what a place holds when the run begins, and what each call makes. Only
what a place holds at the end of a run is written to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.mode import charge
from gradwire_engine.plan.bound import EXTREMES, number_taken
from gradwire_engine.plan.buffers import Memory, Pool, TooLargeError
from gradwire_engine.plan.code import MAP, Code, Step
from gradwire_engine.plan.compiled.emit import FEWEST
from gradwire_engine.plan.compiled.lanes import BOOL, KINDS, instruction
from gradwire_engine.plan.compiled.llvm import Unsupported, available, rest
from gradwire_engine.plan.compiled.loops import inner_loop
from gradwire_engine.plan.compiled.native import Native
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.writer import Given
from gradwire_engine.plan.fixed import Call
from gradwire_engine.plan.functions import copied, select

LEAST, MOST, FUNCTIONS = 2, 64, 16
"""Calls that are worth being one, and that are one at most: what a compiler takes grows faster; and
how many functions are compiled for a list of calls at most."""
_CODE = 1 << 17
"""Bytes of a function, about."""
_TRIES = 1 << 12
"""How long NumPy may try to find out whether two arrays overlap; where that is too short, they are
taken to."""


class Joined(NamedTuple):
    """Calls, of which some are compiled. nbytes: of the functions, about."""

    calls: Sequence[Call]
    nbytes: int


def compiled_calls(calls: Sequence[Call], ends: Collection[int], memory: Memory) -> Joined:
    """The same calls, with runs of elementwise ones as one; as they are where llvmlite isn't there.

    ends: places at which a run ends. Calls that are done again and again, on other arrays each
    time, are the same functions where they are cut at the same places. memory: for what runs leave
    between their steps. The meter is asked now and then, as this takes long.
    """
    if not available():
        return Joined(calls, 0)
    making = _Making()
    for place, call in enumerate(calls):
        if place in ends:
            making.end()
        making.add(call)
    making.end()
    rest()
    return making.joined(calls, memory)


class _Making:
    """Puts runs together, and has them compiled."""

    def __init__(self) -> None:
        self._found: list[tuple[Sequence[Call], _Run | None, Native | None]] = []
        self._known: dict[Any, Native | None] = {}
        self._run: _Run | None = None

    def add(self, call: Call) -> None:
        """One more call: of the run that was begun, or the first of another, or none's."""
        found = _elementwise(call)
        if found is None:
            self.end()
            self._found.append(([call], None, None))
            return
        if self._run is None or not self._run.takes(found):
            self.end()
            self._run = _Run(found.into.size)
        self._run.add(call, found)

    def end(self) -> None:
        """End the run that was begun."""
        run, self._run = self._run, None
        if run is not None:
            self._found.append((run.calls, run, self._native(run)))

    def _native(self, run: _Run) -> Native | None:
        """A run as a function; None where it isn't worth it, or can't be."""
        if len(run.calls) < LEAST:
            return None
        key = run.key()
        if key not in self._known:
            if len(self._known) == FUNCTIONS:
                return None
            charge(0)
            self._known[key] = _native(run)
        return self._known[key]

    def joined(self, calls: Sequence[Call], memory: Memory) -> Joined:
        """All calls; as they were where there is no room for what lies between steps."""
        natives = [native for native in self._known.values() if native is not None]
        if not natives:
            return Joined(calls, 0)
        try:
            size = max(native.nbytes for native in natives)
            scratch = Pool(memory).array((size,), np.dtype(np.uint8))
        except (TooLargeError, MemoryError):
            return Joined(calls, 0)
        made: list[Call] = []
        for plain, run, native in self._found:
            if run is None or native is None:
                made += plain
            else:
                arrays = [place.seen() for place in run.arrays()]
                made.append((native.ready([*arrays, scratch], 0, run.size), ()))
        return Joined(made, len(natives) * _CODE)


def _native(run: _Run) -> Native | None:
    try:
        return Native(run.given())
    except (Unsupported, OverflowError):  # of a number that no float holds, the call says so
        return None


class _Place(NamedTuple):
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
        return _start(self.array), self.array.dtype, self.width, self.stride

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

    def meets(self, other: _Place) -> bool:
        """Whether both have memory in common."""
        if not np.may_share_memory(self.array, other.array):
            return False
        most: Any = _TRIES  # which NumPy's stubs take to be 0 or -1
        try:
            return np.shares_memory(self.array, other.array, most)
        except np.exceptions.TooHardError:
            return True


def _start(array: Any) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


def _place(array: Any, shape: tuple[int, ...]) -> _Place | None:
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
        return _Place(array, size, size, 0)
    width, step = axes[0]
    if len(axes) == 1 and step in (0, itemsize):
        return _Place(array, size, width if step else 0, 0)
    if len(axes) == 2 and step == itemsize and not width % FEWEST:  # as many fit a vector
        return _Place(array, size, width, axes[1][1])
    return None


class _Elementwise(NamedTuple):
    """A call taken apart. operands: places, and Python's numbers; apart: whether it is a loop of
    NumPy's, which is handed elements without gaps.
    """

    run: Any
    operands: Sequence[Any]
    into: _Place
    apart: bool

    def places(self) -> list[_Place]:
        """What it reads, and what it writes."""
        return [*(x for x in self.operands if isinstance(x, _Place)), self.into]


def _elementwise(call: Call) -> _Elementwise | None:
    """A call that can be compiled; None where it can't."""
    run, operands, into = _taken_apart(*call)
    operands = [np.asarray(x) if isinstance(x, np.generic) else x for x in operands]
    if type(into) is not np.ndarray or not into.size or not _fitting(run, operands, into):
        return None
    places = [_place(x, into.shape) if type(x) is np.ndarray else x for x in operands]
    written = _place(into, into.shape)
    if written is None or not written.width or any(place is None for place in places):
        return None
    read = [place for place in places if isinstance(place, _Place)]
    # Where both overlap, NumPy copies what is read first; of a choice, not even where they are one.
    if any((run is select or x.key != written.key) and x.meets(written) for x in read):
        return None
    if (
        run is np.power and not into.ndim
    ):  # of numbers by themselves, for which it has ways of its own
        return None
    kind = KINDS[read[0].array.dtype]
    apart = isinstance(run, np.ufunc) and instruction(run, kind) is None
    return _Elementwise(run, places, written, apart)


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


class _Run:
    """Calls that are to be one, as steps on values. size: elements of each."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: list[Call] = []
        self._steps: list[Step] = []
        self._reads: dict[Any, int] = {}  # what places held when it began
        self._holds: dict[Any, int] = {}  # and hold now, where they are written
        self._places: dict[Any, _Place] = {}
        self._of: dict[int, _Place] = {}  # of each value, where it is read or would be written
        self._dtypes: dict[int, np.dtype] = {}
        self._numbers: dict[Any, tuple[int, Any]] = {}
        self._behind: dict[int, frozenset[int]] = {}  # the values that a value is made of
        self._count = 0

    def takes(self, found: _Elementwise) -> bool:
        """Whether a call can be one of these."""
        if found.into.size != self.size or len(self.calls) == MOST:
            return False
        into = found.into.key
        for place in found.places():
            others = self._places if place.key == into else self._holds
            if any(key != place.key and self._places[key].meets(place) for key in others):
                return False
        return self._written_last(found)

    def _written_last(self, found: _Elementwise) -> bool:
        """Whether all that read what its place held first are done when this call is."""
        first = self._reads.get(found.into.key)
        if first is None:
            return True
        keys = [x.key for x in found.operands if isinstance(x, _Place)]
        operands = [self._holds.get(key, self._reads.get(key)) for key in keys]
        before = {v for n in operands if n is not None for v in (n, *self._behind[n])}
        readers = {s.results[0] for s in self._steps if first in s.operands}
        return readers <= before

    def add(self, call: Call, found: _Elementwise) -> None:
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
        if not isinstance(found, _Place):
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

    def arrays(self) -> list[_Place]:
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
        taken = partial(number_taken, code)
        return Given(code, self._steps, (self.size,), lies, reads, outputs, (), taken, bent)
