"""The app: the service with all its routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from gradwire_service.host.limits import Limits
from gradwire_service.host.pool import Pool
from gradwire_service.http.durable import Pace
from gradwire_service.http.log import Log
from gradwire_service.http.service import Service
from gradwire_service.http.table import routes
from gradwire_service.http.tenant import Tenants
from gradwire_service.keys import KeyFile, Ring
from gradwire_service.version import VERSION

ABOUT = """Autograd as a service: sessions, graphs and exact gradients, with PyTorch's semantics."""
_SWEEP = 5.0
"""Seconds between looks for sessions whose time is over."""


def create_app(
    limits: Limits | None = None,
    log: str = "none",
    workers: int = 4,
    keys: Collection[str] = (),
    keys_file: Path | None = None,
    data: str | None = None,
    pace: Pace = Pace(),  # noqa: B008  (it is frozen)
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
    written = Log(log)
    ring = Ring(keys, None if keys_file is None else KeyFile(keys_file), written.complaint)
    tenants = Tenants(limits or Limits(), Pool(workers))
    keeper = None
    if data is not None:
        from gradwire_service.http.durable.keeper import Keeper
        from gradwire_service.store import Store

        keeper = Keeper(Store(data, VERSION), tenants, written, pace)
    service = api.state.service = Service(tenants, written, api, ring, keeper)
    return service


@asynccontextmanager
async def lifespan(service: Service) -> AsyncIterator[None]:
    """While the service runs, sessions that nobody uses expire; at its end, its threads end."""
    if service.keeper is not None:
        await service.keeper.start()
    watchers = [asyncio.create_task(_sweep(service)), asyncio.create_task(service.patience.look())]
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.cancel()
        if service.keeper is not None:
            await service.keeper.stop()
        service.tenants.close()


async def _sweep(service: Service) -> None:
    while True:
        keeper = service.keeper
        await asyncio.sleep(_SWEEP if keeper is None else min(_SWEEP, keeper.pace.park_seconds))
        service.tenants.expire()
        if keeper is not None:
            keeper.look()
