"""A message of a stream: what stands for a request's head, and the body that is left without it.

The members `id`, `headers` and `data` stand in the request's text, beside those of the request. The
body that is left is one that `POST …/steps` takes, so all that is done with bodies is done with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.elements import shown
from gradwire_service.host.safetensors import METADATA, Buffer, head
from gradwire_service.http.body import SMALL
from gradwire_service.http.call import DATA
from gradwire_service.http.codec.json import weight as weight_of
from gradwire_service.http.codec.negotiation import SAFETENSORS
from gradwire_service.http.codec.request import opened, parsed

Id = int | str
HEADERS = ("accept", "gradwire-timeout", "idempotency-key", "x-request-id")
"""Headers of a request that a message may carry."""
LONGEST_ID = 128
_MEMBERS = ("id", "headers", "data")
_FIRST = re.compile(
    rb'\{\s*"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\\x00-\x1f]{0,%d}")\s*,'
    rb'(?:\s*"headers"\s*:\s*(\{[^{}\\]{0,512}\})\s*,)?(?=\s*")' % LONGEST_ID
)
"""How most messages begin: an id, and maybe headers."""
_NAMED = tuple(b'"%s"' % name.encode() for name in _MEMBERS)
_HEADER_VALUE = 1024
_ESCAPE = b"\\"


class Message(NamedTuple):
    """What a message says: its id, headers as a request has them, the query, the body."""

    id: Id | None
    headers: Mapping[bytes, bytes]
    query: bytes
    body: Buffer


_NO_HEADERS: Mapping[bytes, bytes] = {}


class Unfit(Exception):
    """A message that can't be answered as asked; `id` is its own, as far as that is known."""

    def __init__(self, problem: GradwireError, key: Id | None = None) -> None:
        super().__init__(problem)
        self.problem, self.id = problem, key


def read(data: Buffer, binary: bool, depth: int, lend: Callable[[int], None]) -> Message:
    """The message that a frame holds. `lend` is told of the memory that it takes. Raises Unfit."""
    if not binary:
        return _message(data if type(data) is bytes else bytes(data), depth, lend)
    try:
        text = bytes(opened(SAFETENSORS, data)[0])
    except GradwireError as problem:
        raise Unfit(problem) from None
    found = _message(text, depth, lend)
    # in a copy made always alike
    request = bytes(found.body).decode()
    return found._replace(body=b"".join(retold(data, "request", lambda _: request)))


def retold(file: Buffer, name: str, tell: Callable[[str], str]) -> tuple[bytes, memoryview]:
    """A file's header with another text in its metadata, made of the one there, and the rest."""
    start = 8 + int.from_bytes(file[:8], "little")
    header = orjson.loads(bytes(file[8:start]))
    header[METADATA][name] = tell(header[METADATA][name])
    return head(orjson.dumps(header)), memoryview(file)[start:]


def _message(text: bytes, depth: int, lend: Callable[[int], None]) -> Message:
    found = _quickly(text)
    if found is not None or len(text) <= SMALL:
        return found or _read(text, depth)
    needed = weight_of(text)
    try:
        lend(needed)
    except GradwireError as problem:
        raise Unfit(problem) from None
    try:
        return _read(text, depth)
    finally:
        lend(-needed)


def _quickly(text: bytes) -> Message | None:
    """The same without reading all of the text, where it begins with what is the message's."""
    first = _FIRST.match(text)
    if first is None or _ESCAPE in text:
        return None
    for name in _NAMED:
        if text.find(name, first.end()) >= 0:
            return None
    try:
        key: Id = orjson.loads(first[1])
        headers = _NO_HEADERS if first[2] is None else _strings(first[2])
    except (orjson.JSONDecodeError, GradwireError):  # it is no UTF-8, or is told why below
        return None
    return None if headers is None else Message(key, headers, b"", b"{" + text[first.end() :])


def _strings(text: bytes) -> Mapping[bytes, bytes] | None:
    """Headers that are strings, each named once; None of others."""
    given = orjson.loads(text)
    return _headers(given) if text.count(b'"') == 4 * len(given) else None


def _read(text: bytes, depth: int) -> Message:
    try:
        value = parsed(text, depth)
    except GradwireError as problem:
        raise Unfit(problem) from None
    given = {name: value.pop(name) for name in _MEMBERS if name in value}
    key = _id(given)
    try:
        headers = _headers(given.get("headers", {}))
        return Message(key, headers, _query(given), orjson.dumps(value))
    except GradwireError as problem:
        raise Unfit(problem, key) from None


def _id(given: Mapping[str, Any]) -> Id:
    key = given.get("id")
    if type(key) is int or (type(key) is str and len(key) <= LONGEST_ID):
        return key
    what = "has no id" if "id" not in given else f"has the id {shown(key)}"
    raise Unfit(
        error(
            "invalid_request",
            f"the message {what}",
            f"give each message an id, a whole number or at most {LONGEST_ID} characters; its "
            "reply has the same",
        )
    )


def _headers(given: object) -> Mapping[bytes, bytes]:
    if type(given) is not dict:
        raise error("invalid_request", f"headers is {shown(given)}, not an object", _HINT)
    return {name.lower().encode(): _value(name, value) for name, value in given.items()}


_HINT = f"an object with any of {', '.join(HEADERS)}"


def _value(name: str, value: object) -> bytes:
    if name.lower() not in HEADERS:
        raise error("invalid_request", f"headers: a message has no header {name[:80]!r}", _HINT)
    text = str(value) if type(value) in (int, float) else value
    if type(text) is not str or len(text) > _HEADER_VALUE or not text.isprintable():
        raise error(
            "invalid_request",
            f"headers: {name} is {shown(value)}",
            f"a number, or at most {_HEADER_VALUE} printable characters",
        )
    return text.encode("latin-1", "replace")


def _query(given: Mapping[str, Any]) -> bytes:
    if "data" not in given:
        return b""
    data = given["data"]
    if data not in DATA:
        raise error(
            "invalid_request", f"data is {shown(data)}, which is not one of its values",
            f"one of {', '.join(DATA)}",
        )  # fmt: skip
    return b"data=" + str(data).encode()
