"""Graphs of older snapshots, brought into the form that is written now."""

from __future__ import annotations

from typing import Any

from gradwire_engine.tensor import TURNED, WRITES

_NEW: dict[tuple[str, int], tuple[Any, ...]] = {("tensor", 7): (None,), ("extra", 3): (False, None)}
"""What a row of version 1 lacks, by its kind and width: no leaf was frozen, no hook taken along."""
_FLAGS, _COUNTED_FROM = TURNED - 1, 32
"""In version 1: the flags that a tensor had; from which bit on they counted its writes."""


def from_version_1(data: Any) -> None:
    """Bring the JSON of a graph of version 1 into today's form, in place.

    Which tensors are TURNED it never said: `Reader.mark_turned` finds out. What doesn't look like a
    graph stays as it is: who reads it says what is wrong with it.
    """
    rows = data.get("cells") if type(data) is dict else None
    for row in rows if type(rows) is list else ():
        if type(row) is not list or not row or type(row[0]) is not str:
            continue
        new = _NEW.get((row[0], len(row)))
        if new is None:
            continue
        if row[0] == "tensor" and type(row[3]) is int:
            row[3] = row[3] & _FLAGS | row[3] // _COUNTED_FROM * WRITES
        row += new
