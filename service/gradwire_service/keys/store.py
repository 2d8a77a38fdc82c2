"""The file of keys: a row for each, with the hash in the key's place."""

from __future__ import annotations

import fcntl
import json
import os
import time
from binascii import Error as NotHex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_service.keys.secret import check_tenant, digest, new_key

_VERSION = 1
_OWNER_ONLY = 0o600
_ID = 8


class Row(NamedTuple):
    """A key as it is kept. id: the beginning of its hash; created: seconds since 1970."""

    id: str
    tenant: str
    hash: bytes
    created: float
    note: str = ""


class KeyFile:
    """Rows in a JSON file that only its owner may read, replaced whole by every change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[Row]:
        """All rows, oldest first; none where there is no file."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise self._unreadable(problem.strerror or "it can't be read") from None
        try:
            found = json.loads(text)
            if found["version"] != _VERSION:
                raise self._unreadable(f"its version is {found['version']!r}, not {_VERSION}")
            return [_row(item) for item in found["keys"]]
        except GradwireError:
            raise
        except (ValueError, LookupError, TypeError, NotHex):
            raise self._unreadable("it is no file that gradwire keys wrote") from None

    def create(self, tenant: str, note: str = "") -> tuple[str, Row]:
        """A new key for a tenant, which is shown this once; and its row."""
        key = new_key()
        row = Row(digest(key).hex()[:_ID], check_tenant(tenant), digest(key), time.time(), note)
        with self._alone():
            self._write([*self.rows(), row])
        return key, row

    def revoke(self, key_id: str) -> Row:
        """Forget a key by its id; running servers refuse it from their next request on."""
        with self._alone():
            rows = self.rows()
            found = next((row for row in rows if row.id == key_id), None)
            if found is None:
                raise error(
                    "invalid_argument",
                    f"keys: there is no key {key_id[:80]!r} in {self.path}",
                    "gradwire keys list shows their ids",
                    raised=ValueError,
                )
            self._write([row for row in rows if row is not found])
        return found

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One change at a time: rows are read, changed and written back."""
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
        except OSError as problem:
            raise self._unwritable(problem) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _write(self, rows: list[Row]) -> None:
        """Into a new file that then takes the old one's place: nobody reads half of it."""
        keys = [row._asdict() | {"hash": row.hash.hex()} for row in rows]
        text = json.dumps({"version": _VERSION, "keys": keys}, indent=1) + "\n"
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            fresh.unlink(missing_ok=True)
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
            with os.fdopen(handle, "w") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            fresh.replace(self.path)
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _unwritable(self, problem: OSError) -> GradwireError:
        return error(
            "invalid_argument", f"keys: {self.path} can't be written: {problem.strerror}",
            "name a file in a folder that you may write to", raised=OSError,
        )  # fmt: skip

    def _unreadable(self, why: str) -> GradwireError:
        return error(
            "invalid_argument", f"keys: {self.path}: {why}",
            "restore it, or make keys anew with gradwire keys create", raised=ValueError,
        )  # fmt: skip


def _row(item: dict[str, Any]) -> Row:
    hashed = bytes.fromhex(item["hash"])
    if len(hashed) != len(digest("")):
        raise ValueError
    return Row(
        str(item["id"]), check_tenant(item["tenant"]), hashed, float(item["created"]),
        str(item.get("note", "")),
    )  # fmt: skip
