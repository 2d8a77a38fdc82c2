"""A client of streams for tests: messages out, replies in, by `websockets`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from safetensors.numpy import load, save
from tests.service.conftest import Client, Running
from websockets.sync.client import ClientConnection, connect

Replied = dict[str, Any]


class Stream:
    """An open stream. `ask` sends a message and takes the next reply."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self._last = 0

    def message(self, *steps: object, returns: tuple[str, ...] = (), **members: object) -> Replied:
        """A message with the next id."""
        self._last += 1
        return {"id": self._last, "steps": list(steps), "return": list(returns), **members}

    def send(self, message: object) -> None:
        """Send a message: bytes as a binary frame, text as it is, all else as JSON."""
        raw = isinstance(message, bytes | str)
        self.connection.send(message if raw else json.dumps(message))

    def take(self) -> Replied:
        """The next reply, which is text."""
        found = self.connection.recv(timeout=30)
        assert isinstance(found, str), found[:200]
        return json.loads(found)

    def ask(self, *steps: object, **more: Any) -> Replied:
        """The reply to steps."""
        self.send(self.message(*steps, **more))
        return self.take()

    def raw(self, message: object) -> Replied:
        """The reply to a message as it is."""
        self.send(message)
        return self.take()

    def values(self, *steps: object, returns: tuple[str, ...]) -> dict[str, Any]:
        """The elements of what steps that go well return."""
        found = self.ask(*steps, returns=returns)
        assert "values" in found, found
        return {name: v and v["data"] for name, v in found["values"].items()}


def address(server: Running, session: str) -> str:
    """Where the session's stream is."""
    return f"ws://127.0.0.1:{server.port}/v1/sessions/{session}/stream"


@contextmanager
def streaming(
    server: Running, session: Client | str, query: str = "", **fields: Any
) -> Iterator[Stream]:
    """A stream of a session while the block lasts; `fields` as for websockets' connect."""
    key = session if isinstance(session, str) else session.id
    options = {"compression": None, "max_size": None, "proxy": None, **fields}
    with connect(address(server, key) + query, **options) as connection:
        yield Stream(connection)


def packed(message: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """A message as a safetensors file."""
    return save(arrays, {"request": json.dumps(message)})


def unpacked(file: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """A reply in a safetensors file, and its arrays."""
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    return json.loads(header["__metadata__"]["response"]), load(bytes(file))
