"""Indexing: x[...] in all of NumPy's forms, as views where ints and slices allow.

An index is an int, a slice, None (new axis), Ellipsis, a bool, a list, a tensor of ints or bools,
or a tuple of those. Its basic part becomes select, slice and unsqueeze; tensors among it become one
`index` over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.errors import GradwireError, error, invalid_argument
from gradwire_engine.families import composite
from gradwire_engine.op import needs_tensor
from gradwire_engine.ops.advanced import index as advanced_index
from gradwire_engine.ops.advanced import nonzero
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.creation import tensor
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.views import alias, check_place, select, slice_
from gradwire_engine.signature import Index
from gradwire_engine.spec import bool_, int64


class Indexed(NamedTuple):
    """A tensor seen through the basic part of an index; tensors of ints for some of its axes.

    masks: the entries that those ints were found by.
    """

    seen: Any
    indices: tuple[Any, ...] | None
    masks: tuple[Any, ...] = ()


def bad_index(detail: str, hint: str | None = None) -> GradwireError:
    """What a wrong index raises."""
    return invalid_argument(f"index: {detail}", hint, raised=IndexError)


@composite(name="__getitem__", data_dependent=True)
def getitem(input: Array, index: Index) -> Array:
    """Index with ints, slices, None, Ellipsis, lists and tensors of ints or bools."""
    found = look_up(input, index)
    if found.indices is not None:
        return advanced_index(found.seen, found.indices, found.masks)
    return alias(input) if found.seen is input else found.seen


def look_up(input: Any, index: Any) -> Indexed:
    """The basic part of an index taken as views; what is left for `index` or `index_put`."""
    if type(index) is int:
        return Indexed(_selected(input, 0, index), None)
    if isinstance(index, slice):
        return Indexed(slice_(input, 0, *_bounds(index)), None)
    items = [_entry(input, item) for item in _items(index)]
    items = _spelled_out(items, input)
    return _walk(input, items)


def _walk(input: Any, items: list[Any]) -> Indexed:
    """Take the entries one by one, at the axis that each has come to."""
    seen, dim = input, 0
    advanced: dict[int, Any] = {}
    for item in items:
        if item is None:
            seen, dim = unsqueeze(seen, dim), dim + 1
        elif isinstance(item, slice):
            seen, dim = _sliced(seen, dim, item), dim + 1
        elif isinstance(item, bool):
            seen = unsqueeze(seen, dim)
            advanced[dim] = tensor([0] if item else [], dtype=int64, device=_device(input))
            dim += 1
        elif isinstance(item, int):
            seen = _selected(seen, dim, item)
        else:
            for place in _integers(item, seen.shape, dim):
                advanced[dim] = place
                dim += 1
    if not advanced:
        return Indexed(seen, None)
    masks = tuple(item for item in items if _is_value(item) and _mask(item))
    return Indexed(seen, tuple(advanced.get(i) for i in range(max(advanced) + 1)), masks)


def _selected(seen: Any, dim: int, place: int) -> Any:
    """What stands at a place; that there is none is said before all else, as in torch."""
    if dim < len(seen.shape):
        check_place(tuple(seen.shape), dim, place)
    return select(seen, dim, place)


def _sliced(seen: Any, dim: int, item: slice) -> Any:
    start, end, step = _bounds(item)
    size = seen.shape[dim]
    if step == 1 and not start and (end is None or end >= size):
        return seen
    return slice_(seen, dim, start, end, step)


def _bounds(item: slice) -> tuple[int | None, int | None, int]:
    start, stop, step = (_int_or_none(x) for x in (item.start, item.stop, item.step))
    if step is not None and step < 1:
        raise invalid_argument(
            f"index: the step of a slice must be greater than zero, got {step}",
            "flip() the axis to run backwards",
            raised=ValueError,
        )
    return start, stop, 1 if step is None else step


def _int_or_none(value: Any) -> int | None:
    if value is None or type(value) is int:
        return value
    if (_is_value(value) and len(value.shape) == 0) or isinstance(value, (int, np.integer)):
        return _known(value)
    raise invalid_argument(
        f"index: a slice goes from int to int by int, got a {type(value).__name__}",
        raised=TypeError,
    )


def integers_at(input: Any, indices: Sequence[Any]) -> Indexed:
    """Index tensors, an axis each or None, with every mask as its places; and the masks.

    The input is seen with one more axis for each bool without axes.
    """
    items = [slice(None) if item is None else _place(input, item) for item in indices]
    found = _walk(input, _spelled_out(items, input))
    if found.indices is None:
        raise bad_index("no index tensor was given", "give at least one")
    return found


def _place(input: Any, item: Any) -> Any:
    """A tensor of places as it is, also one without axes, at which no view is taken."""
    if not _is_value(item):
        raise needs_tensor("index_put", ["indices"])
    found = _entry(input, item)
    return item if type(found) is int else found


# what stands in an index


def _items(index: Any) -> Sequence[Any]:
    """The entries of an index; a list with anything but plain numbers in it counts as a tuple."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and any(
        item is None
        or item is Ellipsis
        or isinstance(item, (slice, list, tuple))
        or (_is_value(item) and item.shape)
        for item in index
    ):
        return index
    return (index,)


def _is_value(item: Any) -> bool:
    return hasattr(item, "shape") and hasattr(item, "dtype")


def _entry(input: Any, item: Any) -> Any:
    """One entry as None, Ellipsis, a slice, a bool, an int, or a tensor."""
    if item is None or item is Ellipsis or isinstance(item, (slice, bool, int)):
        return item
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, (list, tuple, range)):
        return _listed(input, item)
    if not _is_value(item):
        raise bad_index(
            f"only ints, slices, Ellipsis, None, lists and tensors of ints or bools are valid, "
            f"got a {type(item).__name__}"
        )
    if kind(item) not in "biu":
        raise bad_index(
            f"a tensor used as index must hold ints or bools, this one is {item.dtype}",
            "convert it to int64, or compare it to get a mask",
        )
    if item.dtype.name in ("int8", "int16"):
        raise bad_index(
            f"a tensor used as index must not be {item.dtype.name}", "convert it to int64"
        )
    if _mask(item) and not item.shape and not getattr(item, "level", 0):
        return _truth(item)
    wrapped = getattr(item, "level", 0) > 0  # a transform's scalar need not be one number
    return item if item.shape or kind(item) == "b" or wrapped else _known(item)


def _listed(input: Any, items: Sequence[Any]) -> Any:
    try:
        found = np.asarray([_known(i) if _is_value(i) else i for i in items])
    except ValueError:
        raise bad_index(f"the list {items!r:.60} is ragged", "make its rows equally long") from None
    if not found.size:
        found = found.astype(np.int64)
    if found.dtype.kind not in "biu":
        raise bad_index(f"a list used as index must hold ints or bools, not {found.dtype}")
    dtype = bool_ if found.dtype.kind == "b" else int64
    return tensor(found, dtype=dtype, device=_device(input))


def _device(value: Any) -> str:
    return value.device if isinstance(value.device, str) else "cpu"


def _known(value: Any) -> int:
    """A scalar index as a number; where there is no data (device meta) any place shows as much."""
    if getattr(value, "device", None) == "meta":
        return 0
    return int(getattr(value, "array", value))


def _truth(value: Any) -> bool:
    """A scalar of a mask as the bool that it is, which decides the result's shape."""
    if getattr(value, "device", None) == "meta":
        raise error("data_dependent_shape", "index: the result's shape depends on a bool's value")
    return bool(getattr(value, "array", value))


def _axes_of(item: Any) -> int:
    """How many axes of the tensor an entry takes up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if _is_value(item) and _mask(item):
        return len(item.shape)
    return 1


def _mask(item: Any) -> bool:
    dtype = np.dtype(getattr(item.dtype, "numpy", item.dtype))
    return dtype.kind == "b" or dtype == np.uint8


def _spelled_out(items: list[Any], input: Any) -> list[Any]:
    """The first Ellipsis as the slices it stands for; any more stand for nothing."""
    taken, ndim = sum(map(_axes_of, items)), len(input.shape)
    if taken > ndim:
        raise bad_index(
            f"too many indices for a tensor with {ndim} axes: {taken}",
            "index at most each of its axes once" if ndim else "item() gives its number",
        )
    if not any(item is Ellipsis for item in items):
        return items
    place = next(i for i, item in enumerate(items) if item is Ellipsis)
    rest = [item for item in items[place + 1 :] if item is not Ellipsis]
    return [*items[:place], *[slice(None)] * (ndim - taken), *rest]


def _integers(item: Any, shape: tuple[int, ...], dim: int) -> tuple[Any, ...]:
    """A tensor entry as tensors of ints, one for each axis it takes up: a mask's true places."""
    if not _mask(item):
        return (item,)
    for i, size in enumerate(item.shape):
        if size != shape[dim + i]:
            raise bad_index(
                f"the mask has shape {list(item.shape)}, the tensor {list(shape)}; "
                f"at axis {dim + i} they differ",
                "a mask must have the sizes of the axes that it stands for",
            )
    return tuple(nonzero(item, True))
