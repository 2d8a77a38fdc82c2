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
        """The array library's own random generator for the next draw; see `done_with`."""
        draw = self.draws
        assign(self, "draws", draw + 1)
        key = self.seed & (2**64 - 1)
        if device.startswith("cuda"):
            cupy = import_module("cupy")
            return cupy.random.Generator(cupy.random.Philox4x3210(hash((key, draw)) & (2**63 - 1)))
        source = _here.idle.pop() if _here.idle else np.random.Philox(0)
        where = {"counter": (0, 0, 0, draw), "key": (key, 0)}
        source.state = _FRESH | {"state": where}  # in a tenth of the time of a new source
        return backend(device).xp.random.Generator(source)


_FRESH: dict[str, Any] = {
    "bit_generator": "Philox", "buffer": (0,) * 4, "buffer_pos": 4, "has_uint32": 0, "uinteger": 0,
}  # fmt: skip
"""The state of a source from which nothing was drawn, but for where it begins."""


class _Here(threading.local):
    """The sources of a thread that nobody draws from."""

    def __init__(self) -> None:
        self.idle: list[Any] = []


_here = _Here()


def done_with(stream: Any) -> None:
    """Take back what `running` gave: nobody draws from it any more."""
    source = getattr(stream, "bit_generator", None)
    if type(source) is np.random.Philox:
        _here.idle.append(source)


def running(device: str) -> Any:
    """The generator that a random kernel draws from now."""
    state = local.state
    if state.generator is None:
        state.generator = Generator()
    return state.generator.next_stream(device)
