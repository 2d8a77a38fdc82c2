"""Clients that are waited for, and how long: looked at now and then, at no cost to requests."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire_service.http.call import Call

_OFTEN = 0.1
"""Seconds between looks."""


class Patience:
    """The calls that wait for their client now."""

    def __init__(self) -> None:
        self._calls: dict[Call, None] = {}

    def watch(self, call: Call) -> None:
        """The call waits from now on."""
        self._calls[call] = None

    def leave(self, call: Call) -> None:
        """It waits no more."""
        self._calls.pop(call, None)

    async def look(self) -> None:
        """End waits that have taken too long, for ever."""
        while True:
            await asyncio.sleep(_OFTEN)
            now = time.monotonic()
            for call in list(self._calls):
                call.look(now)
