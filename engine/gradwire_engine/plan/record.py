"""Kernels taken apart: run once on stand-ins, a kernel shows which functions of NumPy it calls.

A `Probe` stands for an array. Functions called on it (NumPy hands them over, by its protocols) are
written down as steps, and give probes. Where a kernel writes into an array of its own, what it
wrote is a new value. A kernel that does anything else (looks at elements, writes into parts) can't
be taken apart, and stays one step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Backend, Unlisted, backend, offer_unlisted
from gradwire_engine.plan import understood as understood  # fills the table of functions
from gradwire_engine.plan.probe import Cell, Probe
from gradwire_engine.plan.recorder import Recorder, UnrecordableError

RECORDING = Unlisted("recording")
"""The device of probes."""


_LITTLE = 2**14
"""Elements of an array that a kernel makes of nothing, beyond which it isn't taken apart."""
_MAKERS = frozenset({"ones", "zeros", "full", "arange", "linspace", "eye", "identity", "tri"})
_SQUARE = frozenset({"eye", "identity", "tri"})


class _Library:
    """The array library of the recording device: NumPy's, where new arrays are probes."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(backend("cpu").xp, name)
        return partial(_made, name, found) if name in _MAKERS else found

    def empty(self, shape: Any, dtype: Any = float) -> Probe:
        """An array that is written to before it is read."""
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        return Probe(_running.recorder, Cell(None, np.dtype(dtype)), size)

    def asarray(self, x: Any) -> Any:
        """Itself, where it is a probe."""
        return x if type(x) is Probe else np.asarray(x)

    def array(self, x: Any, order: str = "K") -> Any:
        """A copy."""
        return x.copy() if type(x) is Probe else np.array(x, order=order)  # type: ignore[call-overload]

    def ascontiguousarray(self, x: Any) -> Any:
        """Row-major."""
        return x.copy() if type(x) is Probe else np.ascontiguousarray(x)


def _made(name: str, make: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """A known array, where it is small: it is made now, and kept."""
    if isinstance(given[0], Sequence):
        size = prod(given[0])
    else:
        size = int(max((abs(x) for x in given[:3] if isinstance(x, int | float)), default=0))
    if size ** (2 if name in _SQUARE else 1) > _LITTLE:
        raise UnrecordableError("a large array of nothing")
    return make(*given, **options)


class _Running(threading.local):
    recorder: Recorder


_running = _Running()


def record(recorder: Recorder, run: Callable[..., Any], operands: Sequence[Any]) -> tuple[int, ...]:
    """Take a bound kernel apart; the numbers of its results. Raises whatever stands in the way."""
    _running.recorder = recorder
    mark = recorder.mark()
    try:
        found = run(*operands)
        several = found if isinstance(found, tuple) else (found,)
        if not all(type(x) is Probe for x in several):
            raise UnrecordableError("a result that is no probe")
        return tuple([x.read() for x in several])
    except BaseException:
        recorder.back_to(mark)
        raise
    finally:
        del _running.recorder


def _no_elements(array: Any) -> Any:
    raise UnrecordableError("a probe has no elements")


offer_unlisted(RECORDING, Backend(RECORDING, _Library(), (), _no_elements, _no_elements))
