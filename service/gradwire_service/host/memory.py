"""Bytes: asked for before anything is allocated, counted exactly where an estimate won't do.

A session's meter knows an upper bound: what was counted last, and all that was asked for since.
Only when the bound passes a limit, or enough work was done to pay for it, is it counted again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.long_calls import HEAVY, Work
from gradwire_engine.mode import local
from gradwire_engine.pullback import tensors_of
from gradwire_engine.tape import Node, Output
from gradwire_engine.tensor import Tensor
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.origins import Origins

_WORTH = 2**16
"""Bytes asked for since the last count below which a count tells nothing new."""
_OPS_WORTH = 12
_PART = 64
"""Small amounts are entered in the ledger together, up to this part of what room it has."""
INLINE_SECONDS = 4e-3
"""Seconds of its own that work on the event loop may take, looked at between steps."""
_INF = float("inf")
_NEVER = Deadline(_INF)
_OFTEN = 64
"""Charges after which the clock is looked at, within a walk or a loop of small ops."""
NODE_BYTES = 480
"""What a node takes beside what it saved, with its edges and its mark; measured."""
TENSOR_BYTES = 448
"""What a tensor takes beside its elements; measured."""
_STEP_OF_CHAIN = 8
"""What each step takes of those that lead from a base to a view."""


class Held(NamedTuple):
    """What a session holds: bytes by what they are for, and how many nodes its graph has.

    overhead: bytes of tensors, nodes and views beside elements.
    """

    values: int
    saved: int
    grads: int
    nodes: int
    overhead: int

    @property
    def total(self) -> int:
        """Bytes of elements."""
        return self.values + self.saved + self.grads


class Meter:
    """Charged before each allocation of a session; raises memory_limit or deadline_exceeded."""

    __slots__ = (
        "_bound",
        "_busy_until",
        "_charges",
        "_ledger",
        "_limit",
        "_nodes",
        "_ops",
        "_overhead",
        "_posted",
        "_room",
        "_since",
        "_together",
        "_unposted",
        "allowance",
        "asked",
        "flops",
        "frames",
        "inline_until",
        "ops",
        "origins",
        "peak",
        "roots",
        "stopped",
        "until",
    )  # fmt: skip

    def __init__(
        self,
        roots: Callable[[], Iterable[Tensor]],
        limit: int,
        ledger: Ledger,
        origins: Origins,
    ) -> None:
        self.roots = roots
        self._ledger = ledger
        self.origins = origins
        self._limit = self._room = limit
        self.frames: list[dict[str, Any]] = []  # the names of programs that run now
        self.peak = self.asked = 0
        self.ops = self.flops = 0  # what was run, since it was last noted
        self.until = _NEVER
        self.inline_until = self._busy_until = _INF
        self._charges = 0
        self.allowance: int | None = None
        self.stopped = False
        self._bound = self._since = self._unposted = self._posted = 0
        self._nodes = self._ops = self._overhead = self._together = 0

    @property
    def limit(self) -> int:
        """Bytes that the session may hold, overhead included."""
        return self._limit

    @limit.setter
    def limit(self, nbytes: int) -> None:
        self._room += nbytes - self._limit
        self._limit = nbytes

    @property
    def bound(self) -> int:
        """At most so many bytes of elements are held."""
        return self._bound

    @property
    def granted(self) -> float:
        """Bytes that this request may allocate in all where it runs; infinite in a thread."""
        return _INF if self.allowance is None else self.asked + self.allowance

    @property
    def nodes(self) -> int:
        """At most so many nodes are in the graph."""
        return self._nodes + self._ops

    def begin(self, until: Deadline, allowance: int | None) -> None:
        """A request begins: until when it may compute, and what it may use on the event loop."""
        until.begin()
        self.until = until
        self.allowance = allowance
        self.asked = 0  # bytes, by this request
        self._together = min(_WORTH, self._ledger.room // _PART)
        self.inline_until = _INF
        if allowance is not None:
            self.inline_until = time.monotonic() + INLINE_SECONDS
            self._busy_until = time.thread_time() + INLINE_SECONDS

    def stop(self) -> None:
        """End what runs at its next step."""
        self.stopped = True

    def tick(self) -> None:
        """Note one step; a request that runs too long ends here."""
        self._ops += 1
        self._room -= NODE_BYTES
        self._unposted += NODE_BYTES
        now = time.monotonic()
        if now > self.inline_until:
            self._look_longer(now)
        if now > self.until.at or self.stopped:
            raise self._over()
        if self._bound > self._room:
            self._make_room(0)

    def look(self) -> None:
        """End what is to end, within a step."""
        if time.monotonic() > self.until.at or self.stopped:
            raise self._over()

    @property
    def timed_out(self) -> bool:
        """Whether what runs is to end because its time is over, and for nothing else."""
        return not self.stopped and not self.until.given_up

    def _look_longer(self, now: float) -> None:
        """Where others had the processor meanwhile, the work may go on for what is left to it."""
        left = self._busy_until - time.thread_time()
        if left <= 0:
            raise TooMuchHere
        self.inline_until = now + left

    def _over(self) -> GradwireError:
        if self.stopped:
            return error("shutting_down", "the server is shutting down", "try again soon")
        if self.until.given_up:
            return error(
                "deadline_exceeded",
                "whoever asked went away while the request computed; the session is as before",
                "stay connected until the reply comes",
            )
        return error(
            "deadline_exceeded",
            "the request computed longer than it may; the session is as before",
            "send less in one request, or ask for more time",
        )

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Ask for bytes that are about to be allocated, by so many ops that do so much."""
        if self.allowance is not None:
            self.allowance -= nbytes
            if self.allowance < 0:
                raise TooMuchHere
        self._charges += 1
        if nbytes >= _WORTH or not self._charges % _OFTEN:
            self.look()  # within one step, which may be a loop of ops or a whole jacobian
        if flops >= HEAVY and nbytes and local.state.watch is not None:
            local.state.watch.foresee(Work("", "float32", (), flops, nbytes))
        self._unposted += nbytes
        if self._bound + nbytes > self._room:
            self._unposted -= nbytes
            self._make_room(nbytes)
        elif self._unposted >= self._together:
            self._post(nbytes)
        self._bound += nbytes
        self.asked += nbytes
        self._since += nbytes
        self.ops += ops
        self.flops += flops
        if self._bound > self.peak:
            self.peak = self._bound

    def _post(self, nbytes: int) -> None:
        """Enter small amounts in the ledger together, `nbytes` of them not allocated yet."""
        if self._ledger.take(self._unposted):
            self._posted += self._unposted
            self._unposted = 0
        else:
            self._unposted -= nbytes
            self._make_room(nbytes)

    def _make_room(self, nbytes: int) -> None:
        """Count exactly what is held; memory_limit where that doesn't leave room for so many."""
        self.count()
        if self._bound + nbytes > self._room:
            raise error(
                "memory_limit",
                f"{nbytes} bytes more than the {self._bound + self._overhead} held would pass the "
                f"session's limit of {self._limit} bytes",
                "free tensors, work on smaller ones, or ask for a session with a higher "
                "memory_limit_bytes",
            )
        if not self._ledger.take(nbytes):
            raise self._ledger.refusal(nbytes)
        self._posted += nbytes

    def count(self) -> Held:
        """Count again, exactly; the bound becomes the count."""
        values = chain.from_iterable(frame.values() for frame in self.frames)
        current = [*self.roots(), *chain.from_iterable(map(tensors_of, values))]
        held, nodes = measure(current)
        undo = 0
        before = _tensors_before()
        if before:
            whole, nodes = measure([*current, *before])
            undo = whole.total + whole.overhead - held.total - held.overhead
        self.origins.keep([node.seq for node in nodes])
        self._nodes, self._ops = held.nodes, 0
        self._set_bound(held.total + _journalled(), held.overhead, undo)
        return held

    def settle(self) -> None:
        """Count again if enough was done since to pay for it."""
        if self._ops * 4 < self._nodes:
            return
        if self._since >= _WORTH or self._ops >= _OPS_WORTH:
            self.count()

    def forget(self) -> None:
        """The session is gone: what it held is given back, and nothing leads to it any more.

        Else it would lead to itself, and stay until the cycle collector comes.
        """
        self.roots = tuple
        self._set_bound(0, 0, 0)
        self._ledger.note(self.ops, self.flops)
        self.ops = self.flops = 0

    def _set_bound(self, nbytes: int, overhead: int, undo: int) -> None:
        """undo: bytes kept for the case that the request fails.

        As many as the session may hold are not its own: what is freed makes room within a request.
        """
        total = nbytes + overhead + undo
        self._ledger.add(total - self._posted)
        self._posted, self._unposted = total, 0
        self._bound, self._overhead = nbytes, overhead
        self._room = self._limit - overhead - max(0, undo - self._limit)
        self._since = 0
        self.peak = max(self.peak, nbytes)


class TooMuchHere(BaseException):
    """An inline run passed its allowance: it is undone and runs again in a thread.

    No Exception, so that nothing on the way takes it for a failure of the request.
    """


def _tensors_before() -> list[Tensor]:
    """Tensors whose names the running transaction has written to since, and may give back."""
    journal = local.state.journal
    entries = () if journal is None else journal.entries
    return [old for _, _, old in entries if type(old) is Tensor]


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
    overhead = (
        NODE_BYTES * len(walk.nodes) + TENSOR_BYTES * len(walk.storages)
        + _STEP_OF_CHAIN * walk.chained
    )  # fmt: skip
    return Held(values, saved, grads, len(walk.nodes), overhead), walk.nodes


class _Walk:
    """Over nodes and storages, each once."""

    def __init__(self) -> None:
        self.storages: set[Any] = set()
        self.nodes: set[Node] = set()
        self.stack: list[Node] = []
        self.chained = 0

    def storage(self, tensor: Tensor) -> int:
        """The bytes of a tensor's storage, the first time it is met."""
        storage = tensor.storage
        if tensor.view is not None:
            tensor.view.forget_old(storage.array)  # nobody counts it
            self.chained += len(tensor.view.chain)
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
