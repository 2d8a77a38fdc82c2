"""What Prometheus is shown: the counts of the tenants that the caller may see, family by family.

Imported by the first scrape, since prometheus_client would be a part of the server's start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from gradwire_engine.control.known import Counts
from gradwire_engine.errors import CODES
from gradwire_service.http.metrics import BUCKETS

if TYPE_CHECKING:
    from gradwire_service.http.service import Service
    from gradwire_service.http.tenant import Tenant

Families = Iterator[Metric]


class Exposition(Collector):
    """The families of some tenants.

    whole: with what is the process's, whoever runs it: plans of loops and of planned calls.
    """

    def __init__(self, tenants: Sequence[Tenant], whole: bool) -> None:
        self._tenants, self._whole = tenants, whole

    def collect(self) -> Families:
        """All of them."""
        for part in (_requests, _durations, _errors, _work, _sessions, _queues):
            yield from part(self._tenants)
        yield from _plans(self._tenants, self._whole)


def exposition(service: Service, tenant: Tenant) -> tuple[bytes, str]:
    """The text that Prometheus scrapes, and its media type: the tenant's own counts.

    Everybody's and the operator's are those of the whole server.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(list(service.tenants) if tenant.whole else [tenant], tenant.whole))
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _requests(tenants: Sequence[Tenant]) -> Families:
    found: Counter[tuple[str, str, int]] = Counter()
    for tenant in tenants:
        found.update(tenant.metrics.requests.copy())
    family = CounterMetricFamily(
        "gradwire_requests", "Requests answered.", labels=["method", "route", "status"]
    )
    for (method, route, status), count in found.items():
        family.add_metric([method, route, str(status)], count)
    yield family


def _durations(tenants: Sequence[Tenant]) -> Families:
    found: dict[tuple[str, str], tuple[list[int], float]] = {}
    for tenant in tenants:
        for key, (counts, (total,)) in tenant.metrics.seconds.copy().items():
            before = found.get(key, ([0] * len(counts), 0.0))
            sums = [a + b for a, b in zip(before[0], counts, strict=True)]
            found[key] = sums, before[1] + total
    family = HistogramMetricFamily(
        "gradwire_request_seconds", "Seconds from request to reply.", labels=["method", "route"]
    )
    bounds = [*map(str, BUCKETS), "+Inf"]
    for key, (counts, total) in found.items():
        buckets = list(zip(bounds, map(float, accumulate(counts)), strict=True))
        family.add_metric(list(key), buckets, total)
    yield family


def _errors(tenants: Sequence[Tenant]) -> Families:
    """Every code from the start: what appears with its first count is missed by `rate`."""
    found = Counter(dict.fromkeys(CODES, 0))
    for tenant in tenants:
        found.update(tenant.metrics.errors.copy())
    yield _counter("gradwire_errors", "Errors answered, by code.", found, "code")


def _work(tenants: Sequence[Tenant]) -> Families:
    work = [tenant.host.work() for tenant in tenants]
    yield CounterMetricFamily(
        "gradwire_ops",
        "Ops run but views, one by one and in plans; nodes of walks among them.",
        value=sum(done.ops for done in work),
    )
    yield CounterMetricFamily(
        "gradwire_flops",
        "Floating-point operations of these ops, estimated by their shapes.",
        value=sum(done.flops for done in work),
    )


def _sessions(tenants: Sequence[Tenant]) -> Families:
    hosts = [tenant.host for tenant in tenants]
    sessions = [session for host in hosts for session in host.sessions()]
    yield GaugeMetricFamily("gradwire_sessions", "Sessions that live.", value=len(sessions))
    yield GaugeMetricFamily(
        "gradwire_sessions_parked",
        "Sessions among them that lie on the disk alone.",
        value=sum(session.asleep is not None for session in sessions),
    )
    yield CounterMetricFamily(
        "gradwire_parkings",
        "Times that an idle session left memory for the disk.",
        value=sum(host.parkings for host in hosts),
    )
    ended = sum((host.ended.copy() for host in hosts), Counter[str]())
    ends = {code: ended[code] for code in hosts[0].ended}
    yield _counter(
        "gradwire_sessions_ended",
        "Sessions closed and expired, by the code of later calls.",
        ends,
        "code",
    )
    yield GaugeMetricFamily(
        "gradwire_bytes",
        "Bytes held by all sessions, at most.",
        value=sum(host.ledger.held for host in hosts),
    )


def _queues(tenants: Sequence[Tenant]) -> Families:
    yield GaugeMetricFamily(
        "gradwire_requests_waiting",
        "Requests that run or wait for their session.",
        value=sum(tenant.executor.waiting for tenant in tenants),
    )
    family = GaugeMetricFamily(
        "gradwire_queue", "Requests that wait, by what they wait for.", labels=["stage"]
    )
    lanes = [s.lane for t in tenants for s in t.host.sessions() if s.lane is not None]
    family.add_metric(["turn"], sum(len(tenant.queue) for tenant in tenants))
    family.add_metric(["session"], sum(len(lane) - lane.busy for lane in lanes))
    family.add_metric(["thread"], sum(tenant.executor.queued for tenant in tenants))
    yield family
    yield GaugeMetricFamily(
        "gradwire_streams", "Streams that are open.", value=sum(t.streams for t in tenants)
    )


def _plans(tenants: Sequence[Tenant], whole: bool) -> Families:
    plans = [tenant.host.once.plans for tenant in tenants]
    counted: dict[str, tuple[str, float]] = {
        "gradwire_plans": ("Plans made of programs.", sum(p.made for p in plans)),
        "gradwire_planned": ("Programs answered by a plan.", sum(p.answered for p in plans)),
        "gradwire_unplanned": ("Programs that ran op by op.", sum(p.slow for p in plans)),
        "gradwire_traces": (
            "Programs and bodies of loops that were traced to plan them.",
            sum(p.traced for p in plans) + Counts.traces * whole,
        ),
        "gradwire_trace_hits": (
            "Loops and planned calls that needed no trace of their body.",
            Counts.hits * whole,
        ),
        "gradwire_body_plans": (
            "Plans made of bodies of loops and of planned calls.",
            Counts.plans * whole,
        ),
        "gradwire_plan_evictions": (
            "Plans of either kind that made room for others.",
            sum(p.evicted for p in plans) + Counts.evicted * whole,
        ),
        "gradwire_plan_seconds": (
            "Seconds that tracing and planning took.",
            sum(p.seconds for p in plans) + Counts.seconds * whole,
        ),
    }
    for name, (said, value) in counted.items():
        yield CounterMetricFamily(name, said, value=value)


def _counter(name: str, said: str, found: Mapping[str, int], label: str) -> CounterMetricFamily:
    family = CounterMetricFamily(name, said, labels=[label])
    for value, count in found.items():
        family.add_metric([value], count)
    return family
