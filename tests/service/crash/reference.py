"""What a session must be: the same requests on a host of this process, which is never killed."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.errors import GradwireError
from gradwire_service.host import optimizers, safetensors, tensors
from gradwire_service.host.host import Host
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import (
    OpsRequest,
    Program,
    SessionCreate,
    SessionPatch,
    StepsRequest,
    TensorBody,
)
from gradwire_service.host.sessions import Session
from gradwire_service.http.codec.reply import write_reply


class Asked(NamedTuple):
    """A request of a session. body: JSON, or the elements of a tensor."""

    method: str
    path: str
    body: Any = None


class Told(NamedTuple):
    """An answer: the status, and what has to be the same when it is asked for again."""

    status: int
    said: Any


class Reference:
    """One session."""

    def __init__(self, host: Host, session: Session) -> None:
        self.host, self.session = host, session

    @classmethod
    def made(cls, host: Host, fields: dict[str, Any]) -> Reference:
        return cls(host, host.create(read(SessionCreate, fields)))

    def forked(self) -> Reference:
        return Reference(self.host, self.host.fork(self.session))

    def restored(self) -> Reference:
        file = b"".join(map(bytes, self.host.snapshot(self.session)))
        return Reference(self.host, self.host.restore(*safetensors.read(file)))

    def apply(self, asked: Asked) -> Told:
        """Do a request here."""
        try:
            return Told(200, _plain(self._do(asked)))
        except GradwireError as problem:
            return Told(problem.status, [problem.code, problem.step])

    def _do(self, asked: Asked) -> Any:
        session, body = self.session, asked.body
        kind = asked.path.rpartition("/")[2]
        if asked.method == "PATCH":
            return self.host.patch(session, read(SessionPatch, body))
        if asked.method == "PUT":
            value = {"value": {"binary": "value"}, "requires_grad": True}
            return tensors.put(session, kind, read(TensorBody, value), {"value": body})
        if asked.method == "DELETE":
            return tensors.free(session, kind)
        request = read(StepsRequest if kind == "steps" else OpsRequest, body)
        return self.host.run(session, request)

    def dump(self) -> Any:
        """Everything that the service shows of the session."""
        session = self.session
        names = [str(item["name"]) for item in tensors.listed(session)["items"]]
        returns = names + [f"{name}.grad" for name in names]
        request = read(StepsRequest, {"steps": [], "return": returns})
        values = _plain(self.host.run(session, request), "base64")["values"]
        return [values, _plain(optimizers.listed(session)), session.label]


def _plain(reply: Any, data: Any = "nested") -> Any:
    return json.loads(b"".join(map(bytes, write_reply(reply, None, data).buffers)))


def program(host: Host, body: dict[str, Any]) -> str:
    """The id of a stored program."""
    stored, _ = host.programs.put(read(Program, body), {})
    return stored.program.id


def numbers(count: int, seed: int) -> np.ndarray:
    """Elements that don't repeat."""
    return np.random.default_rng(seed).standard_normal(count).astype("float32")
