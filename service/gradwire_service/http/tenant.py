"""Those who share a server: each with a host, a share of the threads, limits and counts of its own.

What one keeps, no request of another can reach: there is no table that both are in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.executor import Executor
from gradwire_service.host.host import Above, Host
from gradwire_service.host.limits import Limits
from gradwire_service.host.pool import Pool
from gradwire_service.host.rates import Bucket
from gradwire_service.http.idempotency.replies import Kept, Place, Replies
from gradwire_service.http.metrics import Metrics
from gradwire_service.http.seen import Seen
from gradwire_service.http.turns import Queue

EVERYBODY, OPERATOR = "*", "operator"
"""Who asks where no keys are configured, and the tenant whose keys show the whole server."""


class Tenant:
    """One of them. queue: its requests that wait for a turn on the event loop. streams: open."""

    __slots__ = (
        "executor", "host", "metrics", "name", "queue", "rate", "replies", "seen", "streams",
    )  # fmt: skip

    def __init__(self, name: str, host: Host, pool: Pool) -> None:
        limits = host.limits
        self.name, self.host = name, host
        self.executor = Executor(pool, limits)
        self.rate = Bucket(limits.tenant_rate, max(1.0, limits.tenant_rate))
        self.replies = Replies(limits, host.ledger)
        self.metrics = Metrics()
        self.seen = Seen()
        self.queue = Queue()
        self.streams = 0

    @property
    def whole(self) -> bool:
        """Whether it is told of the whole server."""
        return self.name in (EVERYBODY, OPERATOR)

    def admit(self, now: float) -> None:
        """Count a request; rate_limited where there are too many, or they computed too long."""
        wait = self.rate.wait(1.0, now)
        if wait:
            limit = self.host.limits.tenant_rate
            raise _limited(f"more than {limit:g} requests a second came with your keys", wait)
        wait = self.executor.compute.wait(0.0, now)
        if wait:
            limit = self.host.limits.tenant_seconds
            raise _limited(f"your requests computed more than {limit:g} seconds in a minute", wait)
        self.rate.use(1.0)


def _limited(detail: str, wait: float) -> GradwireError:
    raised = error("rate_limited", detail, "send the request again after Retry-After seconds")
    raised.retry_after = wait
    return raised


class Tenants:
    """All tenants that have been here, by name."""

    def __init__(self, limits: Limits, pool: Pool) -> None:
        self.limits, self.pool = limits, pool
        self.shared = Above(limits)
        self._found: dict[str, Tenant] = {}
        self._keeping: Callable[[str, Place], Kept | None] | None = None

    def __getitem__(self, name: str) -> Tenant:
        """The tenant of this name, which it is from its first request on."""
        found = self._found.get(name)
        if found is None:
            host = Host(self.limits, self.shared)
            found = self._found[name] = Tenant(name, host, self.pool)
            self._have_keep(found)
        return found

    def keep(self, keeping: Callable[[str, Place], Kept | None]) -> None:
        """Have replies looked for by `keeping`, too, which was told a tenant's name and a place."""
        self._keeping = keeping
        for tenant in self:
            self._have_keep(tenant)

    def _have_keep(self, tenant: Tenant) -> None:
        if self._keeping is not None:
            tenant.replies.stored = partial(self._keeping, tenant.name)

    def __iter__(self) -> Iterator[Tenant]:
        return iter(list(self._found.values()))

    def expire(self) -> None:
        """Close the sessions that nobody used for their time to live, and old replies."""
        for tenant in self:
            tenant.host.expire()
            tenant.replies.expire()

    def stop(self) -> None:
        """End what runs at its next op, or within it where it is a long one."""
        for tenant in self:
            tenant.host.stop()

    def close(self) -> None:
        """End what runs at its next op, and the threads."""
        self.stop()
        self.pool.close()
