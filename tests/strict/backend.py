"""The stand-in as a device of the engine: `register("strict", make)` and it is there."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.strict.array import Array
from tests.strict.differing import errstate
from tests.strict.host import Host
from tests.strict.namespace import Namespace, xp

from gradwire_engine.arrays import Backend, Checked, register


def from_numpy(array: Host) -> Array:
    """A copy on the device."""
    return Array(np.array(array))


def to_numpy(array: Array) -> Host:
    """A copy on the host."""
    return array.get()


def strided(array: Array, shape: Any, strides: Any, offset: int = 0) -> Array:
    """A view by strides and an offset in bytes, counted from the array's first byte."""
    flat = np.ndarray((array.nbytes - offset,), np.uint8, array.host, offset)
    first = flat[: array.itemsize].view(array.dtype)
    return Array(np.lib.stride_tricks.as_strided(first, shape, strides))


def make() -> Backend:
    """The backend, for the engine's register of devices."""
    members = vars(xp) | {"linalg": Checked(xp.linalg, errstate)}
    found = Namespace(members.pop("__name__"), **members)
    return Backend("strict", found, (Array,), from_numpy, to_numpy)


register("strict", make)
