"""A session as the SDK sees it: where tensors live, and what can be asked of it as a whole."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import finalize

import numpy as np

from gradwire import defaults, forks, in_force
from gradwire.recorder import Recorder
from gradwire.transport import Transport
from gradwire_engine.errors import error
from gradwire_engine.spec import DTYPES

if TYPE_CHECKING:
    from gradwire.autograd.profiler import Profile
    from gradwire.held import Held
    from gradwire.named_tensors import NamedTensors
    from gradwire.tensor import Tensor


class Session(Recorder):
    """One session on a server, or embedded; made on first use unless asked for by hand.

    device: where its tensors live. seed: of its random numbers. The rest as for POST /v1/sessions.
    One with a label is there to come back to: it outlives its block and the program, and ends by
    `close()`, or when nobody used it for its time to live.
    """

    kept: Any = None
    """What `snapshot` was given, in a session that was made of the snapshot."""
    attached = False
    """Whether another client made it."""
    random_before: Mapping[str, int] | None = None
    """The random state in which it was attached to, until `resume` went back to that."""
    _forgetting: Any = None

    def __init__(
        self,
        transport: Transport,
        *,
        device: str = "cpu",
        seed: int | None = None,
        label: str | None = None,
        ttl_seconds: float | None = None,
        memory_limit_bytes: int | None = None,
    ) -> None:
        body = {
            "device": device,
            "dtype": defaults.dtype().name,
            "seed": seed,
            "label": label,
            "ttl_seconds": ttl_seconds,
            "memory_limit_bytes": memory_limit_bytes,
        }
        asked = {k: v for k, v in body.items() if v is not None}
        self._begin(transport, transport.create(asked))

    def _begin(
        self,
        transport: Transport,
        made: dict[str, Any],
        first: int = 1,
        prefix: str = "t",
        *,
        attached: bool = False,
    ) -> None:
        super().__init__(transport, made["id"], DTYPES[made["dtype"]], first, prefix)
        self.device: str = made["device"]
        self.label: str | None = made.get("label")
        self._anomaly = bool(made.get("detect_anomaly"))
        self.attached = attached
        self.names.outlives = attached or self.label is not None
        if self.names.outlives:
            finalize(self, transport.let_go, self.id).atexit = False
        else:
            self._forgetting = finalize(self, transport.forget, self.id)

    @classmethod
    def make(cls, transport: Transport, **settings: Any) -> Session:
        """A new session: one that is here where the host is this process."""
        return _kind(transport)(transport, **settings)

    @classmethod
    def attach(cls, transport: Transport, key: str) -> Session:
        """The session of an id or a label, which others made and may use meanwhile."""
        made, kind = transport.describe(key), _kind(transport)
        for one in list(forks.sessions) if kind.runs_here and made["label"] is None else ():
            if one.id == made["id"]:
                return one  # type: ignore[return-value]
        found = kind.__new__(kind)
        found._begin(transport, made, prefix=f"t{os.urandom(3).hex()}_", attached=True)
        found.refresh()
        found.random_before = None if found.holds is None else found.holds.random
        return found

    @property
    def tensors(self) -> NamedTensors:
        """The tensors that its host has by name, whichever client made them."""
        made: NamedTensors = import_module("gradwire.named_tensors").NamedTensors(self)
        return made

    def refresh(self) -> None:
        """Know what other clients of the session did: tensors, gradients, graph, optimizers.

        Tensors that they freed say so from then on. Raises invalid_argument where this client has
        hooks: they hang in the graph as it knows it.
        """
        with self._lock:
            self.check_hooks()
            self.refuse_in_transaction()
            self.flush()
            text = self.transport.described(self.id)
            held = self.holds = import_module("gradwire.held").Held.read(text)
            import_module("gradwire.refreshing").refresh(self, held)

    def refuse_in_transaction(self) -> None:
        """Refuse to look at what other clients did while a transaction is under way."""
        if self.in_transaction:
            raise error(
                "invalid_argument",
                "refresh: a transaction is under way, of which the host knows nothing yet",
                "look at what other clients made before the transaction or after it",
            )

    def resume(self, *modules_and_optimizers: Any) -> bool:
        """Have modules and optimizers, built as those of this session were, go on from these.

        Each parameter and buffer becomes the session's tensor of the same name, each optimizer the
        session's of the same kind over the same parameters; random numbers go on from where the
        session was when it was attached to, as if nothing had been drawn to build the modules.
        False where the session has none of it, as a new one: then the parts are named, and stay as
        they are. Raises invalid_argument where it has parameters of another module.
        """
        found: bool = import_module("gradwire.resuming").resume(self, modules_and_optimizers)
        return found

    def leave_to(self, parent: int) -> None:
        """In a forked child: the session stays the parent's, and this process never ends it."""
        super().leave_to(parent)
        if self._forgetting is not None:
            self._forgetting.detach()

    @classmethod
    def of(cls, transport: Transport, made: dict[str, Any], first: int) -> Session:
        """A session that the host has already, by its resource. first: as for Recorder."""
        kind = _kind(transport)
        found = kind.__new__(kind)
        found._begin(transport, made, first)
        return found

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"session {self.id} can't be pickled or copied: it lives on its host; another process "
            "finds it by client.attach(id), and snapshot() makes a file of it"
        )

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program, of which the host is told the first time."""
        return self.transport.program(body)

    def transform(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """A transform of a program on tensors of the session, in one call; gives no arrays."""
        self.flush()
        return self.transport.transform(name, body)

    def tensor_names(self) -> list[str]:
        """What its tensors are called; in a transaction also what is only recorded yet."""
        self.flush()
        found = dict.fromkeys(self.transport.names(self.id))
        if self.in_transaction:
            found |= dict.fromkeys(self.names.tensors())
        return list(found)

    def take(self, held: Held) -> tuple[dict[str, Any], dict[str, Any]]:
        """What tensors and optimizers of a restored session hold, by name."""
        return held.metas, held.optimizers

    def keep(self, tensor: Tensor) -> None:
        """Have a tensor stay at the host under its name, whether Python holds it or not."""
        tensor._host_name.kind = "kept"

    def named(self, name: str) -> Tensor | None:
        """The tensor that the host has under a name, if it has one."""
        if self.holds is None or name not in self.holds.metas:
            self.refresh()
        meta = None if self.holds is None else self.holds.metas.get(name)
        if meta is None:
            return None
        made = import_module("gradwire.tensor")
        found: Tensor = made.mirrored_tensor(made.Tensor, self, name, meta)
        found._host_name.kind = "kept"
        return found

    # looking

    def read(self, name: str) -> np.ndarray:
        """The elements of one tensor, after all that is recorded before it."""
        found = self.flush([name])[name]
        assert found is not None
        assert found.array is not None
        return found.array

    def info(self) -> dict[str, Any]:
        """The session resource: counts, bytes held, last use, expiry."""
        self.flush()
        return self.transport.describe(self.id)

    def graph(self, format: str = "svg", tensor: Tensor | None = None) -> Any:
        """The graph: "json" as data, "dot", "mermaid" or "svg" as text; of one tensor if given."""
        self.flush()
        return self.transport.graph(self.id, format, None if tensor is None else tensor._name)

    @contextmanager
    def profile(self) -> Iterator[Profile]:
        """What each op of a block takes at the host: a table, once the block has ended.

        What was recorded before is sent first, what the block recorded at its end.
        """
        made: Profile = import_module("gradwire.autograd.profiler").Profile()
        self.flush()
        outer, self._took = self._took, []
        try:
            yield made
            self.flush()
        finally:
            took, self._took = self._took, outer
            made.add(took)
            if outer is not None:
                outer.extend(took)

    def snapshot(self, keep: Any = None) -> bytes:
        """The session as one file: tensors, graph, optimizers, random state. It stays as it is.

        keep: what `client.restore` gives back as `kept`: tensors and optimizers, and lists, dicts,
        numbers and strings around them.
        """
        found: bytes = import_module("gradwire.saving.snapshots").snapshot(self, keep)
        return found

    def written(self) -> bytes:
        """What a file of the session has of the host."""
        self.flush()
        return self.transport.snapshot(self.id)

    def close(self) -> None:
        """End the session and free what it holds."""
        if self.left:
            return
        with self._lock:
            if self._unusable is None or self._unusable.code != "session_closed":
                if self._forgetting is not None:
                    self._forgetting.detach()
                self.transport.delete(self.id)
            self._unusable = error(
                "session_closed", f"session {self.id} was closed", "start a new session"
            )

    @contextmanager
    def here(self) -> Iterator[Session]:
        """In force for a block, and not closed after it."""
        in_force.enter(self)
        try:
            yield self
        finally:
            in_force.leave(self)

    def __enter__(self) -> Session:
        in_force.enter(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        in_force.leave(self)
        if not self.names.outlives:
            self.close()
        else:
            if kind is None:
                self.flush()
            self.transport.let_go(self.id)


def _kind(transport: Transport) -> type[Session]:
    """What a session of a host is: embedded its tensors are here."""
    if getattr(transport, "url", "") != "embedded":
        return Session
    found: type[Session] = import_module("gradwire.local_session").LocalSession
    return found


@atexit.register
def _end() -> None:
    """In sessions that stay, have what was recorded last done, and free what has no name given.

    Then the others end, and the connections.
    """
    for session in [one for one in list(forks.sessions) if isinstance(one, Session)]:
        with suppress(Exception):
            if session.left:
                continue
            if session._forgetting is not None:
                session._forgetting()
            elif session.is_usable:
                import_module("gradwire.refreshing").free_made(session)
                session.flush()
    for transport in list(forks.transports):
        with suppress(Exception):
            transport.end()


__all__ = ["Session"]
