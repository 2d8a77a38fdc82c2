"""The loops that NumPy's ufuncs are made of, to be called from compiled code.

They are part of NumPy's C interface: a ufunc is a structure with a table of functions, one for each
list of dtypes (`PyUFuncObject`, `PyUFuncGenericFunction` in NumPy's "Array API and ufunc API").
Those of numbers need no lock of Python's.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np


class InnerLoop(NamedTuple):
    """Addresses: of the function, and of what it is handed along."""

    function: int
    data: int


class _Ufunc(ctypes.Structure):
    """The beginning of `PyUFuncObject`."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


@cache
def inner_loop(ufunc: Any, types: str) -> InnerLoop | None:
    """A ufunc's loop for these dtypes, as in its `types` ("ff->f"); None if there is none."""
    if types not in ufunc.types or set(types) - set("fd?->"):
        return None
    found = _Ufunc.from_address(id(ufunc))
    if not _as_expected(found, ufunc):
        return None
    index = ufunc.types.index(types)
    address = found.functions[index]
    return InnerLoop(address, found.data[index] or 0) if address else None


def _as_expected(found: _Ufunc, ufunc: Any) -> bool:
    """Whether what lies there is what Python says of it: else this NumPy has another structure."""
    sizes = (found.nin, found.nout, found.nargs, found.ntypes)
    if sizes != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        return False
    if found.name != ufunc.__name__.encode():
        return False
    letters = "".join(kind.replace("->", "") for kind in ufunc.types)
    said: list[bytes] = [np.dtype(c).char.encode() for c in letters]
    numbers = [np.dtype(c).num for c in letters]
    return [found.types[i] for i in range(len(said))] == [bytes([n]) for n in numbers]
