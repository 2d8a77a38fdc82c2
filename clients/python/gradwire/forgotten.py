"""Names of tensors that Python forgot, until the host frees them: those that it has, and no others.

A name may be forgotten before the host was asked to make it (what hooks record is kept aside until
their walk is done), and what was to make it may be given up. To free such a name would fail, or be
too early and leave the tensor on the host for good.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Set

FREE_AFTER = 64
"""Forgotten tensors that are freed between recorded steps rather than at their end."""

_NONE: frozenset[str] = frozenset()


class Forgotten:
    """What is to be freed; `aside` are names that the host is not asked for yet."""

    __slots__ = ("_aside", "_held_back", "_names", "_never")

    def __init__(self) -> None:
        self._names: deque[str] = deque()
        self._aside: set[str] = set()
        self._never: set[str] = set()
        self._held_back = 0

    def add(self, name: str) -> None:
        """A tensor is gone; takes no lock, for it may run at any time."""
        self._names.append(name)

    @property
    def many(self) -> bool:
        """Whether there are enough to be freed between recorded steps."""
        return len(self._names) - self._held_back >= FREE_AFTER

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

    def take(self, own: Set[str] = _NONE) -> list[str]:
        """Names to free now. own: names put aside that what is recorded now makes itself."""
        gone = [self._names.popleft() for _ in range(len(self._names))]
        known = [name for name in gone if name not in self._never]
        self._never.difference_update(gone)
        early = [name for name in known if name in self._aside and name not in own]
        self._names.extend(early)
        self._held_back = len(early)
        return [name for name in known if name not in self._aside or name in own]


__all__ = ["Forgotten"]
