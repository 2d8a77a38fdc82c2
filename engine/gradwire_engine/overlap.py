"""Which tensors share memory, and how: what an in-place op must know before it writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradwire_engine.arrays import NAMESPACE_OF, address
from gradwire_engine.call import Call, follow
from gradwire_engine.errors import error
from gradwire_engine.symbol import Symbol
from gradwire_engine.tensor import Tensor

_ALSO_EXPANDED = (
    "fill_", "zero_", "index_fill_", "masked_fill_", "index_put_", "tril_", "triu_",
    "t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "conj_physical_",
)  # fmt: skip
"""Ops that may write to an expanded tensor, as in torch: they put in elements, and compute none."""


def overlaps(array: Any) -> bool:
    """Whether an axis longer than 1 has stride 0, as expand makes it."""
    axes = zip(array.shape, array.strides, strict=True)
    return 0 not in array.shape and any(size > 1 and not step for size, step in axes)


def dense(array: Any) -> bool:
    """Whether an array fills its stretch of memory, each place once, its axes in any order."""
    if 0 in array.shape and not any(array.strides):  # as NumPy lays out what has no elements
        return True
    step = array.itemsize
    axes = sorted(zip(array.strides, array.shape, strict=True))
    for stride, size in axes:
        if size < 2:
            continue
        if stride != step:
            return False
        step *= size
    return True


def _stacked(array: Any) -> bool:
    """Whether a triangle of each matrix is cut out where it lies, and not in a copy written back.

    As in torch: where no more than one axis stands before the matrices, and where each of several
    steps over all that is behind it; but the first may be an expanded one.
    """
    if array.ndim < 4:
        return True
    step = array.itemsize * array.shape[-1] * array.shape[-2]
    axes = list(zip(array.shape, array.strides, strict=True))[-3::-1]
    for place, (size, stride) in enumerate(axes, 1):
        if size > 1 and stride != step and (stride or place < len(axes)):
            return False
        step *= size
    return True


def lets_expanded(name: str, tensor: Tensor) -> bool:
    """Whether an op in place may write to a tensor of which elements share a place, as in torch."""
    if name == "conj_physical_":
        return not tensor.dtype.is_complex
    return name in _ALSO_EXPANDED and (name not in ("tril_", "triu_") or _stacked(tensor.array))


def write_through(chain: tuple[tuple[Call, int], ...], array: Any, value: Any) -> None:
    """Write where the views of a chain show.

    Where an expanded view shows one place several times, what differs there from before is
    written: the other elements stand for what was let be.
    """
    for link in chain:
        array = follow((link,), array)
        if not getattr(array.flags, "writeable", True):  # NumPy's guard of broadcast arrays
            array.flags.writeable = True
    if overlaps(array):
        xp = NAMESPACE_OF[type(array)]
        value = xp.broadcast_to(xp.asarray(value, array.dtype), array.shape)
        changed = (_bytes(xp, value) != _bytes(xp, array)).any(-1)
        array[changed] = value[changed]
    else:
        array[...] = value


def _bytes(xp: Any, array: Any) -> Any:
    """The bytes of each element, by which a NaN is equal to itself, and -0 is not to 0."""
    rows = xp.ascontiguousarray(array)
    return rows.view(xp.uint8).reshape(*array.shape, array.itemsize)


def refuse_partial_overlap(name: str, target: Tensor, others: Iterable[Any]) -> None:
    """Refuse operands that share some memory with the target, but are not the same elements.

    As in torch only where both fill their stretch of memory, which is when it can be told easily.
    """
    for other in others:
        if other is not target and _shares(target, other) and _partly(target.array, other.array):
            raise _overlapping(name)


def refuse_overlap(name: str, target: Tensor, others: Iterable[Any]) -> None:
    """Refuse operands that share memory with the target, itself among them, where that shows."""
    for other in others:
        if other is target or (_shares(target, other) and _touch(target.array, other.array)):
            raise _overlapping(name)


def _overlapping(name: str) -> Exception:
    return error(
        "view_in_place",
        f"{name}: some elements of an operand and of the tensor written share memory",
        "clone() the operand",
    )


def _shares(target: Tensor, other: Any) -> bool:
    return type(other) is Tensor and other.storage is target.storage


def _partly(a: Any, b: Any) -> bool:
    """Whether two arrays have memory in common without being the same elements."""
    same = start(a) == start(b) and a.shape == b.shape and _steps(a) == _steps(b)
    return _touch(a, b) and not same


def _steps(array: Any) -> list[tuple[int, int]]:
    """Size and stride of each axis that has steps: of others the stride means nothing."""
    return [(n, s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]


def _touch(a: Any, b: Any) -> bool:
    if 0 in a.shape or 0 in b.shape or not dense(a) or not dense(b):
        return False
    first, second = start(a), start(b)
    return bool(first < second + b.nbytes and second < first + a.nbytes)


def start(array: Any) -> int:
    """The address of the first element; a symbol's is its phantom's, which views share."""
    if type(array) is Symbol:
        array = array.phantom
    if isinstance(array, np.ndarray):
        return address(array)
    return int(array.data.ptr)
