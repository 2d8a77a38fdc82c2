"""Arrays for values that live one after the other: memory is used again as soon as it is free."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

_LINE = 64
"""Bytes of a line of the processor's cache: arrays begin at one."""


class Pool:
    """Gives arrays, and takes them back. nbytes: of all memory that it has."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._free: list[Any] = []
        self._taken: dict[int, Any] = {}

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """An array with whatever is in it."""
        memory = self._memory(max(prod(shape) * dtype.itemsize, 1))
        made = np.ndarray(shape, dtype, memory)
        self._taken[id(made)] = made, memory
        return made

    def back(self, array: Any) -> None:
        """Take back what nobody reads any more."""
        self._free.append(self._taken.pop(id(array))[1])

    def _memory(self, size: int) -> Any:
        """The smallest free piece that is large enough; what is left of it stays free."""
        whole = -(-size // _LINE) * _LINE
        fitting = [place for place, piece in enumerate(self._free) if piece.nbytes >= whole]
        if fitting:
            piece = self._free.pop(min(fitting, key=lambda place: self._free[place].nbytes))
        else:
            piece = self._new(whole)
        if piece.nbytes > whole:
            self._free.append(piece[whole:])
        return piece[:whole]

    def _new(self, size: int) -> Any:
        made = np.empty(size + _LINE, np.uint8)
        self.nbytes += made.nbytes
        start = -made.__array_interface__["data"][0] % _LINE
        return made[start : start + size]
