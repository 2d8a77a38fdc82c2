"""What a walk raises where it comes to a node whose backward could not be written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from gradwire.autograd.reach import reached
from gradwire_engine.tape import Node

_faults: WeakKeyDictionary[Node, Exception] = WeakKeyDictionary()


def note_fault(node: Node, fault: Exception) -> None:
    """From here on every walk that comes to this node fails so."""
    _faults[node] = fault


def refuse_faults(roots: Sequence[Any], wanted: Sequence[Any] | None) -> None:
    """Raise what the first such node that this walk comes to raises. Metas, or gradient edges."""
    if not _faults:
        return
    for node in reached(roots, wanted):
        fault = _faults.get(node) if type(node) is Node else None
        if fault is not None:
            raise fault


__all__ = ["note_fault", "refuse_faults"]
