"""Tensors as arrays of a file with what is said of each, and back.

Tensors that share memory still do when they are loaded: what they share is written once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradwire.functions import op
from gradwire.leaf import leaf
from gradwire.recorder import MAX_BYTES
from gradwire.saving.structure import Path, damaged
from gradwire.session import Session
from gradwire.tensor import Tensor
from gradwire.within import within
from gradwire_engine.spec import DTYPES

Place = tuple[tuple[int, ...], tuple[int, ...], int]
"""Sizes, strides and offset, in elements, by which a tensor sees its memory."""
_FIELDS = {"array", "dtype", "kind", "requires_grad", "seen"}


class Taken:
    """Tensors as a structure comes to them, each once. rows: what the file says of each."""

    def __init__(self) -> None:
        self.found: list[Tensor] = []
        self.paths: list[Path] = []
        self._places: dict[int, int] = {}

    def __call__(self, value: Any, path: Path) -> Any:
        """The number of a tensor in the file."""
        if not isinstance(value, Tensor):
            return None
        if id(value) not in self._places:
            self._places[id(value)] = len(self.found)
            self.found.append(value)
            self.paths.append(path)
        return {"tensor": self._places[id(value)]}

    def written(self) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
        """Rows, and arrays by name. The elements are read with one request for many."""
        wholes = _wholes(self.found)
        names = list(_distinct(".".join(path) or "tensor" for path in self.paths))
        rows: list[dict[str, Any]] = []
        read: dict[str, Tensor] = {}
        of: dict[Any, str] = {}
        for tensor, name in zip(self.found, names, strict=True):
            whole = wholes.get(tensor._meta.storage)
            key = of.setdefault(tensor._meta.storage, name) if whole is not None else name
            read[key] = tensor if whole is None else whole
            rows.append(_row(tensor, key, None if whole is None else place_of(tensor)))
        arrays = zip(read, _elements(list(read.values())), strict=True)
        return rows, {name: _pairs(array) for name, array in arrays}


def _row(tensor: Tensor, array: str, seen: Any) -> dict[str, Any]:
    kind = type(tensor).__name__
    return {
        "array": array,
        "dtype": tensor.dtype.name,
        "kind": kind if kind in ("Parameter", "Buffer") else "Tensor",
        "requires_grad": tensor.requires_grad,
        "seen": seen,
    }


def _wholes(tensors: Sequence[Tensor]) -> dict[Any, Tensor]:
    """By storage: all of the memory, in a row, that several of these share."""
    shared = Counter(t._meta.storage for t in tensors)
    found: dict[Any, Tensor] = {}
    for tensor in tensors:
        storage = tensor._meta.storage
        of_one_kind = all(
            t.dtype is tensor.dtype and t.dtype.numpy == storage.array.dtype
            for t in tensors
            if t._meta.storage is storage
        )
        dense = storage.array.size and storage.array.flags.c_contiguous
        if shared[storage] > 1 and dense and of_one_kind:
            found[storage] = in_a_row(tensor)
    return found


def in_a_row(tensor: Tensor) -> Tensor:
    """All of the memory that a tensor sees, in a row."""
    count = tensor._meta.storage.array.size
    with within(grad=False):
        return tensor.detach().as_strided((count,), (1,), 0)


def place_of(tensor: Tensor) -> Place:
    """How a tensor sees its memory."""
    meta = tensor._meta
    start, first = (a.__array_interface__["data"][0] for a in (meta.storage.array, meta.array))
    return tuple(tensor.shape), tuple(tensor.stride()), (first - start) // tensor.itemsize


def _distinct(names: Iterator[str]) -> Iterator[str]:
    used: set[str] = set()
    for name in names:
        found, number = name, 1
        while found in used or found == "__metadata__":
            found, number = f"{name}.{number}", number + 1
        used.add(found)
        yield found


def fetch(tensors: Sequence[Tensor]) -> None:
    """Have the elements of tensors here, as many of them by one request as isn't too much."""
    for _ in _elements(tensors):
        pass


def _elements(tensors: Sequence[Tensor]) -> Iterator[np.ndarray]:
    """The elements of tensors, read together as far as that isn't too much at once."""
    together: list[Tensor] = []
    for tensor in tensors:
        if together and sum(t.nbytes for t in together) + tensor.nbytes > MAX_BYTES:
            yield from _read(together)
            together = []
        together.append(tensor)
    yield from _read(together)


def _read(tensors: Sequence[Tensor]) -> Iterator[np.ndarray]:
    unknown = [t for t in tensors if t._known() is None]
    for session in dict.fromkeys(t.session for t in unknown):
        own = [t for t in unknown if t.session is session]
        found = session.flush([t._name for t in own])
        for tensor in own:
            tensor._keep(found[tensor._name])
    for tensor in tensors:
        yield tensor._read()


def _pairs(array: np.ndarray) -> np.ndarray:
    """complex128, which the format lacks, as float64 with a last axis of 2."""
    if array.dtype != np.complex128:
        return array
    return np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.float64)


class Loaded:
    """The tensors of a file, each made when it is met first, in a session."""

    def __init__(self, session: Session, rows: Any, arrays: Mapping[str, np.ndarray]) -> None:
        if type(rows) is not list or not all(_is_row(row, arrays) for row in rows):
            raise damaged("what it says of its tensors can't be read")
        self._session, self._rows, self._arrays = session, rows, arrays
        self._made: dict[int, Tensor] = {}
        self._wholes: dict[str, Tensor] = {}

    def __call__(self, kind: str, number: Any) -> Tensor:
        """The tensor of a number."""
        if kind != "tensor" or type(number) is not int or not 0 <= number < len(self._rows):
            raise damaged(f"it has no {str(kind)[:60]} {str(number)[:60]}")
        if number not in self._made:
            self._made[number] = self._make(self._rows[number])
        return self._made[number]

    def _make(self, row: dict[str, Any]) -> Tensor:
        from gradwire.nn.parameter import Buffer, Parameter

        with within(grad=False):
            found = self._seen(row) if row["seen"] is not None else self._leaf(row)
        if row["kind"] == "Parameter":
            return Parameter(found, row["requires_grad"])
        if row["kind"] == "Buffer":
            return Buffer(found)
        return found.requires_grad_() if row["requires_grad"] else found

    def _leaf(self, row: dict[str, Any]) -> Tensor:
        array, dtype = self._arrays[row["array"]], DTYPES[row["dtype"]]
        if dtype.numpy == np.complex128 and array.dtype == np.float64 and array.shape[-1:] == (2,):
            array = np.ascontiguousarray(array).view(np.complex128)[..., 0]
        if array.dtype != dtype.numpy:
            raise damaged(f"{row['array'][:60]!r} is {array.dtype}, and ought to be {dtype.name}")
        return leaf(self._session, array)

    def _seen(self, row: dict[str, Any]) -> Tensor:
        whole = self._wholes.get(row["array"])
        if whole is None:
            whole = self._wholes[row["array"]] = self._leaf(row)
        return op("as_strided")(whole, *row["seen"]).detach()


def _is_row(row: Any, arrays: Mapping[str, np.ndarray]) -> bool:
    return (
        type(row) is dict
        and row.keys() == _FIELDS
        and type(row["array"]) is str
        and row["array"] in arrays
        and type(row["dtype"]) is str
        and row["dtype"] in DTYPES
        and type(row["requires_grad"]) is bool
        and (row["seen"] is None or (type(row["seen"]) is list and len(row["seen"]) == 3))
    )


__all__ = ["Loaded", "Taken", "fetch", "in_a_row", "place_of"]
