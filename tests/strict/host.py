"""The border between host and device: what may cross it, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from tests.strict.array import Array

Host = np.ndarray[Any, np.dtype[Any]]

SCALARS = (bool, int, float, complex, np.number, np.bool_, ml_dtypes.bfloat16)
DTYPES = frozenset(
    np.dtype(d) for d in (*"?bBhHiIlLqQefdFD", ml_dtypes.bfloat16)
)  # fmt: skip
HOST_ARRAY = "a host array came in: copy it to the device first, with from_numpy or xp.asarray"


def device_class() -> type[Array]:
    """The class of device arrays, looked up late: it is built from the functions that need it."""
    return _registered[0]


_registered: list[type[Array]] = []


def register_class(cls: type[Array]) -> type[Array]:
    """Make `cls` the class that results are wrapped in."""
    _registered.append(cls)
    return cls


def is_device(value: object) -> bool:
    return isinstance(value, device_class())


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype as NumPy's object; a ValueError where CuPy has no such dtype."""
    found: np.dtype[Any] = np.dtype(dtype)
    if found not in DTYPES:
        raise ValueError(f"Unsupported dtype {found}")
    return found


def to_device(value: Any) -> Any:
    """Wrap a result: arrays, scalars and numbers become arrays, in tuples and lists too."""
    if isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
        return device_class()(np.asarray(value))
    if isinstance(value, tuple):
        return tuple(to_device(v) for v in value)
    if isinstance(value, list):
        return [to_device(v) for v in value]
    return value


def to_host(value: Any) -> Any:
    """Unwrap an argument, in tuples, lists and slices too; a host array is a TypeError."""
    if is_device(value):
        return value.host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {np.ndarray}: {HOST_ARRAY}")
    if isinstance(value, tuple):
        return tuple(to_host(v) for v in value)
    if isinstance(value, list):
        return [to_host(v) for v in value]
    return value


def need_array(value: Any, where: str) -> Host:
    """The host copy of what has to be a device array; a TypeError naming the place otherwise."""
    if not is_device(value):
        hint = f": {HOST_ARRAY}" if isinstance(value, np.ndarray) else ""
        raise TypeError(f"{where} has to be a device array, not {type(value).__name__}{hint}")
    host: Host = value.host
    return host


def need_arrays(values: Sequence[Any], where: str) -> list[Host]:
    """The same for each of a sequence."""
    return [need_array(v, where) for v in values]
