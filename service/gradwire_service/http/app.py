"""The app: the service with all its routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from fastapi import FastAPI

from gradwire_service.host.executor import Executor
from gradwire_service.host.host import Host
from gradwire_service.host.limits import Limits
from gradwire_service.http.log import Log
from gradwire_service.http.service import Service
from gradwire_service.http.table import routes
from gradwire_service.version import VERSION

ABOUT = """Autograd as a service: sessions, graphs and exact gradients, with PyTorch's semantics."""
_SWEEP = 5.0
"""Seconds between looks for sessions whose time is over."""


def create_app(
    limits: Limits | None = None,
    log: str = "none",
    workers: int = 4,
    keys: Collection[str] = (),
) -> Service:
    """A service of its own: its sessions, its threads, its counts."""
    api = FastAPI(
        title="gradwire",
        version=VERSION,
        description=ABOUT,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lambda app: lifespan(app.state.service),
    )
    api.router.routes.extend(routes())
    service = api.state.service = Service(Host(limits), Executor(workers), Log(log), api, keys)
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
