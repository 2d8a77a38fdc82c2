"""From rows to cells: all are made empty, then filled in, then looked over; none is used before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradwire_engine.mode import charge
from gradwire_engine.snapshot.arrays import Elements
from gradwire_engine.snapshot.calls import TABLES, Calls
from gradwire_engine.snapshot.fields import at, incompatible, listed, named, need, whole
from gradwire_engine.snapshot.kinds import BY_NAME, BY_TYPE, PROGRAM
from gradwire_engine.snapshot.values import read_value
from gradwire_engine.tape import (
    AFTER,
    BEFORE,
    RETAIN,
    AccumulateGrad,
    Attachment,
    Extra,
    Handle,
    Node,
    next_seq,
)
from gradwire_engine.tensor import Storage, Tensor

_TENSOR = "tensor"
_OPERANDS = (Tensor, bool, int, float, complex, type(None))


class Reader:
    """A snapshot as it is read. foreign: the opposite of the writer's.

    devices: of each storage, where its array is.
    """

    def __init__(
        self,
        data: Any,
        elements: Mapping[str, np.ndarray],
        foreign: Callable[[Any], Any],
    ) -> None:
        named(data, "the snapshot", "cells", "arrays", "moments", *TABLES)
        rows = listed(data["cells"], "cells")
        self.devices: dict[Storage, str] = {}
        self._foreign = {i for i, row in enumerate(rows) if _name(row) == PROGRAM}
        self._cells = [_empty(row, foreign) for row in rows]
        self.calls = Calls(data, self.program)
        self.arrays = Elements(data["arrays"], elements, self.calls.spec, charge)
        self._moments = _reserve(data["moments"], len(rows))
        for row, cell in zip(rows, self._cells, strict=True):
            if row[0] != PROGRAM:
                BY_NAME[row[0]].read(self, cell, row)
        for place, cell in enumerate(self._cells):
            if place not in self._foreign:
                BY_TYPE[type(cell)].check(self, cell)

    # what the rows refer to

    def cell(self, index: Any, *types: type) -> Any:
        """The cell of a number, which has to be of one of these types."""
        found = at(self._cells, index, "the number of a cell")
        if type(found) not in types or index in self._foreign:
            wanted = " or ".join(BY_TYPE[kind].name for kind in types)
            raise incompatible(f"cell {index} is no {wanted}")
        return found

    def optional(self, index: Any, *types: type) -> Any:
        """The same, or None."""
        return None if index is None else self.cell(index, *types)

    def tensor(self, index: Any) -> Tensor:
        """The tensor of a number."""
        found: Tensor = self.cell(index, Tensor)
        return found

    def program(self, index: Any) -> Any:
        """What can run: a program, with tensors of its own or without."""
        if type(index) is int and index in self._foreign:
            return self._cells[index]
        found = at(self._cells, index, "the number of a program")
        need(BY_TYPE[type(found)].name in ("bound", "refuse"), f"cell {index} is no program")
        return found

    def foreign(self, index: Any) -> Any:
        """A user's program."""
        need(type(index) is int and index in self._foreign, "what a program wraps is none")
        return self._cells[index]

    def value(self, value: Any) -> Any:
        """A tensor, a number, or nothing."""
        return read_value(value, self._refer)

    def operand(self, value: Any) -> Any:
        """The same, and no other kind of value."""
        found = self.value(value)
        need(type(found) in _OPERANDS, "a value is neither tensor nor number")
        return found

    def _refer(self, key: str, value: Any) -> Any:
        need(key == _TENSOR, f"a value is an object with {key[:60]!r}")
        return self.tensor(value)

    def moment(self, rank: Any) -> int:
        """A number in the order of creation here, from one in the order of creation there."""
        return self._moments[whole(rank, "a place in the order of creation", 0, len(self._moments))]

    def handle(self, row: Any) -> Handle:
        """The handle of a hook."""
        extra, place = listed(row, "a hook", 2)
        if extra is None or place is None:
            return Handle(Extra(), Attachment("", 0, None))  # what it hung at is gone
        found: Extra = self.cell(extra, Extra)
        return Handle(found, at(list(found.attached), place, "the place of a hook"))

    def hooks(self) -> Iterator[tuple[Attachment, int]]:
        """Every hook at a node or leaf, and how many values it will be given."""
        for cell in self._cells:
            if type(cell) in (Node, AccumulateGrad) and cell.extra is not None:
                for attached in cell.extra.attached:
                    if attached.kind != RETAIN:
                        yield attached, _given(cell, attached.kind)

    def mark_turned(self) -> None:
        """Flag the tensors whose arrays are not row-major, where the snapshot doesn't say it."""
        for cell in self._cells:
            if type(cell) is Tensor:
                cell.marked()

    def finish(self) -> None:
        """Nothing is left over."""
        self.arrays.finish()


def _given(node: Node | AccumulateGrad, kind: str) -> int:
    results = len(node.recipe.call.tracked) if type(node) is Node else 1
    return {AFTER: len(node.next_functions) + results, BEFORE: results}.get(kind, 1)


def _name(row: Any) -> Any:
    return row[0] if type(row) is list and row else None


def _empty(row: Any, foreign: Callable[[Any], Any]) -> Any:
    """The cell of a row, without anything in it; a program as it is."""
    name = _name(row)
    if name == PROGRAM:
        return foreign(listed(row, "a program", 2)[1])
    kind = BY_NAME.get(name) if type(name) is str else None
    if kind is None:
        raise incompatible(f"there is no kind of cell {str(name)[:60]!r}")
    listed(row, f"a {name}", kind.width)
    return object.__new__(kind.type)


def _reserve(count: Any, cells: int) -> list[int]:
    """So many numbers in the order of creation, all of them new."""
    return [next_seq() for _ in range(whole(count, "moments", 0, 3 * cells + 100))]
