"""Places where a test can have something go wrong; in a server that is started as such, nothing is.

Neither a variable nor an option reaches this: who wants faults has to be a program of its own that
calls `install` and then runs the server, as the tests' does.
"""

from __future__ import annotations

from collections.abc import Callable

POINTS = frozenset({"before-commit", "after-commit", "outcome", "file", "snapshot"})
"""outcome: where the database is asked what became of a commit whose confirmation was lost."""

_happens: Callable[[str], None] | None = None


def install(happens: Callable[[str], None]) -> None:
    """From now on this is called with the name of each point that is passed; it may raise."""
    global _happens
    _happens = happens


def point(name: str) -> None:
    """Here something may go wrong."""
    if _happens is not None:
        _happens(name)
