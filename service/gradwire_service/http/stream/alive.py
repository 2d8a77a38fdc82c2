"""Whether a stream's client is still there: asked after a silence, left after another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alive:
    """One thing is due at a time: the next look at the client, or the end of a close.

    ask: pings it. leave: drops it. reading: whether what it sends is read at all now.
    """

    def __init__(
        self, seconds: float, ask: Callable[[], None], leave: Callable[[], None],
        reading: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._seconds = seconds
        self._ask, self._leave, self._reading = ask, leave, reading
        self._heard, self._asked = True, False
        self._clock: asyncio.TimerHandle | None = None

    def heard(self) -> None:
        """Something came."""
        self._heard = True

    def answered(self) -> None:
        """A ping or a pong came."""
        self._asked = False

    def begin(self) -> None:
        """Look from time to time."""
        self._due(self._seconds, self._look)

    def close(self, seconds: float) -> None:
        """Leave it soon, whatever comes."""
        self._due(seconds, self._leave)

    def stop(self) -> None:
        """Nothing is due any more."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _look(self) -> None:
        silent = self._reading() and not self._heard
        if silent and self._asked:
            self._leave()
            return
        if silent:
            self._ask()
            self._asked = True
        self._heard = False
        self.begin()

    def _due(self, seconds: float, then: Callable[[], None]) -> None:
        self.stop()
        self._clock = asyncio.get_running_loop().call_later(seconds, then)
