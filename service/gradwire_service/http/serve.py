"""Run the service under uvicorn: bind, say where, serve, end in order on SIGTERM."""

from __future__ import annotations

import gc
import os
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from pydantic import ValidationError

from gradwire_engine.errors import error
from gradwire_service.http.app import create_app
from gradwire_service.http.connection import Connection
from gradwire_service.http.service import Service
from gradwire_service.settings import Settings, misspelt

_BACKLOG = 2048
_OWNER_ONLY = 0o177
_OTHER_FILES = 256
_YOUNG = 100_000
"""Objects more than there were, from which on the cycle collector looks for cycles among them.

Graphs and requests have none; to walk thousands that wait in a crowd holds everybody up.
"""
SWITCH = 1e-3
"""Seconds after which a thread that computes lets the event loop have the interpreter."""


def serve(given: dict[str, Any]) -> None:
    """Serve with the settings of the environment and those given, until SIGTERM or SIGINT."""
    settings = _settings(given)
    for name in misspelt(os.environ):
        print(f"gradwire: {name} is no setting and means nothing here", file=sys.stderr)  # noqa: T201
    settings.check_address()
    listener, url = _listener(settings)
    app = create_app(
        settings.limits,
        settings.log,
        settings.workers,
        settings.keys,
        settings.keys_file,
        settings.data,
        settings.upkeep,
        settings.traces,
        settings.hosts,
        settings.allowed_origins,
    )
    config = configured(
        app, timeout_graceful_shutdown=round(settings.shutdown_seconds) or 1, backlog=_BACKLOG
    )
    _allow_connections(settings.connections)
    sys.setswitchinterval(SWITCH)
    try:
        Server(config, app, url).run(sockets=[listener])
    finally:
        if settings.uds:
            Path(settings.uds).unlink(missing_ok=True)


def configured(app: Service, **more: Any) -> uvicorn.Config:
    """How uvicorn serves the app, wherever it listens."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        proxy_headers=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        **more,
    )


def _allow_connections(count: int) -> None:
    """Let the process have as many open files as that takes, where the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _OTHER_FILES
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Server(uvicorn.Server):
    """uvicorn's server; it says where it listens, and ends with status 0 when asked to end."""

    def __init__(self, config: uvicorn.Config, app: Service, url: str) -> None:
        super().__init__(config)
        self._app = app
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and print the address once requests are taken."""
        await super().startup(sockets=sockets)
        gc.freeze()  # what is imported by now stays: the collector needn't look at it again
        gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
        print(f"gradwire listens on {self._url}", flush=True)  # noqa: T201

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take no new work, and end what is under way."""
        self._app.draining = True
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but the signal isn't raised again: it was obeyed."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def _listener(settings: Settings) -> tuple[socket.socket, str]:
    """A bound socket, and the URL of what will listen on it."""
    try:
        if settings.uds:
            return _unix(settings.uds), f"unix:{settings.uds}"
        found = socket.create_server(
            (settings.host, settings.port),
            family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
            backlog=_BACKLOG,
        )
    except OSError as problem:
        where = settings.uds or f"{settings.host}, port {settings.port}"
        raise error(
            "invalid_argument", f"serve: can't listen on {where}: {problem.strerror}",
            "choose another port (0 takes a free one), or end what listens there",
        ) from None  # fmt: skip
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return found, f"http://{host}:{found.getsockname()[1]}"


def _unix(path: str) -> socket.socket:
    """A Unix socket that only its owner may connect to."""
    found = socket.socket(socket.AF_UNIX)
    mask = os.umask(_OWNER_ONLY)
    try:
        found.bind(path)
    finally:
        os.umask(mask)
    return found


def _settings(given: dict[str, Any]) -> Settings:
    try:
        return Settings(**given)
    except ValidationError as problem:
        wrong = problem.errors(include_url=False)[0]
        name = ".".join(map(str, wrong["loc"]))
        raise error(
            "invalid_argument", f"setting {name}: {wrong['msg']}; got {wrong['input']!r}"
        ) from None
