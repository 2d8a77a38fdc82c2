"""Which change of each session was acknowledged last, in a file beside the database.

A database that lost its tail (a torn write-ahead log, a page that turned bad) still opens, and
what it lost is simply not there any more. This file knows that it should be. A line is written
after each commit, without waiting for the disk: it may say less than the database has, never more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from zlib import crc32

_LONGEST = 2**20

Head = tuple[str, str, int | None]
"""A session, its tenant, the number of its last change; None where it is gone."""


class Heads:
    """Lines `checksum [session, tenant, number]`, the last of a session counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.known = _read(path)
        self._handle = -1
        self._length = 0
        self._start_anew()

    def add(self, heads: Iterable[Head]) -> None:
        """Note what was acknowledged. Where that can't be written, losses may go unnoticed."""
        text = b""
        for head in heads:
            session, tenant, number = head
            if number is None:
                self.known.pop(session, None)
            else:
                self.known[session] = tenant, number
            text += _line(head)
        with suppress(OSError):
            self._length += os.write(self._handle, text)
            if self._length > _LONGEST:
                self._start_anew()

    def _start_anew(self) -> None:
        """A file that says the same in fewer lines."""
        fresh = self._path.with_name(self._path.name + ".new")
        text = b"".join(_line((s, tenant, n)) for s, (tenant, n) in self.known.items())
        with fresh.open("wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(self._path)
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        self._length = 0

    def close(self) -> None:
        """Write the file anew, and close it."""
        with suppress(OSError):
            self._start_anew()
        os.close(self._handle)
        self._handle = -1


def _line(head: Head) -> bytes:
    text = json.dumps(head).encode()
    return b"\n%08x %s" % (crc32(text), text)


def _read(path: Path) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    if not path.exists():
        return found
    for line in path.read_bytes().split(b"\n"):
        check, _, text = line.partition(b" ")
        if check != b"%08x" % crc32(text):
            continue  # torn, or turned bad
        session, tenant, number = json.loads(text)
        if number is None:
            found.pop(session, None)
        else:
            found[session] = tenant, number
    return found
