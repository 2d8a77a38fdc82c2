"""Until when a request may compute, and whether somebody still wants to know."""

from __future__ import annotations

import time

_INF = float("inf")
SHORTEST = 1e-9
"""Seconds that somebody may ask for at least."""


class Deadline:
    """A point in time, which comes at once where the request is given up.

    compute: seconds that work may take once it has begun. within: seconds from now until when it
    must have ended, waiting included.
    """

    __slots__ = ("at", "compute", "given_up")

    def __init__(self, compute: float, within: float = _INF) -> None:
        self.compute = compute
        self.at = _INF if within == _INF else time.monotonic() + within
        self.given_up = False

    def begin(self) -> None:
        """The work begins now."""
        self.at = min(self.at, time.monotonic() + self.compute)

    def give_up(self) -> None:
        """The work ends at its next step: who asked for it went away. From any thread."""
        self.given_up = True
        self.at = -_INF
