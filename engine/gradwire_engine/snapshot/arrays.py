"""Arrays of a snapshot: each once, row by row, with the order in which its axes lay in memory.

That order decides what some views show, and in which order sums are added up: it comes back.
complex128, for which the file's format has no name, goes as pairs of float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import backend, devices, phantom
from gradwire_engine.snapshot.fields import at, incompatible, listed, need, text, whole
from gradwire_engine.spec import DTYPES, DType, Shape, Spec, complex128, dtype_of, float64

META = "meta"
_MAX_AXES = 64
_MAX_ELEMENTS = 2**58


class Arrays:
    """Rows for arrays as they are met: form, order of axes. Elements by the row's number.

    spec: enters a spec in a table, and gives its number there.
    """

    def __init__(self, spec: Callable[[Spec], int]) -> None:
        self._spec = spec
        self.rows: list[list[Any]] = []
        self.elements: dict[str, np.ndarray] = {}
        self._known: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is used twice

    def add(self, array: Any, device: str) -> int:
        """The number of an array's row; its own one if it was met before."""
        found = self._known.get(id(array))
        if found is None:
            found = self._known[id(array)] = len(self.rows)
            self._alive.append(array)
            self.rows.append(self._row(array, device, _name(found)))
        return found

    def _row(self, array: Any, device: str, name: str) -> list[Any]:
        axes = _order(array)
        row = [self._spec(Spec(tuple(array.shape), dtype_of(array.dtype), device)), axes]
        if device == META:
            return row
        lying = array if axes is None else array.transpose(axes)
        elements = np.ascontiguousarray(backend(device).to_numpy(lying)).reshape(lying.shape)
        self.elements[name] = _pairs(elements) if elements.dtype == complex128.numpy else elements
        return row


def _name(index: int) -> str:
    """What the elements of a row are called."""
    return f"a{index}"


def _order(array: Any) -> list[int] | None:
    """The axes from the one with the longest steps in memory to the shortest; None: as they are.

    Axes of size 1, whose steps mean nothing, come first.
    """
    if array.flags.c_contiguous:
        return None
    sizes, steps = array.shape, array.strides
    order = sorted(range(array.ndim), key=lambda i: (sizes[i] != 1, -abs(steps[i])))
    return None if order == list(range(array.ndim)) else order


def _pairs(array: np.ndarray) -> np.ndarray:
    found: np.ndarray = array.reshape(-1).view(float64.numpy).reshape(*array.shape, 2)
    return found


class Elements:
    """The arrays of a snapshot, read once each.

    spec: of its number. charge: asked for the bytes before a copy.
    """

    def __init__(
        self,
        rows: Any,
        elements: Mapping[str, np.ndarray],
        spec: Callable[[Any], Spec],
        charge: Callable[[int], None],
    ) -> None:
        self._spec = spec
        self._rows = listed(rows, "arrays")
        self._elements = dict(elements)
        self._charge = charge
        self._made: dict[int, tuple[Any, str]] = {}

    def array(self, index: Any) -> tuple[Any, str]:
        """The array of a row in memory of its own, and its device."""
        row = at(self._rows, index, "the number of an array")
        found = self._made.get(index)
        if found is None:
            found = self._made[index] = self._read(row, _name(index))
        return found

    def finish(self) -> None:
        """Refuse arrays that nothing was made of."""
        if self._elements:
            raise incompatible(f"nothing uses the array {next(iter(self._elements))[:60]!r}")
        need(len(self._made) == len(self._rows), "nothing uses one of its arrays")

    def _read(self, row: Any, name: str) -> tuple[Any, str]:
        number, order = listed(row, "an array", 2)
        shape, dtype, device = self._spec(number)
        axes = _axes(order, len(shape))
        lying = tuple(shape[axis] for axis in axes)
        if device == META:
            made = phantom(lying, dtype.numpy)
        else:
            made = self._copied(name, lying, dtype, device)
        back = sorted(range(len(axes)), key=axes.__getitem__)
        return (made if back == list(range(len(back))) else made.transpose(back)), device

    def _copied(self, name: str, shape: Shape, dtype: DType, device: str) -> Any:
        given = self._elements.pop(name, None)
        if given is None:
            raise incompatible(f"the array {name!r} is missing")
        if dtype is complex128 and given.dtype == float64.numpy and given.shape == (*shape, 2):
            given = np.ascontiguousarray(given).reshape(-1).view(complex128.numpy).reshape(shape)
        if given.shape != shape or given.dtype != dtype.numpy:
            raise incompatible(
                f"the array {name!r} is {given.dtype}{list(given.shape)}, and ought to be "
                f"{dtype.name}{list(shape)}"
            )
        self._charge(given.nbytes)
        return backend(device).from_numpy(given.copy())


def _axes(value: Any, count: int) -> list[int]:
    if value is None:
        return list(range(count))
    axes = listed(value, "the order of an array's axes", count)
    if sorted(whole(a, "an axis", 0, count) for a in axes) != list(range(count)):
        raise incompatible("the order of an array's axes names one twice")
    return axes


def read_shape(value: Any) -> Shape:
    """A shape that an array can have."""
    sizes = [whole(n, "a size") for n in listed(value, "a shape")]
    need(len(sizes) <= _MAX_AXES, f"a shape has {len(sizes)} axes, and {_MAX_AXES} is the most")
    need(prod(filter(None, sizes)) <= _MAX_ELEMENTS, "a shape has more elements than can be")
    return tuple(sizes)


def read_dtype(value: Any) -> DType:
    """A dtype by its name."""
    found = DTYPES.get(value) if type(value) is str else None
    if found is None:
        raise incompatible(f"there is no dtype {str(value)[:60]!r}")
    return found


def read_device(value: Any) -> str:
    """A device that is to be had here."""
    name = text(value, "a device", 32)
    if name.partition(":")[0] in devices():
        backend(name)
        return name
    raise incompatible(f"its device {name!r} is not to be had here: {', '.join(devices())}")
