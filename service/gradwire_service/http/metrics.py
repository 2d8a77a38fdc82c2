"""Counts for Prometheus: kept as plain numbers, shaped when they are asked for (exposition.py)."""

from __future__ import annotations

from bisect import bisect_left

BUCKETS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds of the histogram of durations, in seconds."""


class Metrics:
    """What was answered, how long it took, and what was refused, by its code.

    requests: by method, route and status. seconds: by method and route, how many requests fell into
    each bucket, and the sum.
    """

    __slots__ = ("errors", "requests", "seconds")

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = {}
        self.seconds: dict[tuple[str, str], tuple[list[int], list[float]]] = {}
        self.errors: dict[str, int] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = (method, route, status)
        self.requests[key] = self.requests.get(key, 0) + 1
        found = self.seconds.get(key[:2])
        if found is None:
            found = self.seconds[key[:2]] = ([0] * (len(BUCKETS) + 1), [0.0])
        found[0][bisect_left(BUCKETS, seconds)] += 1
        found[1][0] += seconds

    def error(self, code: str) -> None:
        """Count one error."""
        self.errors[code] = self.errors.get(code, 0) + 1
