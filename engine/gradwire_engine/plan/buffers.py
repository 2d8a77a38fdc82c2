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
        """An array with whatever is in it: in the memory that became free last, if that fits."""
        size = prod(shape) * dtype.itemsize
        memory = self._memory(max(size, 1))
        made = np.ndarray(shape, dtype, memory)
        self._taken[id(made)] = made, memory
        return made

    def back(self, array: Any) -> None:
        """Take back what nobody reads any more."""
        self._free.append(self._taken.pop(id(array))[1])

    def _memory(self, size: int) -> Any:
        for place in reversed(range(len(self._free))):
            if size <= self._free[place].nbytes <= 2 * size + _LINE:
                return self._free.pop(place)
        whole = np.empty(size + _LINE, np.uint8)
        self.nbytes += whole.nbytes
        start = -whole.__array_interface__["data"][0] % _LINE
        return whole[start : start + size]
