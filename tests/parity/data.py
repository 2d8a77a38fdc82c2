"""Numbers for the programs: drawn by NumPy, so that each run gets the same."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw(torch: Any, *shape: int, seed: int = 0, dtype: str = "float64", **fields: Any) -> Any:
    """Normal numbers as a leaf of this shape and dtype; complex ones where the dtype is complex."""
    rng = np.random.default_rng([seed, *shape])
    found = rng.normal(size=shape)
    if dtype.startswith("complex"):
        found = found + 1j * rng.normal(size=shape)
    return torch.tensor(found, dtype=getattr(torch, dtype), **fields)


def classes(torch: Any, *shape: int, below: int, seed: int = 0) -> Any:
    """Whole numbers from 0 up to `below`, as int64."""
    return torch.tensor(np.random.default_rng([seed, *shape]).integers(0, below, size=shape))
