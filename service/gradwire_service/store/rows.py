"""Rows as those see them who use the store, and the checksums that each of them carries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import Executable, Table

Buffer = bytes | bytearray | memoryview
Statement = tuple[Executable, Mapping[str, Any]]
"""What is executed, and its parameters."""
_DIGEST = 16


class Damaged(Exception):
    """Something is there and isn't what was written; its text says what."""


class Unavailable(Exception):
    """The store can't be read or written now. Nothing is said of what is in it."""


class Unknown(Unavailable):
    """Whether a write took place isn't known; it is taken back with the next one."""


def checksum(buffers: Iterable[Buffer]) -> bytes:
    """The checksum of bytes."""
    found = blake2b(digest_size=_DIGEST)
    for buffer in buffers:
        found.update(buffer)
    return found.digest()


class SessionRow(NamedTuple):
    """A session as it is kept: its snapshot's place and what it says of itself.

    base: the number of the last change in the snapshot. about: JSON.
    """

    id: str
    tenant: str
    base: int
    about: str
    file: str | None
    body: bytes | None
    sum: bytes


class Record(NamedTuple):
    """A change of a session. names: how many names it then had; about: JSON; body: a request's."""

    session: str
    number: int
    at: float
    names: int
    about: str
    file: str | None
    body: bytes | None
    sum: bytes


class Reply(NamedTuple):
    """A reply kept for its Idempotency-Key. place: a hash of whose, where and which key."""

    place: bytes
    tenant: str
    at: float
    about: str
    body: bytes | None


class ProgramRow(NamedTuple):
    """A stored program. gone: when it was deleted; text: JSON that it is built from."""

    tenant: str
    id: str
    serial: int
    created: float
    gone: float | None
    text: str


Kept = SessionRow | Record | Reply | ProgramRow
_UNCHECKED = {SessionRow: "body", Record: "body", ProgramRow: "gone"}
"""What the check of a row leaves out: bytes with a checksum of their own, and what changes."""


def check_of(row: Kept) -> bytes:
    """The checksum of a row."""
    fields = tuple(v for name, v in row._asdict().items() if name != _UNCHECKED.get(type(row)))
    return checksum([repr(fields).encode("utf-8", "backslashreplace")])


def values(row: Kept) -> dict[str, Any]:
    """All that is written of a row."""
    return row._asdict() | {"check": check_of(row)}


class Found(NamedTuple):
    """A session as the store lists it. number: of its last change; damaged: why, if it is."""

    id: str
    tenant: str
    row: SessionRow | None
    number: int
    names: int
    damaged: str | None

    @property
    def about(self) -> Mapping[str, Any]:
        """What it says of itself."""
        found: Mapping[str, Any] = {} if self.row is None else json.loads(self.row.about)
        return found


class Entry(NamedTuple):
    """What is written together or not at all.

    before: statements that come first. rows: rows to insert. heads: (session, tenant, number) to
    be known as acknowledged, the number None where the session is gone. undo: where it isn't known
    whether it was written, statements that make that as it is told: mostly they take it back.
    files: large bodies that no row names after it.
    """

    rows: Sequence[tuple[Table, dict[str, Any]]] = ()
    before: Sequence[Statement] = ()
    heads: Sequence[tuple[str, str, int | None]] = ()
    undo: Sequence[Statement] = ()
    files: Sequence[str] = ()

    def also(self, other: Entry) -> Entry:
        """Both together."""
        return Entry(
            (*self.rows, *other.rows),
            (*self.before, *other.before),
            (*self.heads, *other.heads),
            (*self.undo, *other.undo),
            (*self.files, *other.files),
        )
