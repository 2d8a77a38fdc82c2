"""Symbols: arrays that are only spoken of. Under tensors they let any function be traced.

A tensor on the device `symbol` has a Symbol for an array: shape, dtype and strides, but no
elements. What runs on such tensors (ops, in-place ops, views, a walk back, transforms that wrap
tensors) is the engine as it always is; where a kernel would run, the call is written down in the
running trace, and its results are new symbols. Whatever would look at elements fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Backend, Unlisted, backend, offer_unlisted, phantom
from gradwire_engine.call import BIND, Call
from gradwire_engine.errors import error
from gradwire_engine.laid import LAY

SYMBOLIC = Unlisted("symbol")
"""The device of symbols."""


class UntraceableError(Exception):
    """What runs can't be written down: it draws random numbers, or its shapes depend on data."""


class Symbol:
    """One array of a trace: the `place`-th value there, laid out as its phantom is."""

    __slots__ = ("phantom", "place")

    __array_ufunc__ = None  # NumPy's operators refuse it

    def __init__(self, laid_out: Any, place: int) -> None:
        self.phantom, self.place = laid_out, place

    def __getattr__(self, name: str) -> Any:
        if name not in _KNOWN:
            raise UntraceableError(f"a symbol has no {name}")
        return getattr(self.phantom, name)

    def _unknown(self, *_: Any, **__: Any) -> Any:
        raise UntraceableError("a symbol has no elements")

    __array__ = __bool__ = __int__ = __index__ = __float__ = __complex__ = __iter__ = _unknown


_KNOWN = frozenset({"shape", "dtype", "strides", "flags", "nbytes", "itemsize", "ndim", "size"})


class Entry(NamedTuple):
    """A call written down: the places of its operands and results among the trace's values.

    call: what says op, arguments and outputs: a Call, or what stands for a loop.
    """

    call: Any
    operands: tuple[int, ...]
    results: tuple[int, ...]


class Trace:
    """What was written down so far; a context in which symbols can be made on this thread.

    constants: values that are known, by place: arrays, numbers and None. draws: whether calls that
    draw random numbers are written down too, to be counted: passes take equal calls for the same.
    loops: what was found of loops' bodies so far, where loops are written down too, in one entry
    each: nothing can run what has any.
    """

    def __init__(self, *, draws: bool = False, loops: dict[Any, Any] | None = None) -> None:
        self.draws, self.loops = draws, loops
        self.entries: list[Entry] = []
        self.phantoms: list[Any] = []
        """How each value lies in memory, by place; None of numbers."""
        self.constants: dict[int, Any] = {}
        self.count = 0

    def symbol(self, laid_out: Any) -> Symbol:
        """A new value that lies in memory as this phantom does."""
        self.count += 1
        self.phantoms.append(laid_out)
        return Symbol(laid_out, self.count - 1)

    def constant(self, array: Any) -> Symbol:
        """A value whose elements are known now."""
        made = self.symbol(phantom(array.shape, array.dtype))
        self.constants[made.place] = np.ascontiguousarray(array) if array.ndim else array
        return made

    def operand(self, value: Any) -> int:
        """The place of an operand: a symbol's, or a new one of a number or None."""
        if type(value) is Symbol:
            return value.place
        if value is not None and type(value) not in (bool, int, float, complex):
            raise UntraceableError(f"a {type(value).__name__} is no operand of a trace")
        self.count += 1
        self.phantoms.append(None)
        self.constants[self.count - 1] = value
        return self.count - 1

    def entered(self, call: Any, operands: Sequence[Symbol]) -> list[Symbol]:
        """Write down what stands for a loop; its results."""
        places = tuple(map(self.operand, operands))
        made = [self.symbol(phantom(s.shape, s.dtype.numpy)) for s in call.outputs]
        self.entries.append(Entry(call, places, tuple(symbol.place for symbol in made)))
        return made

    def __enter__(self) -> Trace:
        if _running.trace is not None:
            raise UntraceableError("a trace runs already")
        _running.trace = self
        return self

    def __exit__(self, *exc: object) -> None:
        _running.trace = None


class _Running(threading.local):
    trace: Trace | None = None


_running = _Running()


@contextmanager
def aside() -> Iterator[None]:
    """Within it no trace runs on this thread, so that another may."""
    before, _running.trace = _running.trace, None
    try:
        yield
    finally:
        _running.trace = before


def takes_loops() -> bool:
    """Whether a trace runs on this thread that has loops written down."""
    return _running.trace is not None and _running.trace.loops is not None


def running() -> Trace:
    """The trace of this thread; unsupported_device where none runs."""
    found = _running.trace
    if found is None:
        raise error("unsupported_device", f"device {SYMBOLIC!r} is not to be had here")
    return found


def _bind(call: Call, lay_out: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in the place of a kernel: it writes the call down."""
    running()
    random = call.op.random

    def write_down(*operands: Any) -> Any:
        trace = running()
        if random and not trace.draws:
            raise UntraceableError(f"{call.op.name} draws random numbers")
        places = tuple(map(trace.operand, operands))
        laid_out = lay_out(*[o.phantom if type(o) is Symbol else o for o in operands])
        several: Sequence[Any] = (laid_out,) if call.single else laid_out
        made = [trace.symbol(p) for p in several]
        trace.entries.append(Entry(call, places, tuple(s.place for s in made)))
        return made[0] if call.single else tuple(made)

    return write_down


def _no_elements(array: Any) -> np.ndarray:
    raise UntraceableError("a symbol has no elements")


def _lay(array: Any, laid_out: Any) -> Any:
    """The same value, known to lie otherwise; where a call is written down, what it will be."""
    return Symbol(laid_out, array.place) if type(array) is Symbol else laid_out


BIND[SYMBOLIC] = _bind
LAY[SYMBOLIC] = _lay
offer_unlisted(
    SYMBOLIC,
    Backend(
        SYMBOLIC,
        backend("cpu").xp,
        (),
        lambda array: running().constant(array),
        _no_elements,
    ),
)
