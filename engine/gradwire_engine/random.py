"""Seeded random state: one generator per session, or the thread's own where there is none."""

from __future__ import annotations

import threading
from importlib import import_module
from random import SystemRandom
from typing import Any

import numpy as np

from gradwire_engine.arrays import backend
from gradwire_engine.journal import assign
from gradwire_engine.mode import local

_SYSTEM = SystemRandom()
MOST_DRAWS = 2**62
"""Fewer count as made where a state is set: what is drawn after them still fits an int64."""


class Generator:
    """Random numbers from a seed; the same seed gives the same numbers on one kind of device.

    `state` is a number of draws and the seed of the next one: every draw starts a fresh counter
    stream (Philox), so the state is two integers, cheap to undo, fork and write down.
    """

    __slots__ = ("draws", "seed")

    def __init__(self, seed: int | None = None, draws: int = 0) -> None:
        self.seed = _SYSTEM.getrandbits(63) if seed is None else seed
        self.draws = draws

    def restart(self, seed: int, draws: int = 0) -> None:
        """Begin again from a seed, as torch.manual_seed; draws: that count as made."""
        assign(self, "seed", seed)
        assign(self, "draws", draws)

    @property
    def state(self) -> dict[str, int]:
        """Where it is: the seed, and the number of draws made since."""
        return {"seed": self.seed, "draws": self.draws}

    def next_stream(self, device: str) -> Any:
        """The array library's own random generator for the next draw."""
        draw = self.draws
        assign(self, "draws", draw + 1)
        key = self.seed & (2**64 - 1)
        if device.startswith("cuda"):
            cupy = import_module("cupy")
            return cupy.random.Generator(cupy.random.Philox4x3210(hash((key, draw)) & (2**63 - 1)))
        source = _here.source
        if source is None:
            source = _here.source = _Source()
        return backend(device).xp.random.Generator(source.at(key, draw))


class _Source:
    """A source of numbers that goes to where a draw begins in a tenth of the time of a new one."""

    def __init__(self) -> None:
        self._philox = np.random.Philox(0)
        self._key, self._counter = np.zeros(2, np.uint64), np.zeros(4, np.uint64)
        where = {"counter": self._counter, "key": self._key}
        self._state: Any = self._philox.state | {"state": where}

    def at(self, key: int, draw: int) -> np.random.Philox:
        """The source with nothing left of the draw before, from which nobody takes more."""
        self._key[0], self._counter[3] = key, draw
        self._philox.state = self._state
        return self._philox


class _Here(threading.local):
    source: _Source | None = None  # made late: an import of gradwire does without NumPy's random


_here = _Here()


def running(device: str) -> Any:
    """The generator that a random kernel draws from now."""
    state = local.state
    if state.generator is None:
        state.generator = Generator()
    return state.generator.next_stream(device)
