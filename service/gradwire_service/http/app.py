"""The app: the service with all its routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from gradwire_engine.kernels.heap import give_back
from gradwire_service.host.durable.upkeep import Upkeep
from gradwire_service.host.limits import Limits
from gradwire_service.host.long_calls.processes import PROCESSES
from gradwire_service.host.pool import Pool
from gradwire_service.http.access import Access
from gradwire_service.http.codec.request import read_request
from gradwire_service.http.log import Log
from gradwire_service.http.service import Service
from gradwire_service.http.table import routes
from gradwire_service.http.tenant import EVERYBODY, Tenants
from gradwire_service.keys import KeyFile, Ring
from gradwire_service.version import VERSION

if TYPE_CHECKING:
    from gradwire_service.host.durable.keeper import Keeper
    from gradwire_service.http.spans import Spans

ABOUT = """Autograd as a service: sessions, graphs and exact gradients, with PyTorch's semantics.

Not in this document, which has no words for it: WS /v1/sessions/{id}/stream, a WebSocket whose
messages are requests of POST /v1/sessions/{id}/steps with an id each.
"""
_BREATH = 10.0
"""Seconds for which freed memory is kept at hand: each time costs a model's step its pages anew."""
_SWEEP = 5.0
"""Seconds between looks for sessions whose time is over."""


def create_app(
    limits: Limits | None = None,
    log: str = "none",
    workers: int = 4,
    keys: Collection[str] = (),
    keys_file: Path | None = None,
    data: str | None = None,
    upkeep: Upkeep = Upkeep(),  # noqa: B008  (it is frozen)
    traces: str | None = None,
    hosts: Collection[str] | None = None,
    origins: Collection[str] = (),
) -> Service:
    """A service of its own: its sessions, its threads, its counts.

    hosts: names that it is called by beside those of loopback; None for any. origins: other sites
    whose pages may call it. Both as in the settings.
    """
    api = FastAPI(
        title="gradwire",
        version=VERSION,
        description=ABOUT,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lambda app: lifespan(app.state.service),
    )
    served = routes()
    api.router.routes.extend(served)
    written = Log(log)
    ring = Ring(keys, None if keys_file is None else KeyFile(keys_file), written.complaint)
    tenants = Tenants(limits or Limits(), Pool(workers))
    keeper = None if data is None else _keeper(data, tenants, written, upkeep)
    spans = None if traces is None else _spans(traces)
    access = Access(hosts, origins, {route.method for route in served}, bool(ring))
    service = api.state.service = Service(tenants, written, api, ring, access, keeper, spans)
    return service


def _spans(url: str) -> Spans:
    from gradwire_service.http.spans import Spans  # an extra: only where it is asked for

    return Spans(url)


def _keeper(data: str, tenants: Tenants, log: Log, upkeep: Upkeep) -> Keeper:
    from gradwire_service.host.durable.keeper import Keeper
    from gradwire_service.host.durable.surroundings import Surroundings
    from gradwire_service.http.idempotency.stored import kept_in
    from gradwire_service.store.store import Store

    depth = tenants.limits.depth

    def decode(media_type: str | None, body: bytes, lone: bool) -> Any:
        return read_request(media_type, body, depth=depth, lone=lone)

    around = Surroundings(tenants, EVERYBODY, decode, log.complaint)
    keeper = Keeper(Store(data, VERSION), around, upkeep)
    tenants.keep(partial(kept_in, keeper.replies))
    return keeper


@asynccontextmanager
async def lifespan(service: Service) -> AsyncIterator[None]:
    """While the service runs, sessions that nobody uses expire, and freed memory is given back; at
    its end, its threads end.
    """
    if service.keeper is not None:
        await service.keeper.start()
    PROCESSES.open()
    watching = (_sweep(service), service.patience.look(), _give_back())
    watchers = [asyncio.create_task(work) for work in watching]
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.cancel()
        service.tenants.stop()  # what was waited for long enough
        if service.keeper is not None:
            await service.keeper.stop()
        service.tenants.close()
        await asyncio.to_thread(PROCESSES.close)
        if service.spans is not None:
            await asyncio.to_thread(service.spans.close)


async def _give_back() -> None:
    """What a crowd took for a moment doesn't stay with the process."""
    while True:
        await asyncio.sleep(_BREATH)
        await asyncio.to_thread(give_back)


async def _sweep(service: Service) -> None:
    while True:
        keeper = service.keeper
        await asyncio.sleep(_SWEEP if keeper is None else min(_SWEEP, keeper.upkeep.park_seconds))
        service.tenants.expire()
        if keeper is not None:
            keeper.look()
