"""Bytes that several hold together: the sessions of a tenant, the tenants of a server."""

from __future__ import annotations

import threading

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.locks import lock


class Ledger:
    """A count of bytes and its limit. What one below takes, those above it have given too.

    above: the ledger that this one is a part of. whose: what the limit is called in errors. ops,
    flops: what those ran who are gone.
    """

    __slots__ = ("_lock", "above", "flops", "held", "limit", "ops", "whose")

    def __init__(self, limit: int, above: Ledger | None = None, whose: str = "server") -> None:
        self.limit, self.above, self.whose = limit, above, whose
        self.held = self.ops = self.flops = 0
        self._lock: threading.Lock = lock() if above is None else above._lock

    def add(self, nbytes: int) -> None:
        """Count bytes taken whatever the limit, or given back where negative."""
        with self._lock:
            self._add(nbytes)

    def note(self, ops: int, flops: int) -> None:
        """Somebody is gone who ran so much."""
        with self._lock:
            self.ops += ops
            self.flops += flops

    def take(self, nbytes: int) -> bool:
        """Count bytes about to be allocated, if they fit; all at once, so no two take the same."""
        with self._lock:
            if self.over(nbytes) is not None:
                return False
            self._add(nbytes)
            return True

    def _add(self, nbytes: int) -> None:
        self.held += nbytes
        if self.above is not None:
            self.above._add(nbytes)

    def over(self, nbytes: int) -> Ledger | None:
        """Whose limit so many more would pass, this one's or one's above; None if they fit."""
        if self.held + nbytes > self.limit:
            return self
        return None if self.above is None else self.above.over(nbytes)

    @property
    def room(self) -> int:
        """Bytes that are left, of this one's limit and of all above it."""
        left = max(0, self.limit - self.held)
        return left if self.above is None else min(left, self.above.room)

    def refusal(self, nbytes: int) -> GradwireError:
        """The error for bytes that don't fit. What all tenants hold together it doesn't say."""
        full = self.over(nbytes) or self
        held = f" than the {full.held} held" if full.whose == "tenant" else ""
        return error(
            "memory_limit",
            f"{nbytes} bytes more{held} would pass the {full.whose}'s limit of {full.limit} bytes",
            "free tensors or delete sessions, and try again",
        )


class Loan:
    """Bytes of a ledger that go back together, at an end after which none can be taken any more.

    Threads may still work for a request whose client has gone: what they ask for then is refused,
    since nobody would give it back.
    """

    __slots__ = ("_ledger", "_over", "held")

    def __init__(self, ledger: Ledger, held: int = 0) -> None:
        self._ledger, self.held = ledger, held
        self._over = False

    def move(self, ledger: Ledger) -> None:
        """Take from another ledger from here on; one that has lent already stays."""
        if not self.held:
            self._ledger = ledger

    def take(self, nbytes: int) -> None:
        """Take more, or give some back where negative; memory_limit if they don't fit."""
        ledger = self._ledger
        with ledger._lock:
            if self._over:
                if nbytes > 0:
                    raise error(
                        "deadline_exceeded",
                        "whoever asked went away while the request was read",
                        "stay connected until the reply comes",
                    )
                return
            if nbytes > 0 and ledger.over(nbytes) is not None:
                raise ledger.refusal(nbytes)
            ledger._add(nbytes)
            self.held += nbytes

    def end(self) -> None:
        """Give all of it back."""
        ledger = self._ledger
        with ledger._lock:
            self._over = True
            if self.held:
                ledger._add(-self.held)
                self.held = 0
