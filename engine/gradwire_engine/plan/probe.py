"""Probes: stand-ins for the arrays of a kernel, which write down what is called on them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partialmethod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradwire_engine.arrays import phantom
from gradwire_engine.plan.recorder import Recorder, UnrecordableError, viewable

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What is understood of NumPy's functions that are no ufuncs; understood.py fills it."""


class Cell:
    """An array that a kernel made: the number of what it holds now, None before the first write."""

    __slots__ = ("dtype", "frozen", "number")

    def __init__(self, number: int | None, dtype: np.dtype, frozen: bool = False) -> None:
        self.number, self.dtype, self.frozen = number, dtype, frozen


class _Flags:
    def __init__(self, contiguous: bool) -> None:
        self.c_contiguous, self.writeable = contiguous, True


class Probe(NDArrayOperatorsMixin):
    """Stands for an array, or for one seen in another shape: `shape` is how this one shows it."""

    __slots__ = ("cell", "recorder", "shape")

    def __init__(self, recorder: Recorder, cell: Cell, shape: tuple[int, ...]) -> None:
        self.recorder, self.cell, self.shape = recorder, cell, tuple(shape)

    @classmethod
    def of(cls, recorder: Recorder, number: int, frozen: bool = False) -> Probe:
        """A stand-in for a value. frozen: nobody may write into it."""
        laid_out = recorder.phantoms[number]
        return cls(recorder, Cell(number, laid_out.dtype, frozen), laid_out.shape)

    def read(self) -> int:
        """The number of what it shows now."""
        if self.cell.number is None:
            raise UnrecordableError("read before it was written")
        return self.recorder.reshaped(self.cell.number, self.shape)

    def write(self, number: int) -> Probe:
        """Have all of it show a value, in its own dtype."""
        recorder = self.recorder
        if self.cell.frozen:
            raise UnrecordableError("a write that others would see")
        number = recorder.cast(number, self.cell.dtype)
        shape = self.shape
        if recorder.phantoms[number].shape != shape:
            seen = recorder.view(lambda a: np.broadcast_to(a, shape), number, ("broadcast", shape))
            number = recorder.copy(seen, self.cell.dtype)
        self.cell.number = number
        return self

    @property
    def laid_out(self) -> Any:
        """The phantom of what it shows."""
        number = self.cell.number
        if number is None:
            return phantom(self.shape, self.cell.dtype)
        found = self.recorder.phantoms[number]
        if found.shape == self.shape or not viewable(found, self.shape):
            return found
        return found.reshape(self.shape)

    dtype = property(lambda self: self.cell.dtype)
    ndim = property(lambda self: len(self.shape))
    itemsize = property(lambda self: self.cell.dtype.itemsize)
    size = property(lambda self: int(np.prod(self.shape, dtype=np.int64)))
    nbytes = property(lambda self: self.size * self.itemsize)
    strides = property(lambda self: self.laid_out.strides)
    flags = property(lambda self: _Flags(self.laid_out.flags.c_contiguous))

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise UnrecordableError("elements are looked at")

    __array__ = __bool__ = __int__ = __index__ = __float__ = __complex__ = __iter__ = _refuse
    tolist = item = fill = sort = __len__ = __contains__ = _refuse

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if method == "__call__" and not kwargs:
            made = self._called(ufunc, inputs)
        elif method == "reduce":
            made = folded(ufunc, *inputs, **kwargs)
        else:
            raise UnrecordableError(f"{ufunc.__name__}.{method}")
        if out is None:
            return made
        if type(made) is not Probe or type(out[0]) is not Probe or len(out) != 1:
            raise UnrecordableError("a result among arrays")
        return out[0].write(made.read())

    def _called(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        recorder = self.recorder
        numbers = [number_of(recorder, x) for x in inputs]
        if ufunc is np.matmul:
            return Probe.of(recorder, recorder.product(numbers))
        if ufunc.nout != 1 or ufunc.signature is not None:
            raise UnrecordableError(ufunc.__name__)
        return Probe.of(recorder, recorder.map(ufunc, numbers))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = FUNCTIONS.get(function)
        if found is None:
            raise UnrecordableError(function.__name__)
        return found(self.recorder, *args, **kwargs)

    def __getitem__(self, index: Any) -> Probe:
        parts = index if type(index) is tuple else (index,)
        if not all(p is None or p is Ellipsis or isinstance(p, slice | int) for p in parts):
            raise UnrecordableError("an index of elements")
        seen = self.laid_out[index]
        if seen.size == self.size and all(
            p is None or p == slice(None) or p is Ellipsis for p in parts
        ):
            return self.reshape(seen.shape)
        return self.seen(lambda a: a[index], ("index", repr(index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        parts = index if type(index) is tuple else (index,)
        if not all(p is Ellipsis or p == slice(None) for p in parts):
            raise UnrecordableError("a write into a part")
        recorder = self.recorder
        number = number_of(recorder, value)
        if number not in recorder.phantoms:
            number = recorder.constant(np.asarray(value, self.dtype))
        self.write(number)

    def seen(self, run: Callable[[Any], Any], key: Hashable) -> Probe:
        """A view that is not the whole in row-major order: neither may be written to any more."""
        self.cell.frozen = True
        return Probe.of(self.recorder, self.recorder.view(run, self.read(), key), frozen=True)

    def reshape(self, *shape: Any) -> Probe:
        """The same array in another shape."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        size = tuple(int(n) for n in wanted)
        if -1 in size:
            rest = int(np.prod([n for n in size if n != -1], dtype=np.int64))
            size = tuple(self.size // max(rest, 1) if n == -1 else n for n in size)
        if int(np.prod(size, dtype=np.int64)) != self.size:
            raise UnrecordableError("a shape of another size")
        if self.cell.number is not None and not viewable(self.laid_out, size):
            return Probe.of(self.recorder, self.recorder.reshaped(self.read(), size))
        return Probe(self.recorder, self.cell, size)

    def ravel(self) -> Probe:
        """In one axis."""
        return self.reshape(self.size)

    def transpose(self, *axes: Any) -> Probe:
        """With axes in another order."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        given = tuple(order) if order else tuple(reversed(range(self.ndim)))
        return self.seen(lambda a: a.transpose(given), ("transpose", given))

    def swapaxes(self, a: int, b: int) -> Probe:
        """With two axes in each other's place."""
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.transpose(tuple(order))

    T = property(lambda self: self.transpose() if self.ndim > 1 else self)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> Probe:
        """In another dtype, as a value of its own."""
        if np.dtype(dtype) == self.dtype:
            return self.copy()
        return Probe.of(self.recorder, self.recorder.cast(self.read(), np.dtype(dtype)))

    def copy(self, order: str = "C") -> Probe:
        """A value of its own; the same number will do, since nobody writes into a value."""
        number = self.read()
        if not self.recorder.phantoms[number].flags.c_contiguous:
            number = self.recorder.copy(number, self.dtype)
        return Probe.of(self.recorder, number)

    def conj(self) -> Probe:
        """The conjugate; itself where real."""
        if self.dtype.kind != "c":
            return self.copy()
        return Probe.of(self.recorder, self.recorder.map(np.conjugate, [self.read()]))

    conjugate = conj

    @property
    def real(self) -> Probe:
        """Itself where real."""
        if self.dtype.kind == "c":
            raise UnrecordableError("parts of complex numbers")
        return self

    def view(self, dtype: Any) -> Probe:
        raise UnrecordableError("bits of elements")

    def _fold(self, ufunc: Any, axis: Any = None, keepdims: bool = False, **rest: Any) -> Probe:
        """Folded over some axes, all of them where none are named."""
        return folded(ufunc, self, axis=axis, keepdims=keepdims, **rest)

    sum = partialmethod(_fold, np.add)
    max = partialmethod(_fold, np.maximum)
    min = partialmethod(_fold, np.minimum)


def number_of(recorder: Recorder, value: Any) -> int:
    """The number of an operand: of what a probe shows now, of an array, of a number."""
    if type(value) is Probe:
        return value.read()
    if isinstance(value, (*_NUMBERS, np.ndarray, np.generic)):
        return recorder.constant(value)
    raise UnrecordableError(f"a {type(value).__name__} as an operand")


_NUMBERS = (bool, int, float, complex)


def folded(
    ufunc: Any, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, **rest: Any
) -> Probe:
    """A ufunc's reduction over some axes."""
    if rest or type(x) is not Probe:
        raise UnrecordableError("a fold with more to it")
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = tuple(sorted(a % x.ndim for a in axes)) if x.ndim else ()
    number = x.read()
    if dtype is not None:
        number = x.recorder.cast(number, np.dtype(dtype))
    return Probe.of(x.recorder, x.recorder.fold(ufunc, number, gone, bool(keepdims)))
