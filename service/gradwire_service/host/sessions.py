"""A session: names for tensors, random state, limits; and the errors of names that aren't there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain, count
from typing import Any

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.fork import fork_all
from gradwire_engine.journal import drop, put
from gradwire_engine.locks import rlock
from gradwire_engine.optim import Optimizer
from gradwire_engine.random import Generator
from gradwire_engine.spec import DTYPES
from gradwire_engine.tape import Handle
from gradwire_engine.tensor import Tensor
from gradwire_service.host.answered import Answered
from gradwire_service.host.hooks import held as held_by_hooks
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.memory import Meter
from gradwire_service.host.optimizers import held
from gradwire_service.host.origins import Origins
from gradwire_service.host.protocol.names import GRAD
from gradwire_service.host.protocol.requests import SessionCreate
from gradwire_service.host.reply import Reply, TensorReply
from gradwire_service.host.result_names import stands_under
from gradwire_service.host.scope import Callee

_serials = count(1)


class Session:
    """Everything that one session is. Whoever uses it holds it by `use`.

    lock: keeps all others out, as a `with` block, which no interrupt leaves locked.
    """

    def __init__(
        self,
        key: str,
        asked: SessionCreate,
        limits: Limits,
        ledger: Ledger,
        programs: Callable[[str], Callee],
    ) -> None:
        self.id = key
        self.serial = next(_serials)
        self.label = asked.label
        self.device = asked.device
        self.dtype = DTYPES[asked.dtype]
        self.ttl = asked.ttl_seconds or limits.ttl_seconds
        self.limits = limits
        self.program = programs
        self.tensors: dict[str, Tensor] = {}
        self.optimizers: dict[str, Optimizer] = {}
        self.hooks: dict[str, Handle] = {}
        self.anomaly = asked.detect_anomaly
        self.generator = Generator(asked.seed)
        self.origins = Origins()
        limit = asked.memory_limit_bytes or limits.session_bytes
        self.meter = Meter(self.held, limit, ledger, self.origins)
        self.created = time.time()
        self.last_use = time.time()
        self.users = 0
        self.lane: Any = None  # the executor's
        self.pace: Any = None  # what its last request took, for whoever decides where it runs
        self.again: Any = None  # plans of transforms that come again, where the host has some
        self.closed = False
        self.durable: Any = None  # what is kept of it beyond the process, for whoever keeps it
        self.answered: Answered = ()  # its last requests that had a key
        self.asleep: Callable[[], None] | None = None  # reads it back, where it isn't in memory
        self._used_at = time.monotonic()
        self.lock = rlock()

    # who uses it, and until when

    @contextmanager
    def use(self) -> Iterator[Session]:
        """Keep all others out, and the session alive, for a block; its time to live begins anew."""
        self.users += 1
        try:
            with self.lock:
                yield self
        finally:
            self.users -= 1
            self.touch()

    def touch(self) -> None:
        """A request came or ended: the time to live begins anew."""
        self._used_at = time.monotonic()
        self.last_use = time.time()

    @property
    def expired(self) -> bool:
        return not self.users and time.monotonic() > self._used_at + self.ttl

    @property
    def expires(self) -> float:
        """Seconds since 1970 at which it expires if nothing comes."""
        return self.last_use + self.ttl

    def close(self) -> None:
        """Let go of everything; a request that still waits for the session finds it empty."""
        self.closed = True
        self.pace = None
        with self.lock:
            self.tensors.clear()
            self.optimizers.clear()
            self.hooks.clear()
            self.meter.forget()

    @property
    def settings(self) -> dict[str, Any]:
        """What another one is asked for that is to be alike, but for its random numbers."""
        return {
            "label": self.label,
            "device": self.device,
            "dtype": self.dtype.name,
            "ttl_seconds": self.ttl,
            "memory_limit_bytes": self.meter.limit,
            "detect_anomaly": self.anomaly,
        }

    def forked(self, key: str, ledger: Ledger) -> Session:
        """A second session with the same settings, random state, tensors and graph."""
        asked = SessionCreate.model_construct(**self.settings, seed=self.generator.seed)
        made = Session(key, asked, self.limits, ledger, self.program)
        made.generator.draws = self.generator.draws
        made.origins.take(self.origins)
        params = {str(id(x)): x for found in self.optimizers.values() for x in found.params}
        tensors, params, hooks = fork_all(self.tensors, params, self.hooks)
        made.tensors.update(tensors)
        made.hooks.update(hooks)
        for name, found in self.optimizers.items():
            made.optimizers[name] = found.forked(lambda x: params[str(id(x))])
        made.meter.count()
        return made

    def held(self) -> Iterator[Tensor]:
        """What the session keeps alive: named tensors, and what optimisers hold."""
        return chain(
            self.tensors.values(), held(self.optimizers), held_by_hooks(self.hooks.values())
        )

    # names

    def find(self, name: str) -> Tensor:
        """The tensor of a name, or the gradient of one by `x.grad`; tensor_not_found otherwise."""
        found = self.tensors.get(name)
        return self._gradient(name) if found is None else found

    def require_grad(self, name: str, flag: bool) -> None:
        """Have a leaf record, or freeze it."""
        self.find(name).requires_grad_(flag)

    def _gradient(self, name: str) -> Tensor:
        owner = self.tensors.get(name.removesuffix(GRAD))
        if owner is None or not name.endswith(GRAD):
            raise self.missing(name)
        if owner.grad is None:
            raise error(
                "tensor_not_found",
                f"tensor {name[: -len(GRAD)]!r} has no gradient",
                "run backward first, on something that depends on it; or set_grad",
            )
        return owner.grad

    def missing(self, name: str) -> GradwireError:
        """The error of a name that stands for nothing here."""
        near = get_close_matches(name, self.tensors, n=3) if len(self.tensors) <= 1000 else []
        hint = f"did you mean {' or '.join(near)}?" if near else "make it by a step before this one"
        hint = stands_under(name, self.tensors) or hint
        return error("tensor_not_found", f"there is no tensor called {name[:140]!r}", hint)

    def bind(self, name: str, tensor: Tensor) -> None:
        """Make the name stand for this tensor, undone with the running transaction."""
        if len(self.tensors) >= self.limits.names and name not in self.tensors:
            raise error(
                "limit_exceeded",
                f"{name!r} would be name {len(self.tensors) + 1} of the session, and the limit is "
                f"{self.limits.names}",
                "free names that are no longer needed",
            )
        put(self.tensors, name, tensor)

    def unbind(self, name: str) -> None:
        """Forget a name, if it is there."""
        drop(self.tensors, name)

    # replies

    def reply(self, name: str, *, data: bool = True) -> TensorReply | None:
        """What a name stands for, as a reply shows it; None for an absent gradient."""
        found = self.tensors.get(name)
        if found is None:
            owner = self.tensors.get(name.removesuffix(GRAD))
            if owner is None or not name.endswith(GRAD):
                raise self.missing(name)
            found = owner.grad
        return None if found is None else shown(name, found, data=data)

    def brief(self) -> dict[str, Reply]:
        """What can be said of the session without counting what it holds."""
        return {
            "id": self.id,
            "label": self.label,
            "device": self.device,
            "dtype": self.dtype.name,
            "created": timestamp(self.created),
            "last_use": timestamp(self.last_use),
            "expires": timestamp(self.expires),
            "ttl_seconds": self.ttl,
            "memory_limit_bytes": self.meter.limit,
            "detect_anomaly": self.anomaly,
            "durable": self.durable is not None,
            "parked": self.asleep is not None,
            "tensors": len(self.tensors) if self.asleep is None else self.durable.names,
        }

    def describe(self) -> dict[str, Reply]:
        """The session as a resource, bytes counted exactly."""
        held = self.meter.count()
        return self.brief() | {
            "random": None if self.asleep is not None else self.generator.state,
            "nodes": held.nodes,
            "bytes": {
                "values": held.values,
                "saved": held.saved,
                "grads": held.grads,
                "total": held.total,
                "overhead": held.overhead,
                "peak": self.meter.peak,
            },
        }


def shown(name: str | None, tensor: Tensor, *, data: bool = True) -> TensorReply:
    """A tensor as a reply shows it; `data` says whether its elements are wanted."""
    try:
        node, leaf = tensor.grad_fn, tensor.is_leaf
    except GradwireError:  # a view whose history is lost with a write to its base: still elements
        node, leaf = None, False
    return TensorReply(
        name,
        tensor.spec.dtype,
        tensor.spec.shape,
        tensor.spec.device,
        tensor.requires_grad,
        leaf,
        None if node is None else node.name(),
        tensor.writes,
        tensor.numpy() if data else None,
    )


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as RFC 3339 writes them, in UTC."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"
