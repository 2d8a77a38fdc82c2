"""How fast this machine is: what a call will take, by what products, copies and such calls took."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from time import monotonic, perf_counter
from typing import NamedTuple

import numpy as np

from gradwire_engine.locks import lock
from gradwire_engine.long_calls import Work

_ROWS = 768
"""Of the product that is measured: 0.9 GFLOP, some 10 ms."""

_COPIED = 1 << 25
"""Bytes of the copy that is measured: more than caches hold."""

_TRIES = 3
"""Measurements of which the fastest counts: in the others the cores had other work too."""

_BUCKET = log(8)
"""Calls of up to eight times as many operations are one size: matrices of up to twice the rows."""

_NEAR = 2
"""Sizes up or down from which one is judged by another: four times the rows."""

_TELLING = 1 << 28
"""Operations from which on a call tells of longer ones: shorter ones take mostly other things."""

_REMEMBERED = 600.0
"""Seconds after which what a call took is forgotten: the machine was perhaps busy then, and what is
refused for it would never be measured again."""


Kind = tuple[str, str]
"""A function and a dtype."""


class Seen(NamedTuple):
    """By how much a call took longer than by rate, and when that was, by time.monotonic()."""

    factor: float
    at: float


class Machine:
    """Rates, measured when they are first asked for, and by how much calls of a kind differed.

    Any number of threads may ask at a time.
    """

    def __init__(self) -> None:
        self._lock = lock()
        self._rates: dict[str, tuple[float, float]] = {}  # and when each was measured
        self._seen: dict[Kind, dict[int, Seen]] = {}  # by size

    def seconds(self, work: Work) -> float:
        """Return what the work will take, in seconds: by its operations, its bytes and its kind."""
        return self._plain(work) * self._factor(work)

    def knows(self, work: Work) -> bool:
        """Whether calls of this kind, of about this size, were measured here lately."""
        return self._near(work) is not None

    def learn(self, work: Work, seconds: float, *, more: bool = False) -> None:
        """Note what work took; more: it was ended after so many seconds, and would take longer.

        What took less than known counts fully, what took more by half its logarithm: that may be
        the other work of a busy machine. Short calls tell nothing.
        """
        if work.flops < _TELLING and not more:
            return
        found = max(seconds, 1e-9) / self._plain(work)
        before = self._factor(work)
        if more:
            factor = max(found, before)
        else:
            factor = found if found < before else (found * before) ** 0.5
        with self._lock:
            self._seen.setdefault(_kind(work), {})[_size(work)] = Seen(factor, monotonic())

    def _plain(self, work: Work) -> float:
        rate = self._rate("float32" if work.dtype in _SINGLE else "float64")
        return work.slow * work.flops / rate + work.nbytes / self._rate(_COPY)

    def _factor(self, work: Work) -> float:
        found = self._near(work)
        return 1.0 if found is None else found.factor

    def _near(self, work: Work) -> Seen | None:
        """What was seen of the nearest size, if it is near and not long ago."""
        size, oldest = _size(work), monotonic() - _REMEMBERED
        with self._lock:
            sizes = self._seen.get(_kind(work), {})
            near = [
                other
                for other, seen in sizes.items()
                if abs(other - size) <= _NEAR and seen.at > oldest
            ]
            return sizes[min(near, key=lambda other: abs(other - size))] if near else None

    def _rate(self, what: str) -> float:
        """Operations in a second, or bytes copied: the most of all times that it was measured."""
        rate, at = self._rates.get(what, (0.0, -inf))
        now = monotonic()
        if now > at + _REMEMBERED:
            rate = max(rate, _copying() if what == _COPY else _multiplying(what))
            self._rates[what] = rate, now
        return rate


_COPY = "copy"


def _multiplying(dtype: str) -> float:
    """Operations in a second of a product of this dtype."""
    a = np.ones((_ROWS, _ROWS), dtype)
    out = np.empty_like(a)
    return 2 * _ROWS**3 / _fastest(lambda: np.matmul(a, a, out=out))


def _copying() -> float:
    """Bytes copied in a second."""
    source = np.ones(_COPIED, np.uint8)
    into = np.ones_like(source)
    return _COPIED / _fastest(lambda: np.copyto(into, source))


_SINGLE = ("float32", "complex64")


def _kind(work: Work) -> Kind:
    return work.name, work.dtype


def _size(work: Work) -> int:
    return int(log(max(work.flops, 1)) / _BUCKET)


def _fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of some tries."""
    best = inf
    for _ in range(_TRIES):
        began = perf_counter()
        work()
        best = min(best, perf_counter() - began)
    return best


MACHINE = Machine()
"""This one: what is known of it is known to all hosts of the process."""
