"""A session as one file, and a session made of it, in this process or another.

The host writes what it holds; beside that stands where the user's values have their tensors. What
comes back is the host's, and the mirrors are the same graph on the device `meta`. Hooks are
functions of the program that registered them: they are no part of it.
"""

from __future__ import annotations

import json
from typing import Any

from gradwire import optim
from gradwire.held import Held
from gradwire.optim.optimizer import Hosted
from gradwire.saving.structure import Path, damaged, read, written
from gradwire.session import Session
from gradwire.tensor import Tensor, mirrored_tensor
from gradwire.transport import Transport
from gradwire_engine.errors import error
from gradwire_service.host import safetensors
from gradwire_service.host.snapshot.seal import DIGEST, check, sealed

_KEPT, _KEPT_DIGEST = "gradwire_kept", "gradwire_kept_digest"


def snapshot(session: Session, keep: Any) -> bytes:
    """The session as a file. keep: what is to be found in it."""
    names = _Names(session)
    said = None if keep is None else json.dumps(written(keep, names), allow_nan=False)
    body = session.written()
    if said is None:
        return body
    metadata, arrays = safetensors.read(body)
    seal = sealed({_KEPT: said, DIGEST: metadata[DIGEST]}, {}, _KEPT_DIGEST)
    return b"".join(safetensors.write(arrays, metadata | seal))


def _kept(metadata: dict[str, str]) -> str | None:
    """What a snapshot keeps, taken out of its metadata; it must be of that very snapshot.

    Snapshots of older versions have no digest, and what they keep has none.
    """
    said, seal = metadata.pop(_KEPT, None), metadata.pop(_KEPT_DIGEST, None)
    if said is not None and DIGEST in metadata:
        seals = {} if seal is None else {_KEPT_DIGEST: seal}
        check({_KEPT: said, DIGEST: metadata[DIGEST], **seals}, {}, _KEPT_DIGEST)
    return said


class _Names:
    """How tensors and optimizers of a session are written: by their names there."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: list[Tensor] = []  # until the host has written them

    def __call__(self, value: Any, path: Path) -> Any:
        if isinstance(value, Tensor):
            self._check(value.session, path)
            self._held.append(value)
            return {"tensor": [value._name, type(value).__name__]}
        if isinstance(value, Hosted):
            self._check(value._session, path)
            return {"optimizer": [value._name, written(value._said(), self, path)]}
        return None

    def _check(self, session: Any, path: Path) -> None:
        if session is not self._session:
            raise error(
                "invalid_argument",
                f"snapshot: {'.'.join(path) or 'the value'} lives in session {session.id}, not in "
                f"{self._session.id}",
                "keep what is of the session that the snapshot is taken of",
            )


def restored(transport: Transport, data: bytes) -> Session:
    """A new session of a snapshot. What its program no longer names is freed in it."""
    metadata, arrays = safetensors.read(data)
    said = _kept(metadata)
    made = transport.restore(metadata, arrays)
    try:
        held = _Held(transport, made, metadata["session"])
        kept = held.all() if said is None else read(json.loads(said), held)
    except ValueError as problem:
        transport.delete(made["id"])
        raise damaged(f"what the snapshot keeps can't be read: {problem}") from problem
    except BaseException:
        transport.delete(made["id"])
        raise
    held.session.kept = kept
    held.free_the_rest()
    return held.session


class _Held:
    """What a restored session holds, as tensors and optimizers when they are asked for."""

    def __init__(self, transport: Transport, made: dict[str, Any], text: str) -> None:
        held = Held.read(text)
        names = [*held.metas, *held.optimizers]
        self.session = Session.of(transport, made, 1 + max(map(_number, names), default=0))
        self._metas, self._mirrors = self.session.take(held)
        self._made: dict[str, Any] = {}

    def __call__(self, kind: str, fields: Any) -> Any:
        """The tensor or optimizer that was written."""
        name, more = fields
        if name not in self._made:
            found = self._tensor(name, more) if kind == "tensor" else self._optimizer(name, more)
            self._made[name] = found
        return self._made[name]

    def _tensor(self, name: str, kind: str = "Tensor") -> Tensor:
        from gradwire.nn.parameter import Buffer, Parameter

        if name not in self._metas:
            raise damaged(f"the snapshot has no tensor {name[:60]!r}")
        wanted = {"Parameter": Parameter, "Buffer": Buffer}.get(kind, Tensor)
        found = mirrored_tensor(wanted, self.session, name, self._metas[name])
        if isinstance(found, Buffer):
            found.persistent = True
        return found

    def _optimizer(self, name: str, said: Any = None) -> Hosted:
        if name not in self._mirrors:
            raise damaged(f"the snapshot has no optimizer {name[:60]!r}")
        mirror = self._mirrors[name]
        names = {id(meta): known for known, meta in reversed(self._metas.items())}
        names |= {id(x._meta): known for known, x in self._made.items() if isinstance(x, Tensor)}
        params = [
            [self("tensor", [names[id(p)], "Parameter"]) for p in g.params] for g in mirror.groups
        ]
        kind = _class_of(mirror.kind.name)
        return kind._again(self.session, name, mirror, params, read(said, self))

    def all(self) -> dict[str, Any]:
        """All that has a name, by it: of a snapshot that says no more."""
        tensors = {name: self("tensor", [name, "Tensor"]) for name in self._metas}
        return tensors | {name: self("optimizer", [name, None]) for name in self._mirrors}

    def free_the_rest(self) -> None:
        """What nobody names any more goes."""
        self.session.free([n for n in (*self._metas, *self._mirrors) if n not in self._made])


def _class_of(kind: str) -> type[Hosted]:
    """The class of an optimizer that the engine calls so."""
    found = (getattr(optim, name) for name in optim.__all__)
    wanted: type[Hosted] = next(c for c in found if getattr(c, "kind", None) == kind)
    return wanted


def _number(name: str) -> int:
    """The number in a name that a session gave; 0 for any other."""
    digits = name[1:]
    return int(digits) if name[:1] == "t" and digits.isdecimal() and len(digits) < 19 else 0


__all__ = ["restored", "snapshot"]
