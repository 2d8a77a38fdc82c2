"""Vectors of ones for BLAS, which adds rows up faster than NumPy does; the short ones are kept."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_SHORT = 4096
"""Elements up to which a vector is kept for next time."""


def ones_of(size: int, dtype: np.dtype) -> np.ndarray:
    """So many ones, to be read only."""
    return _kept(size, dtype) if size <= _SHORT else np.ones(size, dtype)


@lru_cache(maxsize=64)
def _kept(size: int, dtype: np.dtype) -> np.ndarray:
    made = np.ones(size, dtype)
    made.flags.writeable = False
    return made
