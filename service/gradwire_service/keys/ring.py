"""The keys that a server knows now, and the tenant of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hashlib import blake2b
from hmac import compare_digest
from secrets import token_bytes

from gradwire_engine.errors import GradwireError
from gradwire_service.keys.secret import check_key, check_tenant, digest
from gradwire_service.keys.store import KeyFile

_Stamp = tuple[int, int, int]


class Ring:
    """Keys of the environment and of a file. The file is read again when it has changed.

    report: is told of a file that can't be read any more; what it said before then holds on. A file
    that is gone lets nobody in.
    """

    def __init__(
        self,
        given: Iterable[str] = (),
        file: KeyFile | None = None,
        report: Callable[[GradwireError], None] = lambda _: None,
    ) -> None:
        self._pepper = token_bytes(32)
        self._given = dict(self._entry(text) for text in given)
        self._file, self._report = file, report
        self._known = self._given
        self._stamp: _Stamp | None = None
        if file is not None:
            self._stamp = self._now(file)
            self._read(file)

    def __bool__(self) -> bool:
        """Whether callers need a key at all: also where a file has none any more."""
        return bool(self._given) or self._file is not None

    def tenant(self, key: str) -> str | None:
        """The tenant of a key; None for one that isn't known.

        How long it takes says nothing of the keys there are: they are looked up by a hash that is
        keyed with what only this process knows, and then compared in constant time.
        """
        if self._file is not None:
            self._look_again(self._file)
        place = self._place(digest(key))
        found = self._known.get(place)
        if found is None or not compare_digest(found[0], place):
            return None
        return found[1]

    def _entry(self, text: str) -> tuple[bytes, tuple[bytes, str]]:
        """A key of the environment: TENANT:KEY, or a key alone, which is a tenant of its own."""
        tenant, colon, key = text.partition(":")
        if not colon:
            key, tenant = text, f"key-{digest(text).hex()[:8]}"
        check_key(key, f"the key of {tenant[:80]!r}" if colon else "a key without a tenant")
        place = self._place(digest(key))
        return place, (place, check_tenant(tenant))

    def _place(self, hashed: bytes) -> bytes:
        return blake2b(hashed, key=self._pepper, digest_size=32).digest()

    def _look_again(self, file: KeyFile) -> None:
        stamp = self._now(file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._read(file)
        except GradwireError as problem:
            self._report(problem)

    def _read(self, file: KeyFile) -> None:
        places = [(self._place(row.hash), row.tenant) for row in file.rows()]
        self._known = self._given | {place: (place, tenant) for place, tenant in places}

    @staticmethod
    def _now(file: KeyFile) -> _Stamp | None:
        try:
            found = os.stat(file.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
