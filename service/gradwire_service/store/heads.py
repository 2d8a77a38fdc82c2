"""Which change of each session was acknowledged last, in a file beside the database.

A database that lost its tail (a torn write-ahead log, a page that turned bad) still opens, and
what it lost is simply not there any more. This file knows that it should be. A line is written
after each commit, without waiting for the disk: it may say less than the database has, never more.
"""

from __future__ import annotations

import errno
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
    """Lines `checksum [session, tenant, number]`, the last of a session counts.

    known: the same in memory, which is right also where the file couldn't be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.known = _read(path)
        self._handle = -1
        self._length = 0
        self._behind = False
        self._start_anew()

    def add(self, heads: Iterable[Head]) -> None:
        """Note what was acknowledged. Where that can't be written, the next one tries again."""
        text = b""
        for head in heads:
            session, tenant, number = head
            if number is None:
                self.known.pop(session, None)
            else:
                self.known[session] = tenant, number
            text += _line(head)
        if not text:
            return
        try:
            self._write(text)
        except OSError:
            self._behind = True

    def _write(self, text: bytes) -> None:
        if self._behind or self._length > _LONGEST:
            self._start_anew()
            return
        self._length += len(text)
        if os.write(self._handle, text) < len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _start_anew(self) -> None:
        """A file that says the same in fewer lines; the old one goes on where that fails."""
        fresh = self._path.with_name(self._path.name + ".new")
        text = b"".join(_line((s, tenant, n)) for s, (tenant, n) in self.known.items())
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            with open(handle, "wb", closefd=False) as stream:
                stream.write(text)
            os.fsync(handle)
            fresh.replace(self._path)
        except BaseException:
            os.close(handle)
            raise
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._length, self._behind = handle, 0, False

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
