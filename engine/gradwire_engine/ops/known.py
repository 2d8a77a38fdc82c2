"""Elements that an op needs as Python numbers, because its result's shape depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.errors import error, invalid_argument


def kind(value: Any) -> str:
    """The kind of a value's dtype as NumPy names it: b, i, u, f or c."""
    return np.dtype(getattr(value.dtype, "numpy", value.dtype)).kind


def elements(asked: str, value: Any, hint: str) -> Any:
    """A value's array; where there is none (device meta) the shape cannot be known."""
    if getattr(value, "device", None) == "meta":
        raise error(
            "data_dependent_shape",
            f"{asked}: the result's shape depends on data, which is not known here",
            hint,
        )
    return getattr(value, "array", value)


def without_zeros(value: Any) -> bool | None:
    """Whether none of a tensor's elements is 0: taken for granted on device meta.

    None where it can't be told: of arrays, of what is traced, of a transform's values.
    """
    if getattr(value, "level", 1):
        return None
    kind = str(value.device).partition(":")[0]
    return True if kind == "meta" else kind in ("cpu", "cuda") and bool((value.array != 0).all())


def whole_number(asked: str, value: Any) -> int:
    """A scalar of whole numbers as an int."""
    if value.shape or kind(value) not in "iu":
        raise invalid_argument(
            f"{asked}: an index in a tensor must be one integer, got "
            f"{value.dtype} of shape {list(value.shape)}",
            "give an int, or a tensor of an integer dtype without axes",
        )
    return int(elements(asked, value, "give an int"))


def number(asked: str, value: Any) -> Any:
    """A scalar as a Python number."""
    if value.shape:
        raise invalid_argument(
            f"{asked}: takes numbers or tensors without axes, got shape {list(value.shape)}",
            "give a number",
        )
    return elements(asked, value, "give a number").item()
