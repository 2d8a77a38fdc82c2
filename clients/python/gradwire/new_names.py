"""New names for tensors: numbered, those that the host has freed before any other.

The lowest number comes first. So the steps of a loop have the same names in every round, and the
host finds what it prepared for them.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from itertools import count

_MOST = 2**14
"""Names that wait to be given again."""


class NewNames:
    """Names that begin with a prefix. first: the first number that was never given."""

    __slots__ = ("_free", "_given", "_numbers", "_prefix")

    def __init__(self, prefix: str, first: int) -> None:
        self._prefix, self._numbers = prefix, count(first)
        self._free: list[tuple[int, str]] = []  # sorted by minus the number: the lowest is last
        self._given: set[str] = set()

    def new(self, *, again: bool = True) -> str:
        """A name that stands for nothing. again: whether it may have stood for something before."""
        if again and self._free:
            try:
                return self._free.pop()[1]
            except IndexError:  # another thread was faster
                pass
        name = f"{self._prefix}{next(self._numbers)}"
        self._given.add(name)
        return name

    def freed(self, names: Iterable[str], *, again: bool = True) -> None:
        """The host has nothing under these names any more: those from here may be given again.

        Where they may not be, or where as many wait as are ever needed, they are forgotten.
        """
        given, free, first = self._given, self._free, len(self._prefix)
        room = _MOST - len(free)
        back: list[tuple[int, str]] = []
        for name in names:
            if name in given:
                if again and len(back) < room:
                    back.append((-int(name[first:]), name))
                else:
                    given.discard(name)
        if len(back) < len(free) // 8:
            for entry in back:
                insort(free, entry)
        else:
            free += back
            free.sort()

    def taken(self, names: Iterable[str]) -> None:
        """The program gave these names itself: none of them is given here from now on."""
        own = self._given.intersection(names)
        if own:
            self._given -= own
            self._free = [entry for entry in self._free if entry[1] not in own]


__all__ = ["NewNames"]
