"""Answers as frames: what a reply over HTTP says, with the message's id in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from gradwire_service.host.safetensors import Buffer
from gradwire_service.http.answer import Answer
from gradwire_service.http.codec.negotiation import JSON, SAFETENSORS
from gradwire_service.http.stream.envelope import Id, retold

_SAID: dict[bytes, tuple[str, Callable[[bytes], object]]] = {
    b"retry-after": ("retry_after", int),
    b"idempotency-replayed": ("replayed", lambda _: True),
}
"""Headers of an answer that a frame says as members."""

PIECE = 2**20
"""Bytes of a frame of a long message."""


class Frame(NamedTuple):
    """A message to be sent: buffers in turn, as text or binary."""

    buffers: Sequence[Buffer]
    binary: bool


def framed(found: Answer, key: Id | None, request_id: str | None) -> Frame:
    """The frame of an answer. request_id: where the client gave one, it is told that."""
    first, *rest = found.buffers
    if type(key) is int and request_id is None and found.media_type == JSON and not found.headers:
        return Frame([b'{"id":%d,' % key, memoryview(first)[1:], *rest], False)  # mostly
    said: dict[str, Any] = {"id": key}
    if request_id is not None:
        said["request_id"] = request_id
    for name, value in found.headers:
        if name in _SAID:
            member, read = _SAID[name]
            said[member] = read(value)
    if found.media_type != SAFETENSORS:
        return Frame([_members(said), memoryview(first)[1:], *rest], False)
    members = _members(said).decode()
    head, left = retold(first, "response", lambda text: members + text[1:])
    return Frame([head, left, *rest] if left else [head, *rest], True)


def _members(said: dict[str, Any]) -> bytes:
    """Members in front of those of an object, of which there are some."""
    return orjson.dumps(said)[:-1] + b","


def in_pieces(buffers: Sequence[Buffer]) -> Iterator[tuple[bytes, bool]]:
    """What a message is sent in, and whether a piece is the last: a short message is one."""
    if sum(map(len, buffers)) <= PIECE:
        yield b"".join(buffers), True
        return
    for buffer in buffers:
        view = memoryview(buffer)
        for start in range(0, len(view), PIECE):
            yield bytes(view[start : start + PIECE]), False
    yield b"", True
