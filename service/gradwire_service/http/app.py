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
from gradwire_service.http.route import Route
from gradwire_service.http.routes import pages, server, sessions, steps, tensors, transforms
from gradwire_service.http.service import Service
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


def routes() -> list[Route]:
    """Every route, those first that small gradients take."""
    session = "/v1/sessions/{id}"
    tensor = f"{session}/tensors/{{name}}"
    return [
        Route(f"{session}/steps", "POST", steps.steps),
        Route(f"{session}/ops", "POST", steps.ops),
        Route(f"{session}/grad", "POST", steps.grad),
        Route(f"{session}/backward", "POST", steps.backward),
        Route("/v1/value_and_grad", "POST", transforms.value_and_grad),
        Route("/v1/evaluate", "POST", transforms.evaluate),
        Route("/v1/sessions", "POST", sessions.create_session),
        Route("/v1/sessions", "GET", sessions.list_sessions),
        Route(session, "GET", sessions.read_session),
        Route(session, "PATCH", sessions.change_session),
        Route(session, "DELETE", sessions.close_session),
        Route(f"{session}/fork", "POST", sessions.fork_session),
        Route(f"{session}/graph", "GET", sessions.session_graph),
        Route(f"{session}/tensors", "GET", tensors.list_tensors),
        Route(tensor, "GET", tensors.read_tensor),
        Route(tensor, "PUT", tensors.write_tensor),
        Route(tensor, "DELETE", tensors.free_tensor),
        Route(f"{tensor}/grad", "GET", tensors.read_grad),
        Route(f"{tensor}/grad", "DELETE", tensors.clear_grad),
        Route("/v1/ops", "GET", server.list_ops),
        Route("/v1/ops/{name}", "GET", server.read_op),
        Route("/v1/info", "GET", server.info),
        Route("/health/live", "GET", server.live),
        Route("/health/ready", "GET", server.ready),
        Route("/metrics", "GET", server.metrics),
        Route("/errors", "GET", pages.errors),
        Route("/errors/{code}", "GET", pages.error_page),
        Route("/openapi.json", "GET", pages.openapi),
        Route("/docs", "GET", pages.docs),
    ]


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
