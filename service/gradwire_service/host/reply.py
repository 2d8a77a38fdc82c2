"""What the host answers: trees of dicts and lists with tensors in them, in no encoding yet."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any

import numpy as np

from gradwire_engine.spec import DType, Shape

# dict[str, Reply] | list[Reply] | TensorReply | str | bool | int | finite float | None
Reply = Any


@dataclass(frozen=True, slots=True)
class TensorReply:
    """A tensor as `api.md` shows it; `array` is None where the elements aren't wanted.

    `array` may be a view and need not be contiguous; whoever sends it holds it until it is sent.
    """

    name: str | None
    dtype: DType
    shape: Shape
    device: str
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    version: int
    array: np.ndarray | None = None


def plain(value: float) -> float | str:
    """A float as JSON can carry it: itself, or "NaN", "Infinity", "-Infinity"."""
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
