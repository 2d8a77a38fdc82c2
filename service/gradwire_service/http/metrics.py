"""Counts for Prometheus: kept as plain numbers, shaped when they are asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradwire_service.http.service import Service

BUCKETS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds of the histogram of durations, in seconds."""


class Metrics:
    """What was answered, and how long it took."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds: dict[tuple[str, str], tuple[list[int], list[float]]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = (method, route, status)
        self._requests[key] = self._requests.get(key, 0) + 1
        found = self._seconds.get(key[:2])
        if found is None:
            found = self._seconds[key[:2]] = ([0] * (len(BUCKETS) + 1), [0.0])
        found[0][bisect_left(BUCKETS, seconds)] += 1
        found[1][0] += seconds

    def families(self, service: Service) -> Iterator[Any]:
        """All metrics of the service, as prometheus_client's families."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        requests = CounterMetricFamily(
            "gradwire_requests", "Requests answered.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in list(self._requests.items()):
            requests.add_metric([method, route, str(status)], count)
        yield requests
        durations = HistogramMetricFamily(
            "gradwire_request_seconds", "Seconds from request to reply.", labels=["method", "route"]
        )
        for key, (counts, total) in list(self._seconds.items()):
            durations.add_metric(list(key), _cumulative(counts), total[0])
        yield durations
        host = service.host
        plans = host.once.plans
        yield CounterMetricFamily("gradwire_plans", "Plans made of programs.", value=plans.made)
        yield CounterMetricFamily(
            "gradwire_planned", "Programs answered by a plan.", value=plans.answered
        )
        yield GaugeMetricFamily(
            "gradwire_sessions", "Sessions that live.", value=len(host.sessions())
        )
        yield GaugeMetricFamily(
            "gradwire_bytes", "Bytes held by all sessions, at most.", value=host.ledger.held
        )
        yield GaugeMetricFamily(
            "gradwire_requests_waiting",
            "Requests that run or wait for their session.",
            value=service.executor.waiting,
        )


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    total, found = 0, []
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], counts, strict=True):
        total += count
        found.append((bound, float(total)))
    return found


def exposition(service: Service) -> tuple[bytes, str]:
    """The text that Prometheus scrapes, and its media type."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Now(Collector):
        def collect(self) -> Iterator[Any]:
            return service.metrics.families(service)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Now())
    return generate_latest(registry), CONTENT_TYPE_LATEST
