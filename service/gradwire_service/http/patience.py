"""Clients that are waited for, and how long: looked at now and then, at no cost to requests."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

_OFTEN = 0.1
"""Seconds between looks."""


class Waiting(Protocol):
    """Who waits for a client: a call, or a stream."""

    def look(self, now: float) -> None:
        """End the wait if it has taken too long."""


class Patience:
    """The calls and streams that wait for their client now."""

    def __init__(self) -> None:
        self._waiting: dict[Waiting, None] = {}

    def watch(self, waiting: Waiting) -> None:
        """It waits from now on."""
        self._waiting[waiting] = None

    def leave(self, waiting: Waiting) -> None:
        """It waits no more."""
        self._waiting.pop(waiting, None)

    async def look(self) -> None:
        """End waits that have taken too long, for ever."""
        while True:
            await asyncio.sleep(_OFTEN)
            now = time.monotonic()
            for waiting in list(self._waiting):
                waiting.look(now)
