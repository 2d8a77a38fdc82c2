"""Kernels that only hand their operands on to one function of the array library.

`return xp.multiply(input, other)` need not be a Python frame of its own at every call: run once on
stand-ins, such a kernel shows which function it is, and that function takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class _Number:
    """Stands for a number; any use of it but handing it on is an AttributeError or TypeError."""

    __slots__ = ()


class _Operand:
    """Stands for an array, of which no more than the dtype may be asked."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype


class _Shown:
    """What a function of the array library was called with; nothing may depend on its result."""

    __slots__ = ("name", "operands")

    def __init__(self, name: str, operands: tuple[Any, ...]) -> None:
        self.name, self.operands = name, operands

    def __bool__(self) -> bool:
        raise TypeError


class _Handed:
    """Stands for the array library: a function called on it answers with its name and operands."""

    def __getattr__(self, name: str) -> Callable[..., _Shown]:
        return lambda *operands: _Shown(name, operands)


def direct(
    kernel: Callable[..., Any],
    xp: Any,
    dtypes: list[np.dtype | None],
    attributes: dict[str, Any],
) -> Callable[..., Any] | None:
    """The array library's function that the kernel is, or None if it is more than that.

    dtypes: those that its operands come in; None of a number.
    """
    stands = tuple(_Number() if dtype is None else _Operand(dtype) for dtype in dtypes)
    try:
        shown = kernel(_Handed(), *stands, **attributes)
    except (AttributeError, TypeError):
        return None
    if type(shown) is _Shown and shown.operands == stands:
        found: Callable[..., Any] = getattr(xp, shown.name)
        return found
    return None
