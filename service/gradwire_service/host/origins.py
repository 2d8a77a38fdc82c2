"""Which step of which request made a node, for error texts: "step 1, tensor y"."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from operator import itemgetter

from gradwire_engine.tape import next_seq

_first = itemgetter(0)


class Origins:
    """Marks in the order of creation: all nodes from one mark to the next were made by its step."""

    __slots__ = ("_marks",)

    def __init__(self) -> None:
        self._marks: list[tuple[int, int, str | None]] = []

    def mark(self, step: int, out: object) -> None:
        """Nodes made from now on belong to this step, which writes `out`."""
        name = out if type(out) is str and not out.startswith("%") else None
        self._marks.append((next_seq(), step, name))

    def where(self, seq: int) -> str:
        """The step that made the node with this number, in words; empty if nobody knows."""
        place = bisect_right(self._marks, seq, key=_first)
        if not place:
            return ""
        _, step, name = self._marks[place - 1]
        return f"step {step}" if name is None else f"step {step}, tensor {name}"

    def step(self, seq: int) -> int | None:
        """The number of that step."""
        place = bisect_right(self._marks, seq, key=_first)
        return self._marks[place - 1][1] if place else None

    def keep(self, seqs: Collection[int]) -> None:
        """Forget the marks that no node of these belongs to, but the newest: its may come."""
        places = {bisect_right(self._marks, seq, key=_first) - 1 for seq in seqs}
        places.add(len(self._marks) - 1)
        self._marks = [mark for place, mark in enumerate(self._marks) if place in places]

    @property
    def marks(self) -> list[tuple[int, int, str | None]]:
        """Number of the first node, step and name of each mark, oldest first."""
        return self._marks

    def restore(self, marks: list[tuple[int, int, str | None]]) -> None:
        """Know these marks: for a session that comes out of a snapshot."""
        self._marks = marks

    def take(self, other: Origins) -> None:
        """Know what another one knows: for a fork."""
        self._marks = list(other._marks)
