"""Tensors in pickles and copies: by value, as PyTorch has them.

What is read from a pickle lies in the session in force there, so a pickle brings tensors to another
process, another server or another day. Tensors of one pickle that share memory share it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from gradwire import current
from gradwire.functions import catalogued
from gradwire.leaf import leaf
from gradwire.saving.tensors import fetch, in_a_row, place_of
from gradwire.tensor import Tensor
from gradwire.within import within


class Memory:
    """The memory that tensors of a pickle see, whole. A pickle writes it once, however many do."""

    __slots__ = ("__weakref__", "storage", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.storage = tensor._meta.storage
        self.tensor = tensor

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _in_session, (_elements(self.tensor),)


_memories: WeakValueDictionary[int, Memory] = WeakValueDictionary()
"""Those that a pickle under way holds, by the id of the storage, which they hold in turn."""


def reduced(tensor: Tensor) -> tuple[Any, ...]:
    """What a pickle says of a tensor: its memory and how it sees it, or else its elements."""
    memory: Any = _memory_of(tensor)
    place: Any = None if memory is None else place_of(tensor)
    if memory is None:
        order = _order(tensor)
        memory, place = _Elements(tensor, order), order
    slots = {"persistent": tensor.persistent} if hasattr(tensor, "persistent") else {}
    about = (type(tensor), memory, place, tensor.requires_grad, slots)
    return _rebuilt, about, tensor.__dict__ or None


class _Elements:
    """The elements of a tensor whose memory isn't pickled, in the order in which they lie."""

    __slots__ = ("_order", "_tensor")

    def __init__(self, tensor: Tensor, order: list[int]) -> None:
        self._tensor, self._order = tensor, order

    def __reduce_ex__(self, protocol: Any) -> Any:
        array = _elements(self._tensor).transpose(self._order)
        return _in_session, (np.ascontiguousarray(array),)


_together: dict[int, ref[Tensor]] = {}
"""What a pickle under way will most likely come to, by id."""


def read_together(tensors: Sequence[Tensor]) -> None:
    """Have these tensors read with one request for many, if a pickle reads one of them."""
    if not any(id(t) in _together and _together[id(t)]() is t for t in tensors):
        _together.clear()
        _together.update((id(t), ref(t)) for t in tensors)


def _elements(tensor: Tensor) -> np.ndarray:
    if id(tensor) in _together:
        found = [reference() for reference in _together.values()]
        _together.clear()
        fetch([t for t in found if t is not None])
    return tensor._read()


def _memory_of(tensor: Tensor) -> Memory | None:
    """The memory that a tensor sees, if it is one row of elements of the tensor's dtype."""
    storage = tensor._meta.storage
    found = _memories.get(id(storage))
    if found is not None and found.tensor.dtype is tensor.dtype:
        return found
    array = storage.array
    if found is not None or array.dtype != tensor.dtype.numpy or not array.flags.c_contiguous:
        return None
    whole = place_of(tensor) == ((array.size,), (1,), 0)
    made = Memory(tensor if whole or _covers(tensor) else in_a_row(tensor))
    _memories[id(storage)] = made
    return made


def _covers(tensor: Tensor) -> bool:
    """Whether a tensor sees all of its memory, in a row."""
    return tensor.numel() == tensor._meta.storage.array.size and tensor.is_contiguous()


def _order(tensor: Tensor) -> list[int]:
    """The axes of a tensor, the one with the longest strides first."""
    strides = tensor.stride()
    return sorted(range(tensor.ndim), key=lambda axis: -strides[axis])


def _in_session(array: np.ndarray) -> Tensor:
    """A tensor of these elements in the session in force."""
    own = array.flags.owndata and array.flags.writeable
    with within(grad=False):
        return leaf(current.session(), array if own else array.copy())


def _rebuilt(
    kind: type[Tensor], memory: Tensor, place: Any, requires_grad: bool, slots: dict[str, Any]
) -> Tensor:
    """The tensor that a pickle tells of."""
    with within(grad=False):
        return _as_kind(kind, _seen(memory, place), requires_grad, slots)


def _seen(memory: Tensor, place: Any) -> Tensor:
    """What a tensor sees of a memory; or elements with their axes in order again."""
    if isinstance(place, list):
        if place == sorted(place):
            return memory
        turned: Tensor = memory.permute([place.index(axis) for axis in range(len(place))])
        return turned.detach()
    if place == place_of(memory):
        return memory.detach()
    found: Tensor = catalogued("as_strided")(memory, *place)
    return found.detach()


def _as_kind(
    kind: type[Tensor], found: Tensor, requires_grad: bool, slots: dict[str, Any]
) -> Tensor:
    """A leaf as one of a class: Tensor, Parameter, Buffer, or one of the user's own."""
    from gradwire.nn.parameter import Buffer, Parameter

    if issubclass(kind, Parameter):
        made: Tensor = Parameter(found, requires_grad)
    elif issubclass(kind, Buffer):
        made = Buffer(found, **slots).requires_grad_(requires_grad)
    else:
        made = found.requires_grad_(requires_grad)
    if type(made) is not kind:
        made.__class__ = kind
    return made


def copied(tensor: Tensor) -> Tensor:
    """A leaf of the same class that shares the elements of a tensor, as copy.copy gives."""
    with within(grad=False):
        slots = {"persistent": tensor.persistent} if hasattr(tensor, "persistent") else {}
        made = _as_kind(type(tensor), tensor.detach(), tensor.requires_grad, slots)
    made.__dict__.update(tensor.__dict__)
    return made


def deeply_copied(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf of the same class with elements of its own; what shared them shares the copy's.

    Of a parameter, as in torch, only the elements: no gradient, no attributes, and nothing shared.
    """
    from copy import deepcopy

    from gradwire.nn.parameter import Parameter

    alone = isinstance(tensor, Parameter)
    with within(grad=False):
        slots = {"persistent": tensor.persistent} if hasattr(tensor, "persistent") else {}
        copy = tensor.detach().clone() if alone else _own_elements(tensor, memo)
        made = _as_kind(type(tensor), copy, tensor.requires_grad, slots)
    memo[id(tensor)] = made
    if not alone:
        made.__dict__.update(deepcopy(tensor.__dict__, memo))
        if tensor.grad is not None:
            made.grad = deepcopy(tensor.grad, memo)
    return made


def _own_elements(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    storage = tensor._meta.storage
    array = storage.array
    if array.dtype != tensor.dtype.numpy or not array.flags.c_contiguous:
        return tensor.detach().clone()
    known = memo.get(id(storage))
    if known is None:
        known = tensor.detach().clone() if _covers(tensor) else in_a_row(tensor).clone()
        memo[id(storage)] = known
        memo.setdefault(id(memo), []).append(storage)  # so that its id stays its own
    return _seen(known, place_of(tensor))


__all__ = ["copied", "deeply_copied", "read_together", "reduced"]
