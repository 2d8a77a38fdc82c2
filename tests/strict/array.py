"""The device array: a NumPy array behind glass, with the methods that cupy.ndarray has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from tests.strict import indexing
from tests.strict.host import Host, checked_dtype, register_class, to_device
from tests.strict.methods import FORWARDED, OPERATORS


class Memory(NamedTuple):
    """Where an array lies on the device."""

    ptr: int


@register_class
class Array:
    """An array on the pretended device. `host` is its memory: for this package and asserts only."""

    __slots__ = ("host",)
    __array_ufunc__ = None  # NumPy's operators give way to ours, its functions raise
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: Host) -> None:
        if not isinstance(host, np.ndarray):
            raise TypeError(f"Array holds a host array, not {type(host).__name__}")
        checked_dtype(host.dtype)
        self.host = host

    def __array__(self, dtype: Any = None, copy: Any = None) -> Host:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented

    def __getattr__(self, name: str) -> Any:
        if name in FORWARDED:
            return FORWARDED[name].bound(self)
        raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")

    shape = property(lambda self: self.host.shape)
    dtype = property(lambda self: self.host.dtype)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)
    nbytes = property(lambda self: self.host.nbytes)
    itemsize = property(lambda self: self.host.itemsize)
    strides = property(lambda self: self.host.strides)
    flags = property(lambda self: self.host.flags)
    T = property(lambda self: to_device(self.host.T))
    mT = property(lambda self: to_device(self.host.mT))
    data = property(lambda self: Memory(self.host.__array_interface__["data"][0]))

    @property
    def base(self) -> Array | None:
        """The array this one is a view of."""
        return None if self.host.base is None else Array(np.asarray(self.host.base))

    @property
    def real(self) -> Array:
        """The real part, a view."""
        return Array(self.host.real)

    @real.setter
    def real(self, value: Any) -> None:
        indexing.setitem(self.host.real, ..., value)

    @property
    def imag(self) -> Array:
        """The imaginary part, a view; of a real array zeros."""
        return Array(self.host.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        indexing.setitem(self.host.imag, ..., value)

    def get(self) -> Host:
        """A copy on the host."""
        return self.host.copy()

    def set(self, arr: Host) -> None:
        """Copy a host array of this shape and dtype to here."""
        if not isinstance(arr, np.ndarray) or arr.dtype != self.dtype or arr.shape != self.shape:
            raise TypeError("set takes a NumPy array of the same shape and dtype")
        self.host[...] = arr

    def item(self) -> Any:
        """The only element as a Python number. Takes no index, unlike NumPy's."""
        return self.host.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.host.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements' bytes."""
        return self.host.tobytes(order)

    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        casting: Any = None,
        subok: Any = None,
        copy: bool = True,
    ) -> Array:
        """The array in another dtype. `casting` and `subok` aren't supported, as in CuPy."""
        if casting is not None or subok is not None:
            raise TypeError("casting and subok are not supported yet")
        with np.errstate(all="ignore"):
            host = self.host
            if np.dtype(dtype) == np.uint8 and host.dtype.kind in "fV":  # -1.0 is 0 on a GPU
                host = np.maximum(host, host.dtype.type(0))
            found = host.astype(checked_dtype(dtype), order=order, copy=copy)
        return self if found is self.host else Array(found)

    def view(self, dtype: Any = None) -> Array:
        """The same memory, as another dtype where one is given."""
        return Array(self.host.view() if dtype is None else self.host.view(checked_dtype(dtype)))

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Array:
        """A view where the strides allow one."""
        return Array(self.host.reshape(*shape, order=order, copy=copy))

    def transpose(self, *axes: Any) -> Array:
        """A view with the axes in another order."""
        return Array(self.host.transpose(*axes))

    def copy(self, order: Any = "C") -> Array:
        """A copy on the device."""
        return Array(self.host.copy(order))

    def flatten(self, order: Any = "C") -> Array:
        """A flat copy."""
        return Array(self.host.flatten(order))

    def fill(self, value: Any) -> None:
        """Set every element to a scalar."""
        indexing.setitem(self.host, ..., value)

    def sort(self, axis: int = -1, kind: str | None = None) -> None:
        """Sort in place; only a contiguous array, as in CuPy."""
        if not self.host.flags.c_contiguous:
            raise NotImplementedError("Sorting non-contiguous array is not supported.")
        self.host[...] = FORWARDED["sort"].bound(self)(axis, kind).host

    def dot(self, b: Any, out: Any = None) -> Any:
        """The matrix product of the last axis of this and the next-to-last of `b`."""
        return FORWARDED["dot"].bound(self)(b, out)

    def __getitem__(self, index: Any) -> Any:
        return indexing.getitem(self.host, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        indexing.setitem(self.host, index, value)

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __bool__(self) -> bool:
        return bool(self.host)

    def __int__(self) -> int:
        return int(self.host)

    def __float__(self) -> float:
        return float(self.host)

    def __complex__(self) -> complex:
        return complex(self.host)

    def __repr__(self) -> str:
        return repr(self.host)

    def __format__(self, spec: str) -> str:
        return format(self.host, spec)

    def __copy__(self) -> Array:
        return Array(self.host.copy())

    def __deepcopy__(self, memo: Any) -> Array:
        return Array(self.host.copy())


for _name, _operator in OPERATORS.items():
    setattr(Array, _name, _operator)
