"""Item assignment: it writes by itself, by the view of the basic part of the index."""

from __future__ import annotations

import sys
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import error
from gradwire_engine.families import composite
from gradwire_engine.inplace import check_writable, content, value_in_place, write
from gradwire_engine.mode import local
from gradwire_engine.ops.advanced import index_put_at
from gradwire_engine.ops.choose import masked_fill
from gradwire_engine.ops.creation import fits, full
from gradwire_engine.ops.expand import called, reshape
from gradwire_engine.ops.index import look_up
from gradwire_engine.ops.index_write import copy_, fill
from gradwire_engine.overlap import refuse_overlap, refuse_partial_overlap
from gradwire_engine.signature import VALUE_TYPES, Index
from gradwire_engine.spec import bool_
from gradwire_engine.tensor import Tensor


@composite(name="__setitem__", inplace=True)
def setitem(input: Array, index: Index, value: Array) -> Array:
    """Write a number or tensor in place where an index says; the tensor itself is given back."""
    if index is False:
        return input
    if type(index) is tuple and len(index) == 1 and _is_bools(index[0]):
        index = index[0]
    if type(value) not in VALUE_TYPES:
        value = fits("__setitem__", value, input.dtype, halves=False)
    lone = _is_bools(index) and prod(getattr(value, "shape", ())) == 1
    # a mask of the first axes, for which no index has to be made
    if lone and 0 < index.ndim <= input.ndim and tuple(index.shape) == input.shape[: index.ndim]:
        return _fill_masked(input, index, value)
    if type(input) is Tensor and input.shape and _advanced(index):
        _check_put(input, value)
        places = index if type(index) is tuple else (index,)
        refuse_overlap("index_put_", input, () if lone else (value, *places))
    index = tuple(map(_known, index)) if type(index) is tuple else _known(index)
    found = look_up(input, (index,) if isinstance(index, slice) else index)
    if found.indices is None:
        if type(found.seen) is Tensor and prod(getattr(value, "shape", ())) == found.seen.spec.size:
            refuse_partial_overlap("__setitem__", found.seen, (value,))
        _put(found.seen, value)
    else:
        values = _fitting(value)
        if type(values) not in VALUE_TYPES:
            values = full((), values, dtype=input.dtype, device=input.device)
        if type(found.seen) is Tensor:
            _check_put(found.seen, values)
            _look_back(values)
            refuse_overlap("index_put_", found.seen, (values, *found.indices))
            _refuse_empty_axes(found.seen, found.indices)
        put = index_put_at(content(found.seen), found.indices, values, masks=found.masks)
        write("index_put_", found.seen, put, (values, *found.indices))
    return input


def put_at_once(target: Tensor, index: Any, value: Any) -> bool:
    """Write where ints and slices say, if nothing is to be recorded, refused or undone.

    Gives whether that was done; if not, nothing was, and `setitem` has the whole of it to do. What
    counts the write comes before it: an interrupt in between leaves the elements as they were.
    """
    state = local.state
    storage = target._storage
    if storage is None:
        storage = target.storage
    array = storage.array
    if (
        type(array) is not np.ndarray
        or target.view is not None
        or target.flags
        or state.journal is not None
        or state.inference
        or (state.grad and target._edge is not None)
        or sys.getrefcount(array) > _LONE
        or array.base is not None
        or not _is_basic(index)
    ):
        return False
    kind = type(value)
    if kind is Tensor:
        if (
            value.spec.dtype is not target.spec.dtype
            or value.flags
            or value._edge is not None
            or value._storage is storage
        ):
            return False
        value = value.array
    elif (
        (kind is not float and kind is not int)
        or target.spec.dtype.name not in _FLOATS
        or not -_SAFE < value < _SAFE
    ):
        return False
    version, storage.version = storage.version, storage.next_version
    try:
        array[index] = value
    except (IndexError, ValueError):
        storage.version = version
        return False
    return True


_LONE = 3
"""References to an array that only its storage and one variable hold, by sys.getrefcount."""
_FLOATS = frozenset({"float32", "float64"})
_SAFE = 1e30
"""Numbers below this fit both."""


def _is_basic(index: Any) -> bool:
    """Whether an index is an int or a slice as torch takes them, or a tuple of such."""
    if type(index) is tuple:
        return all(map(_is_basic, index))
    if type(index) is slice:
        step = index.step
        return (
            (step is None or (type(step) is int and step > 0))
            and (index.start is None or type(index.start) is int)
            and (index.stop is None or type(index.stop) is int)
        )
    return type(index) is int or index is Ellipsis


def _known(item: Any) -> Any:
    """A bool of device meta as True: unlike what is read, what is written has the same form."""
    lone = _is_bools(item) and not item.shape
    return True if lone and item.device == "meta" else item


def _look_back(value: Any) -> None:
    """Refuse to fill with what may not be used any more, also where no history comes of it."""
    if type(value) is Tensor and local.state.grad:
        value.edge  # noqa: B018 (it raises)


def _check_put(seen: Tensor, values: Any) -> None:
    """What is refused before places are looked at; of an inference tensor they come first."""
    if not seen.is_inference:
        check_writable("index_put_", seen, getattr(values, "requires_grad", False))


def _put(seen: Any, value: Any) -> None:
    """Copy a tensor of this shape as it is; fill with a lone element; copy what broadcasts."""
    shape = getattr(value, "shape", ())
    filled = bool(seen.shape) and not shape
    if filled:
        _look_back(value)
    name = "fill_.Tensor" if filled and type(value) in VALUE_TYPES else "__setitem__"
    if type(seen) is Tensor:
        check_writable(name, seen, getattr(value, "requires_grad", False))
    if shape and shape != seen.shape:
        value = _fitting(value)
    put_in = copy_ if getattr(value, "shape", ()) else fill
    written = value_in_place(put_in, _overwritten(seen), value)
    label = "FillBackward3" if filled else "CopyBackwards"
    write(name, seen, called(label, written), (value,))


def _fill_masked(input: Array, mask: Array, value: Array) -> Array:
    """Write one value where a mask of the first axes holds."""
    if type(input) is Tensor:
        _check_put(input, value)
        refuse_partial_overlap("index_put_", input, (mask,))
    rest = (1,) * (input.ndim - mask.ndim)
    wide = reshape(mask, (*mask.shape, *rest)) if rest else mask
    one = reshape(value, ()) if getattr(value, "shape", ()) else value
    filled = value_in_place(masked_fill, content(input), wide, one)
    return write("index_put_", input, called("IndexPutBackward0", filled), (mask, value))


def _refuse_empty_axes(seen: Tensor, indices: Any) -> None:
    """Nothing can be written at places of an axis that has none: said before all else."""
    for size, places in zip(seen.shape, indices, strict=False):
        if not size and places is not None and 0 not in places.shape:
            raise error(
                "invalid_argument",
                "index_put: index is out of bounds for a dimension with size 0",
                raised=IndexError,
            )


def _advanced(index: Any) -> bool:
    """Whether tensors are all that an index is made of: then it makes no view of its own."""
    items = index if type(index) is tuple else (index,)
    return all(type(item) in VALUE_TYPES and item.shape for item in items)


def _is_bools(index: Any) -> bool:
    return type(index) in VALUE_TYPES and index.dtype is bool_


def _overwritten(target: Tensor) -> Tensor:
    """A target all of whose elements go: of a view the base's history says so already."""
    found: Tensor = content(target)
    if type(target) is Tensor and target.view is not None and target.view.base is not None:
        found._edge = None
    return found


def _fitting(value: Any) -> Any:
    """The value without leading axes of size 1: it may have more axes than the place it goes to."""
    shape = getattr(value, "shape", ())
    lead = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return reshape(value, shape[lead:]) if lead else value
