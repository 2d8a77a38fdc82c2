"""What stands between brackets, brought to ints, slices, None, Ellipsis and tensors."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np

from gradwire.leaf import leaf
from gradwire.session import Session
from gradwire.tensor import Tensor
from gradwire.wire import plain
from gradwire_engine.errors import error


def prepared(session: Session, index: Any) -> Any:
    """An index without lists, arrays and NumPy's numbers."""
    if _is_plain(index):
        return index
    if isinstance(index, tuple) or _counts_as_tuple(index):
        return tuple(_axis(session, item) for item in index)
    return _axis(session, index)


_PLAIN = frozenset({int, type(None), type(Ellipsis)})


def _is_plain(index: Any) -> bool:
    """Whether it is what an op takes already: ints, None, Ellipsis, and slices by ints."""
    for item in index if type(index) is tuple else (index,):
        kind = type(item)
        if kind is slice:
            for bound in (item.start, item.stop, item.step):
                if bound is not None and type(bound) is not int:
                    return False
        elif kind not in _PLAIN:
            return False
    return True


def _counts_as_tuple(index: Any) -> bool:
    """A list with anything but numbers in it, as NumPy once had it and torch still has."""
    return isinstance(index, list) and any(
        item is None or item is Ellipsis or isinstance(item, slice | list | tuple | Tensor)
        for item in index
    )


def _axis(session: Session, item: Any) -> Any:
    if isinstance(item, slice):
        return slice(
            *(None if b is None else as_int(b) for b in (item.start, item.stop, item.step))
        )
    if isinstance(item, list | range | tuple | np.ndarray):
        return leaf(session, _integers(item))
    if isinstance(item, str | bytes):
        raise error(
            "invalid_argument",
            f"index: invalid data type '{type(item).__name__}'",
            "use ints, slices, None, Ellipsis, lists and tensors of ints or bools",
            raised=TypeError,
        )
    return plain(item)


def _integers(items: Any) -> np.ndarray:
    """Ints or bools, an empty list being ints."""
    try:
        found = np.asarray([int(i) if isinstance(i, Tensor) else i for i in items])
    except ValueError:
        found = np.asarray("ragged")
    if not found.size:
        found = found.astype(np.int64)
    if found.dtype.kind not in "biu":
        raise error(
            "invalid_argument",
            f"index: a list of {found.dtype} is no index",
            "use ints, bools, slices, None and Ellipsis",
            raised=IndexError,
        )
    return found if found.dtype.kind == "b" else found.astype(np.int64)


__all__ = ["prepared"]
