"""How much in how long: a bucket that fills at a steady rate, and is emptied by use."""

from __future__ import annotations

import time


class Bucket:
    """Tokens that come at `rate` a second, at most `most` of them. What is used may be owed."""

    __slots__ = ("_at", "_left", "most", "rate")

    def __init__(self, rate: float, most: float) -> None:
        self.rate, self.most = rate, most
        self._left, self._at = most, time.monotonic()

    def use(self, count: float) -> None:
        """Take so many, whether or not they are there."""
        self._left -= count

    def wait(self, count: float, now: float) -> float:
        """Seconds until so many are there and none are owed; 0 where they are.

        now: of time.monotonic().
        """
        if self._left >= max(count, self.most / 2):
            return 0.0  # so far from empty that it needn't be filled yet
        self._left = min(self.most, self._left + (now - self._at) * self.rate)
        self._at = now
        return max(0.0, (count - self._left) / self.rate)
