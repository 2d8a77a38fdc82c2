"""Arguments as the engine's rules see them, and as they travel."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np

from gradwire.size import device
from gradwire.tensor import Tensor
from gradwire_engine.errors import error
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import DTYPES, DType

_PYTHON_DTYPES = {
    bool: DTYPES["bool"],
    int: DTYPES["int64"],
    float: DTYPES["float64"],
    complex: DTYPES["complex128"],
}


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's, Python's types as dtypes; the rest as it is."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is type:
        return _PYTHON_DTYPES.get(value, value)
    if isinstance(value, list | tuple):
        kept = [plain(v) for v in value]
        return kept if isinstance(value, list) else tuple(kept)
    return value


def tensors_in(values: Any) -> Iterator[Tensor]:
    """The tensors among arguments, in lists and slices too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)


def mirrored(value: Any) -> Any:
    """What the engine's rules see of an argument: the tensor's mirror, or the value itself."""
    if isinstance(value, Tensor):
        meta = value._meta
        return meta if type(meta) in VALUE_TYPES else meta.spec  # a lost one says why here
    if type(value) is list:
        return [mirrored(v) for v in value]
    if isinstance(value, tuple):
        return tuple([mirrored(v) for v in value])
    if isinstance(value, device):
        return str(value)
    if isinstance(value, np.ndarray):
        raise error(
            "invalid_argument",
            f"a NumPy array of shape {list(value.shape)} stands where a tensor should",
            "make a tensor of it with torch.tensor",
            raised=TypeError,
        )
    return value


def wire(value: Any) -> Any:
    """How an argument travels: tensors and dtypes by name, numbers that JSON lacks as words."""
    kind = type(value)
    if kind is int or kind is bool or kind is str or value is None:
        return value
    if kind is float:
        if isfinite(value):
            return value
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Tensor):
        return value._name
    if isinstance(value, DType):
        return value.name
    if isinstance(value, list | tuple):
        return [wire(v) for v in value]
    if isinstance(value, complex):
        return {"complex": [wire(value.real), wire(value.imag)]}
    if isinstance(value, device):
        return str(value)
    raise error(
        "invalid_argument",
        f"{value!r:.80} is a {kind.__name__}, which no op takes",
        "give tensors, numbers, strings, dtypes or lists of them",
        raised=TypeError,
    )


def wire_index(index: Any) -> Any:
    """How what stands between brackets travels."""
    if isinstance(index, tuple):
        return {"index": [_wire_axis(item) for item in index]}
    return _wire_axis(index)


def _wire_axis(item: Any) -> Any:
    if item is Ellipsis:
        return "..."
    if isinstance(item, slice):
        return {"slice": [item.start, item.stop, item.step]}
    return wire(item)


__all__ = ["mirrored", "plain", "tensors_in", "wire", "wire_index"]
