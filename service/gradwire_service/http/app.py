"""The app: the service with all its routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from gradwire_service.host.executor import Executor
from gradwire_service.host.host import Host
from gradwire_service.host.limits import Limits
from gradwire_service.http.log import Log
from gradwire_service.http.route import Route
from gradwire_service.http.routes import server, sessions, steps
from gradwire_service.http.service import Service
from gradwire_service.version import VERSION

_SWEEP = 5.0
"""Seconds between looks for sessions whose time is over."""


def create_app(
    limits: Limits | None = None,
    log: str = "none",
    workers: int = 4,
    keys: Collection[str] = (),
) -> Service:
    """A service of its own: its sessions, its threads, its counts."""
    service = Service(
        Host(limits),
        Executor(workers),
        Log(log),
        keys=keys,
        title="gradwire",
        version=VERSION,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    session = "/v1/sessions/{id}"
    service.router.routes[:0] = [
        Route(f"{session}/steps", "POST", steps.steps),
        Route(f"{session}/ops", "POST", steps.ops),
        Route(f"{session}/grad", "POST", steps.grad),
        Route(f"{session}/backward", "POST", steps.backward),
        Route("/v1/sessions", "POST", sessions.create_session, status_code=201),
        Route(session, "GET", sessions.read_session),
        Route(session, "PATCH", sessions.change_session),
        Route(session, "DELETE", sessions.close_session, status_code=204),
        Route("/health/live", "GET", server.live),
        Route("/health/ready", "GET", server.ready),
        Route("/metrics", "GET", server.metrics),
    ]
    return service


@asynccontextmanager
async def lifespan(service: Service) -> AsyncIterator[None]:
    """While the service runs, sessions that nobody uses expire; at its end, its threads end."""
    sweeper = asyncio.create_task(_sweep(service))
    try:
        yield
    finally:
        sweeper.cancel()
        service.host.stop()
        service.executor.close()


async def _sweep(service: Service) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        service.host.expire()
