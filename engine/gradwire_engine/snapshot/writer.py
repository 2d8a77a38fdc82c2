"""From cells to rows: each cell once, whatever its place in circles of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from gradwire_engine.snapshot.arrays import Arrays
from gradwire_engine.snapshot.calls import CallTables
from gradwire_engine.snapshot.kinds import BY_TYPE, PROGRAM
from gradwire_engine.snapshot.values import write_value
from gradwire_engine.tape import Handle
from gradwire_engine.tensor import Storage, Tensor

Row = list[Any]


class Writer:
    """A snapshot as it is written. foreign: from a program that the engine doesn't know to data."""

    def __init__(self, foreign: Callable[[Any], Any]) -> None:
        self._foreign = foreign
        self.rows: list[Row] = []
        self.calls = CallTables(self.program)
        self.arrays = Arrays(self.calls.spec)
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is used twice
        self._waiting: list[tuple[Any, Row]] = []
        self._devices: dict[int, str] = {}
        self._weak: list[tuple[Row, int, ref[Any]]] = []
        self._moments: list[tuple[Row, int]] = []

    def cell(self, cell: Any) -> int | None:
        """The number of a cell, which is written when its turn comes; None for None."""
        if cell is None:
            return None
        found = self._numbers.get(id(cell))
        if found is None:
            found = self._numbers[id(cell)] = len(self.rows)
            row: Row = [BY_TYPE[type(cell)].name]
            self.rows.append(row)
            self._alive.append(cell)
            self._waiting.append((cell, row))
        return found

    def storage(self, tensor: Tensor) -> int | None:
        """The number of a tensor's storage."""
        storage = tensor.storage
        self._devices[id(storage)] = tensor.spec.device
        return self.cell(storage)

    def array_of(self, storage: Storage) -> int:
        """The number of a storage's array."""
        return self.arrays.add(storage.array, self._devices[id(storage)])

    def program(self, program: Any) -> int:
        """The number of a program: a cell of the engine's own, or what `foreign` makes of it."""
        if type(program) in BY_TYPE:
            number = self.cell(program)
            assert number is not None
            return number
        found = self._numbers.get(id(program))
        if found is None:
            row = [PROGRAM, self._foreign(program)]
            found = self._numbers[id(program)] = len(self.rows)
            self._alive.append(program)
            self.rows.append(row)
        return found

    def value(self, value: Any) -> Any:
        """A tensor, a number, or nothing."""
        return write_value(value, self._refer)

    def _refer(self, value: Any) -> Any:
        if type(value) is Tensor:
            return {"tensor": self.cell(value)}
        if isinstance(value, np.generic):
            return self.value(value.item())
        raise TypeError(f"a saved {type(value).__name__} has no place in a snapshot")

    def weak(self, row: Row, reference: ref[Any]) -> None:
        """Add to a row the number of what a weak reference refers to, if that is written at all."""
        self._weak.append((row, len(row), reference))
        row.append(None)

    def moment(self, row: Row, seq: int) -> None:
        """Add to a row a place in the order of creation."""
        self._moments.append((row, len(row)))
        row.append(seq)

    def handle(self, handle: Handle) -> Row:
        """A hook's handle: what it hangs at and where; None where that is gone."""
        row: Row = []
        self.weak(row, handle.extra)
        extra = handle.extra()
        attached = enumerate(() if extra is None else extra.attached)
        row.append(next((place for place, one in attached if one is handle.attachment), None))
        return row

    def finish(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """All rows, and the arrays by name. What was asked for before is filled in now."""
        while self._waiting:
            cell, row = self._waiting.pop()
            BY_TYPE[type(cell)].write(self, cell, row)
        for row, place, reference in self._weak:
            row[place] = self._numbers.get(id(reference()))
        seqs = sorted({row[place] for row, place in self._moments})
        ranks = {seq: rank for rank, seq in enumerate(seqs)}
        for row, place in self._moments:
            row[place] = ranks[row[place]]
        data = {
            "cells": self.rows,
            "arrays": self.arrays.rows,
            "moments": len(seqs),
            **self.calls.rows,
        }
        return data, self.arrays.elements
