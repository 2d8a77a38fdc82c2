"""Kinds of loops that users write: each function sets one up, and gives what a step of it does."""

from __future__ import annotations

from collections.abc import Callable

Step = Callable[[int], object]
Loop = Callable[[], Step]

LOOPS: dict[str, Loop] = {}


def loop(made: Loop) -> Loop:
    """Enter a loop by its name."""
    assert made.__name__ not in LOOPS
    LOOPS[made.__name__] = made
    return made


__all__ = ["LOOPS", "Loop", "Step", "loop"]
