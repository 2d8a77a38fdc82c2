"""Bytes: asked for before anything is allocated, counted exactly where an estimate won't do.

A session's meter knows an upper bound: what was counted last, and all that was asked for since.
Only when the bound passes a limit, or enough work was done to pay for it, is it counted again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import local
from gradwire_engine.pullback import tensors_of
from gradwire_engine.tape import Node, Output
from gradwire_engine.tensor import Tensor
from gradwire_service.host.origins import Origins

_WORTH = 2**16
"""Bytes asked for since the last count below which a count tells nothing new."""
_OPS_WORTH = 12
INLINE_SECONDS = 4e-3
"""Seconds of its own that work on the event loop may take, looked at between steps."""
_INF = float("inf")


class Held(NamedTuple):
    """What a session holds: bytes by what they are for, and how many nodes its graph has."""

    values: int
    saved: int
    grads: int
    nodes: int

    @property
    def total(self) -> int:
        return self.values + self.saved + self.grads


class Ledger:
    """The bytes of all sessions of a server, and what they may be together."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """Count bytes taken, or given back where negative."""
        with self._lock:
            self.held += nbytes


class Meter:
    """Charged before each allocation of a session; raises memory_limit or deadline_exceeded."""

    __slots__ = (
        "_bound", "_busy_until", "_ledger", "_nodes", "_ops", "_roots", "_since", "_unposted",
        "allowance", "asked", "deadline", "frames", "inline_until", "limit", "origins", "peak",
        "stopped",
    )  # fmt: skip

    def __init__(
        self,
        roots: Callable[[], Iterable[Tensor]],
        limit: int,
        ledger: Ledger,
        origins: Origins,
    ) -> None:
        self._roots = roots
        self._ledger = ledger
        self.origins = origins
        self.limit = limit
        self.frames: list[dict[str, Any]] = []  # the names of programs that run now
        self.peak = self.asked = 0
        self.deadline = self.inline_until = self._busy_until = _INF
        self.allowance: int | None = None
        self.stopped = False
        self._bound = self._since = self._unposted = 0
        self._nodes = self._ops = 0

    @property
    def bound(self) -> int:
        """At most so many bytes are held."""
        return self._bound

    @property
    def nodes(self) -> int:
        """At most so many nodes are in the graph."""
        return self._nodes + self._ops

    def begin(self, seconds: float, allowance: int | None) -> None:
        """A request begins: how long it may compute, and what it may use on the event loop."""
        now = time.monotonic()
        self.deadline = now + seconds
        self.allowance = allowance
        self.asked = 0  # bytes, by this request
        self.inline_until = _INF
        if allowance is not None:
            self.inline_until = now + INLINE_SECONDS
            self._busy_until = time.thread_time() + INLINE_SECONDS

    def stop(self) -> None:
        """End what runs at its next step."""
        self.stopped = True

    def tick(self) -> None:
        """Note one step; a request that runs too long ends here."""
        self._ops += 1
        now = time.monotonic()
        if now > self.inline_until:
            self._look_longer(now)
        if now > self.deadline or self.stopped:
            raise self._over()

    def _look_longer(self, now: float) -> None:
        """Where others had the processor meanwhile, the work may go on for what is left to it."""
        left = self._busy_until - time.thread_time()
        if left <= 0:
            raise TooMuchHere
        self.inline_until = now + left

    def _over(self) -> GradwireError:
        if self.stopped:
            return error("shutting_down", "the server is shutting down", "try again soon")
        return error(
            "deadline_exceeded",
            "the request computed longer than it may; the session is as before",
            "send less in one request, or ask for more time",
        )

    def charge(self, nbytes: int) -> None:
        """Ask for bytes that are about to be allocated."""
        if self.allowance is not None:
            self._use_allowance(nbytes)
        if nbytes >= _WORTH and (self.stopped or time.monotonic() > self.deadline):
            raise self._over()  # within one step, which may be a loop of ops or a whole jacobian
        bound = self._bound + nbytes
        if bound > self.limit or self._ledger.held + nbytes > self._ledger.limit:
            self.count()
            self._check(nbytes)
        self._bound += nbytes
        self.asked += nbytes
        self._since += nbytes
        self._unposted += nbytes
        if self._unposted >= _WORTH:
            self._post()
        if self._bound > self.peak:
            self.peak = self._bound

    def _post(self) -> None:
        """Enter small amounts in the ledger together."""
        self._ledger.add(self._unposted)
        self._unposted = 0

    def _use_allowance(self, nbytes: int) -> None:
        assert self.allowance is not None
        self.allowance -= nbytes
        if self.allowance < 0:
            raise TooMuchHere

    def _check(self, nbytes: int) -> None:
        if self._bound + nbytes > self.limit:
            raise error(
                "memory_limit",
                f"{nbytes} bytes more than the {self._bound} held would pass the session's limit "
                f"of {self.limit} bytes",
                "free tensors, work on smaller ones, or ask for a session with a higher "
                "memory_limit_bytes",
            )
        if self._ledger.held + nbytes > self._ledger.limit:
            raise error(
                "memory_limit",
                f"{nbytes} bytes more than the {self._ledger.held} that all sessions hold would "
                f"pass the server's limit of {self._ledger.limit} bytes",
                "free tensors or delete sessions, and try again",
            )

    def count(self) -> Held:
        """Count again, exactly; the bound becomes the count."""
        held, nodes = measure(chain(self._roots(), *map(_tensors, self.frames)))
        self.origins.keep([node.seq for node in nodes])
        self._set_bound(held.total + _journalled())
        self._nodes, self._ops = held.nodes, 0
        return held

    def settle(self) -> None:
        """Count again if enough was done since to pay for it."""
        if self._ops * 4 < self._nodes:
            return
        if self._since >= _WORTH or self._ops >= _OPS_WORTH:
            self.count()

    def forget(self) -> None:
        """The session is gone: what it held is given back."""
        self._set_bound(0)

    def _set_bound(self, nbytes: int) -> None:
        self._ledger.add(nbytes - self._bound + self._unposted)
        self._unposted = 0
        self._bound = nbytes
        self._since = 0
        self.peak = max(self.peak, nbytes)


class TooMuchHere(BaseException):
    """An inline run passed its allowance: it is undone and runs again in a thread.

    No Exception, so that nothing on the way takes it for a failure of the request.
    """


def _tensors(frame: Mapping[str, Any]) -> Iterator[Tensor]:
    """The tensors that the values of a frame are made of."""
    return (tensor for value in frame.values() for tensor in tensors_of(value))


def _journalled() -> int:
    """Bytes that only the running transaction holds, to be able to undo."""
    journal = local.state.journal
    if journal is None:
        return 0
    arrays = {id(old): old for _, name, old in journal.entries if name == "array"}
    return sum(int(getattr(old, "nbytes", 0)) for old in arrays.values())


def measure(roots: Iterable[Tensor]) -> tuple[Held, set[Node]]:
    """What these tensors hold, themselves, by `.grad` and by the graph behind them; its nodes."""
    walk = _Walk()
    tensors = list(roots)
    values = sum(map(walk.storage, tensors))
    grads = sum(walk.storage(t.grad) for t in tensors if t.grad is not None)
    for tensor in tensors:
        walk.enter(tensor._edge)
        if tensor.grad is not None:
            walk.enter(tensor.grad._edge)
        if tensor.view is not None and tensor.view.base is not None:
            walk.enter(tensor.view.base._edge)
    saved = walk.run()
    return Held(values, saved, grads, len(walk.nodes)), walk.nodes


class _Walk:
    """Over nodes and storages, each once."""

    def __init__(self) -> None:
        self.storages: set[Any] = set()
        self.nodes: set[Node] = set()
        self.stack: list[Node] = []

    def storage(self, tensor: Tensor) -> int:
        """The bytes of a tensor's storage, the first time it is met."""
        storage = tensor.storage
        if tensor.view is not None:
            tensor.view.forget_old(storage.array)  # nobody counts it
        if storage in self.storages:
            return 0
        self.storages.add(storage)
        return storage.nbytes

    def enter(self, edge: Any) -> None:
        node = edge.node if type(edge) is Output else edge
        if type(node) is Node and node not in self.nodes:
            self.nodes.add(node)
            self.stack.append(node)

    def run(self) -> int:
        """Follow the graph; the bytes that it alone keeps."""
        saved = 0
        while self.stack:
            node = self.stack.pop()
            for item in node.held:
                if type(item) is Tensor:
                    saved += self.storage(item)
            for edge in node.edges:
                self.enter(edge)
        return saved
