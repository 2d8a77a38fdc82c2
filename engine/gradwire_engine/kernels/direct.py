"""Kernels that only hand their operands on to one function of the array library.

`return xp.multiply(input, other)` need not be a Python frame of its own at every call: run once on
stand-ins, such a kernel shows which function it is, and that function takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Operand:
    """Stands for an operand; any use of it but handing it on is an AttributeError or TypeError."""

    __slots__ = ()


class _Handed:
    """Stands for the array library: a function called on it answers with its name and operands."""

    def __getattr__(self, name: str) -> Callable[..., tuple[str, tuple[Any, ...]]]:
        return lambda *operands: (name, operands)


def direct(
    kernel: Callable[..., Any], xp: Any, operands: int, attributes: dict[str, Any]
) -> Callable[..., Any] | None:
    """The array library's function that the kernel is, or None if it is more than that."""
    stands = tuple(_Operand() for _ in range(operands))
    try:
        shown = kernel(_Handed(), *stands, **attributes)
    except (AttributeError, TypeError):
        return None
    if isinstance(shown, tuple) and len(shown) == 2 and shown[1] == stands:
        found: Callable[..., Any] = getattr(xp, shown[0])
        return found
    return None
