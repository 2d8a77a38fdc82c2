"""All or nothing: what a request changes is logged, and undone if the request fails.

Every mutable cell of the engine (a storage's array and version, a tensor's grad and edge, a node's
saved tensors, a generator's state) is written through `assign`; the host's dictionaries through
`put` and `drop`. A write goes to a fresh array that is swapped in, so undoing swaps back; of a part
of an array that nobody else sees the log has what stood there.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.collector import pause, resume
from gradwire_engine.mode import local

_MISSING = object()


class Journal:
    """The log of one request: undo callbacks' data, newest last."""

    __slots__ = ("block", "entries", "outermost", "outlived")

    def __init__(self) -> None:
        self.outlived = False  # whether graphs outlive the undoing of what made them
        self.entries: list[tuple[Any, Any, Any]] = []
        self.block = object()  # stands for the innermost transaction
        self.outermost: transaction | None = None  # the one that began it

    def give_up(self) -> None:
        """Undo all of it, for whoever finds it after an interrupt that left its blocks open."""
        self.rollback()
        if self.outermost is not None:
            self.outermost.__exit__(KeyboardInterrupt)

    def next_part(self, *, keep: bool) -> int:
        """Begin a part that can be undone by itself, by `rollback` to what this gives.

        keep: whether all before it can still be undone; else it stays whatever comes.
        """
        if not keep:
            self.entries.clear()
        self.block = object()
        return len(self.entries)

    def rollback(self, mark: int = 0) -> None:
        """Put back what was written since `mark`, newest first."""
        while len(self.entries) > mark:
            owner, name, old = self.entries[-1]
            if type(owner) is not dict:
                if self.outlived and name == "version" and hasattr(owner, "newest"):
                    owner.newest = max(owner.newest, owner.version)
                setattr(owner, name, old)
            elif old is _MISSING:
                owner.pop(name, None)
            else:
                owner[name] = old
            del self.entries[-1]  # an interrupt before it puts the same back once more


def assign(owner: Any, name: str, value: Any) -> None:
    """setattr that the running transaction can undo."""
    journal = local.state.journal
    if journal is not None:
        journal.entries.append((owner, name, getattr(owner, name)))
    setattr(owner, name, value)


def put(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    """mapping[key] = value that the running transaction can undo."""
    journal = local.state.journal
    if journal is not None:
        journal.entries.append((mapping, key, mapping.get(key, _MISSING)))
    mapping[key] = value


def drop(mapping: dict[Any, Any], key: Any) -> None:
    """Remove a key, if it is there, so that the running transaction can undo it."""
    if key in mapping:
        journal = local.state.journal
        if journal is not None:
            journal.entries.append((mapping, key, mapping[key]))
        del mapping[key]


class transaction:
    """Run a block all or nothing: if it raises, every journalled write of it is undone.

    Nested blocks undo their own part only. The cycle collector rests meanwhile.
    """

    __slots__ = ("_block", "_journal", "_mark", "_outer", "_pausing", "_state")

    def __enter__(self) -> Journal:
        state = self._state = local.state
        outer = self._outer = state.journal
        self._pausing = False
        journal = Journal() if outer is None else outer
        self._mark, self._block, self._journal = len(journal.entries), journal.block, journal
        try:
            if outer is None:
                journal.outermost = self
                self._pausing = True
                pause(self)
            state.journal, journal.block = journal, object()
        except BaseException:
            self.__exit__(None)
            raise
        return journal

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        journal = self._journal
        if self._pausing:
            resume(self)
            self._pausing = False
        if kind is not None:
            journal.rollback(self._mark)
        self._state.journal, journal.block = self._outer, self._block
        if self._outer is None:
            journal.outermost = None
