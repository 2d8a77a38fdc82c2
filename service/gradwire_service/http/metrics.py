"""Counts for Prometheus: kept as plain numbers, shaped when they are asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gradwire_engine.control.known import Counts

if TYPE_CHECKING:
    from gradwire_service.http.service import Service
    from gradwire_service.http.tenant import Tenant

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


class Exposition:
    """What is shown to Prometheus: of these tenants, of these counts, and if `whole` of loops.

    Plans of loops and of planned calls are the process's, whoever runs them.
    """

    def __init__(self, tenants: Sequence[Tenant], counted: Sequence[Metrics], whole: bool) -> None:
        self._tenants, self._counted, self._whole = tenants, counted, whole

    def collect(self) -> Iterator[Any]:
        """All metrics, as prometheus_client's families."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        tenants, counted = self._tenants, self._counted

        requests = CounterMetricFamily(
            "gradwire_requests", "Requests answered.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in _requests(counted).items():
            requests.add_metric([method, route, str(status)], count)
        yield requests
        durations = HistogramMetricFamily(
            "gradwire_request_seconds", "Seconds from request to reply.", labels=["method", "route"]
        )
        for key, (counts, total) in _seconds(counted).items():
            durations.add_metric(list(key), _cumulative(counts), total)
        yield durations
        plans = [tenant.host.once.plans for tenant in tenants]
        yield CounterMetricFamily(
            "gradwire_plans", "Plans made of programs.", value=sum(p.made for p in plans)
        )
        yield CounterMetricFamily(
            "gradwire_planned", "Programs answered by a plan.", value=sum(p.answered for p in plans)
        )
        yield CounterMetricFamily(
            "gradwire_unplanned", "Programs that ran op by op.", value=sum(p.slow for p in plans)
        )
        yield CounterMetricFamily(
            "gradwire_traces",
            "Programs and bodies of loops that were traced to plan them.",
            value=sum(p.traced for p in plans) + Counts.traces * self._whole,
        )
        yield CounterMetricFamily(
            "gradwire_trace_hits",
            "Loops and planned calls that needed no trace of their body.",
            value=Counts.hits * self._whole,
        )
        yield CounterMetricFamily(
            "gradwire_body_plans",
            "Plans made of bodies of loops and of planned calls.",
            value=Counts.plans * self._whole,
        )
        yield CounterMetricFamily(
            "gradwire_plan_seconds",
            "Seconds that tracing and planning took.",
            value=sum(p.seconds for p in plans) + Counts.seconds * self._whole,
        )
        yield GaugeMetricFamily(
            "gradwire_sessions",
            "Sessions that live.",
            value=sum(len(tenant.host.sessions()) for tenant in tenants),
        )
        yield GaugeMetricFamily(
            "gradwire_bytes",
            "Bytes held by all sessions, at most.",
            value=sum(tenant.host.ledger.held for tenant in tenants),
        )
        yield GaugeMetricFamily(
            "gradwire_requests_waiting",
            "Requests that run or wait for their session.",
            value=sum(tenant.executor.waiting for tenant in tenants),
        )
        yield GaugeMetricFamily(
            "gradwire_streams", "Streams that are open.", value=sum(t.streams for t in tenants)
        )


def _requests(counted: Sequence[Metrics]) -> dict[tuple[str, str, int], int]:
    """The counts of all of them together."""
    found: dict[tuple[str, str, int], int] = {}
    for one in counted:
        for key, count in list(one._requests.items()):
            found[key] = found.get(key, 0) + count
    return found


def _seconds(counted: Sequence[Metrics]) -> dict[tuple[str, str], tuple[list[int], float]]:
    """The histograms of all of them together."""
    found: dict[tuple[str, str], tuple[list[int], float]] = {}
    for one in counted:
        for key, (counts, total) in list(one._seconds.items()):
            before = found.get(key, ([0] * len(counts), 0.0))
            sums = [a + b for a, b in zip(before[0], counts, strict=True)]
            found[key] = sums, before[1] + total[0]
    return found


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    total, found = 0, []
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], counts, strict=True):
        total += count
        found.append((bound, float(total)))
    return found


def exposition(service: Service, tenant: Tenant) -> tuple[bytes, str]:
    """The text that Prometheus scrapes, and its media type: the tenant's own counts.

    Everybody's and the operator's are those of the whole server.
    """
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    tenants = list(service.tenants) if tenant.whole else [tenant]
    shown = Exposition(tenants, [tenant.metrics for tenant in tenants], tenant.whole)

    class Now(Collector):
        def collect(self) -> Iterator[Any]:
            return shown.collect()

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Now())
    return generate_latest(registry), CONTENT_TYPE_LATEST
