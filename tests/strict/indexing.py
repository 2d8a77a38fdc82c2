"""Indexing as CuPy has it: views where ints and slices allow, indices in arrays wrapped round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.strict.host import Host, is_device, to_device

Index = tuple[Any, ...]


def _entry(entry: Any) -> Any:
    """One entry of an index on the host; lists and NumPy arrays are copied over, as in CuPy."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return entry
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        return int(entry)
    array = entry.host if is_device(entry) else np.asarray(entry)
    if isinstance(entry, list | tuple) and array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "biu":
        raise IndexError(
            f"arrays used as indices must be of integer or boolean type. (actual: {array.dtype})"
        )
    return array


def _width(entry: Any) -> int:
    """How many axes of the array an entry takes up."""
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if isinstance(entry, np.ndarray) and entry.dtype.kind == "b" else 1


def prepared(shape: tuple[int, ...], index: Any) -> Index:
    """The index for NumPy: arrays on the host, integers in them taken modulo the axis' length."""
    entries = [_entry(e) for e in (index if isinstance(index, tuple) else (index,))]
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    skipped = len(shape) - sum(_width(e) for e in entries)
    axis, wrapped = 0, []
    for entry in entries:
        if isinstance(entry, np.ndarray) and entry.dtype.kind != "b" and 0 <= axis < len(shape):
            entry = _wrap(entry, shape[axis])
        wrapped.append(entry)
        axis += skipped if entry is Ellipsis else _width(entry)
    return tuple(wrapped)


def _wrap(indices: Host, length: int) -> Host:
    """CuPy raises nothing for an index out of range: it goes round."""
    return indices.astype(np.int64) % length if length else indices


def getitem(array: Host, index: Any) -> Any:
    """`array[index]`: never a scalar; a view unless the index has an array."""
    return to_device(array[prepared(array.shape, index)])


def setitem(array: Host, index: Any, value: Any) -> None:
    """`array[index] = value`. Of duplicates the first wins here: CuPy leaves open which does."""
    if isinstance(value, np.ndarray):
        raise TypeError("a host array can't be assigned to a device array: from_numpy it first")
    place = prepared(array.shape, index)
    stored = value.host if is_device(value) else value
    if not any(isinstance(e, np.ndarray) for e in place):
        with np.errstate(all="ignore"):
            array[place] = stored
        return
    positions = np.arange(array.size).reshape(array.shape)[place]
    with np.errstate(all="ignore"):
        values = np.broadcast_to(np.asarray(stored).astype(array.dtype), positions.shape)
    reverse = np.unravel_index(positions.ravel()[::-1], array.shape)
    array[reverse] = values.ravel()[::-1]


def scatter(
    name: str, compute: Callable[..., Any], array: Host, index: Any, value: Any, types: str
) -> None:
    """`ufunc.at`, for the dtypes in `types`; a plain in-place operation where nothing repeats.

    Maxima and minima of float64 are those of the numbers as float32.
    """
    place = prepared(array.shape, index)
    ufunc = getattr(np, name)
    if not any(isinstance(e, np.ndarray) for e in place):
        np.copyto(array[place], compute(array[place], value), casting="same_kind")
        return
    if not any(array.dtype == np.dtype(c) for c in types):
        raise TypeError(f"cupy.{name}.at doesn't support {array.dtype}")
    given = np.asarray(value).astype(array.dtype)
    if name in ("maximum", "minimum") and array.dtype == np.float64:
        given = given.astype(np.float32).astype(np.float64)
    ufunc.at(array, place, given)
