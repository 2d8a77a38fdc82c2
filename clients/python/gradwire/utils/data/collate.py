"""A batch of samples: tensors stacked, numbers as tensors, whatever holds them rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradwire.creation import as_tensor, tensor
from gradwire.functions import catalogued
from gradwire.tensor import Tensor
from gradwire_engine.spec import float64


def default_collate(batch: Sequence[Any]) -> Any:
    """One tensor of the tensors, arrays or numbers of all samples, in what held those.

    Strings and bytes stay in a list. Samples that differ in length or in kind are refused.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return catalogued("stack")(list(batch))
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUOMm":
            raise _unknown(first.dtype)
        return as_tensor(np.stack(batch))
    if isinstance(first, np.generic):
        return as_tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return _like(first, {key: default_collate([each[key] for each in batch]) for key in first})
    if isinstance(first, Sequence):
        return _sequences(batch, first)
    raise _unknown(type(first))


def _unknown(found: Any) -> TypeError:
    return TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {found}"
    )


def _like(sample: Any, found: Any) -> Any:
    """What was found in a mapping or sequence of the sample's type, where one can be made."""
    try:
        return type(sample)(found)
    except TypeError:
        return found


def _sequences(batch: Sequence[Any], first: Any) -> Any:
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    found = [default_collate(parts) for parts in zip(*batch, strict=True)]
    if hasattr(first, "_fields"):
        return type(first)(*found)
    return found if isinstance(first, tuple) else _like(first, found)


def default_convert(data: Any) -> Any:
    """Arrays as tensors, in what holds them; what a loader without batches does to a sample."""
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence):
        found = [default_convert(each) for each in data]
        return type(data)(*found) if hasattr(data, "_fields") else found
    return data


__all__ = ["default_collate", "default_convert"]
