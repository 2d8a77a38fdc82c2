"""Names of tensors that Python forgot, until the host frees them: those that it has, and no others.

A name may be forgotten before the host was asked to make it (what hooks record is kept aside until
their walk is done), and what was to make it may be given up. To free such a name would fail, or be
too early and leave the tensor on the host for good.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Set
from itertools import islice

FREE_AFTER = 64
"""Forgotten tensors that are freed between recorded steps rather than at their end."""
FREE_BYTES = 2**20
"""Bytes of forgotten tensors from which on that is done however few they are."""

_NONE: frozenset[str] = frozenset()


class Forgotten:
    """What is to be freed; `aside` are names that the host is not asked for yet."""

    __slots__ = ("_aside", "_held_back", "_names", "_nbytes", "_never")

    def __init__(self) -> None:
        self._names: deque[str] = deque()
        self._nbytes = 0  # of those that are gone; roughly, for it is counted without a lock
        self._aside: set[str] = set()
        self._never: set[str] = set()
        self._held_back = 0

    def add(self, name: str, nbytes: int = 0) -> None:
        """A tensor is gone; takes no lock, for it may run at any time."""
        self._names.append(name)
        self._nbytes += nbytes

    @property
    def many(self) -> bool:
        """Whether there are enough to be freed between recorded steps."""
        return len(self._names) - self._held_back >= FREE_AFTER or self._nbytes >= FREE_BYTES

    def put_aside(self, name: str) -> None:
        """The host is not asked for this name yet."""
        self._aside.add(name)

    def asked_for(self, names: Iterable[str]) -> None:
        """What makes these is recorded now."""
        self._aside.difference_update(names)
        self._held_back = 0

    def never_made(self, names: Set[str]) -> None:
        """These are gone, or will be, and the host never had them."""
        self.asked_for(names)
        self._never |= names

    def due(self, own: Set[str] = _NONE) -> tuple[list[str], int, int]:
        """Names to free now, their bytes, and how many entries that settles.

        A name may have been added twice, where an interrupt came as it was.
        own: names put aside that what is recorded now makes itself.
        """
        count, nbytes = len(self._names), self._nbytes
        gone = list(islice(self._names.copy(), count)) if count else []
        if self._never or self._aside:
            gone = [n for n in gone if n not in self._never and self._asked(n, own)]
        return list(dict.fromkeys(gone)), nbytes, count

    def settle(self, count: int, own: Set[str] = _NONE) -> None:
        """Cross out what was due, now that its end is recorded: so many entries."""
        gone = [self._names.popleft() for _ in range(count)]
        self._held_back = self._nbytes = 0
        if not (self._never or self._aside):
            return
        early = [n for n in gone if n not in self._never and not self._asked(n, own)]
        self._never.difference_update(gone)
        self._names.extend(early)
        self._held_back = len(early)

    def freed(self, names: Iterable[str]) -> None:
        """The host freed these: whatever an interrupt left of them here is settled."""
        if not self._names:
            return
        for name in set(names).intersection(self._names.copy()):
            while name in self._names:
                self._names.remove(name)

    def _asked(self, name: str, own: Set[str]) -> bool:
        return name not in self._aside or name in own


__all__ = ["Forgotten"]
