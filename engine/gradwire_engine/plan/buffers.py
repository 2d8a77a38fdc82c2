"""Arrays for values that live one after the other: memory is used again as soon as it is free."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import address
from gradwire_engine.mode import charge

_LINE = 64
"""Bytes of a line of the processor's cache: arrays begin at one."""


class TooLargeError(Exception):
    """What is to be made takes more than there is room for."""


class Memory:
    """Pieces that pools are made of; the meter is asked for each. nbytes: of all of them, room:
    which they may take.
    """

    def __init__(self, room: int) -> None:
        self.room, self.nbytes = room, 0
        self._pieces: list[Any] = []

    def piece(self, size: int) -> Any:
        """So many bytes that begin at a line."""
        taken = size + _LINE
        if self.nbytes + taken > self.room:
            raise TooLargeError
        charge(taken)
        made = np.empty(taken, np.uint8)
        self.nbytes += taken
        self._pieces.append(made)
        start = -address(made) % _LINE
        return made[start : start + size]

    def wipe(self) -> None:
        """Leave nothing of what was written."""
        for piece in self._pieces:
            piece.fill(0)


class Pool:
    """Gives arrays in a memory, and takes them back."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._free: list[Any] = []
        self._taken: dict[int, Any] = {}

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """An array with whatever is in it."""
        memory = self._piece(max(prod(shape) * dtype.itemsize, 1))
        made = np.ndarray(shape, dtype, memory)
        self._taken[id(made)] = made, memory
        return made

    def back(self, array: Any) -> None:
        """Take back what nobody reads any more."""
        self._free.append(self._taken.pop(id(array))[1])

    def _piece(self, size: int) -> Any:
        """The smallest free piece that is large enough; what is left of it stays free."""
        whole = -(-size // _LINE) * _LINE
        fitting = [place for place, piece in enumerate(self._free) if piece.nbytes >= whole]
        if fitting:
            piece = self._free.pop(min(fitting, key=lambda place: self._free[place].nbytes))
        else:
            piece = self._memory.piece(whole)
        if piece.nbytes > whole:
            self._free.append(piece[whole:])
        return piece[:whole]
