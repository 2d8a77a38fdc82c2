"""Kernels taken apart: run once on stand-ins, a kernel shows which functions of NumPy it calls.

A `Probe` stands for an array. Functions called on it (NumPy hands them over, by its protocols) are
written down as steps, and give probes. Where a kernel writes into an array of its own, what it
wrote is a new value. A kernel that does anything else (looks at elements, writes into parts) can't
be taken apart, and stays one step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradwire_engine.arrays import Backend, backend, offer_unlisted, phantom
from gradwire_engine.kernels.select import BITS, SMALL
from gradwire_engine.plan.code import CONTRACT, FOLD, MAP, PRODUCT, VIEW, Step

RECORDING = "recording"
"""The device of probes; no request can name it."""


class UnrecordableError(Exception):
    """A kernel that can't be taken apart."""


NUMBERS = (bool, int, float, complex)


class Recorder:
    """Steps written down so far. The same step on the same operands is written down once."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.phantoms: dict[int, Any] = {}
        self.constants: dict[int, Any] = {}
        self._known: dict[Hashable, tuple[int, ...]] = {}
        self._learnt: list[Hashable] = []
        self._count = 0

    def value(self, laid_out: Any) -> int:
        """A new value that lies in memory as this phantom does."""
        self._count += 1
        self.phantoms[self._count - 1] = laid_out
        return self._count - 1

    def constant(self, value: Any) -> int:
        """A known value; the same number, or the same array, is entered once."""
        array = isinstance(value, np.ndarray)
        key = ("array", id(value)) if array else ("number", type(value), repr(value))
        found = self._known.get(key)
        if found is None:
            number = self.value(phantom(value.shape, value.dtype) if array else value)
            if not array:
                del self.phantoms[number]
            self.constants[number] = value
            found = self._learn(key, (number,))
        return found[0]

    def step(
        self,
        kind: str,
        run: Callable[..., Any],
        operands: Sequence[int],
        made: Sequence[Any],
        key: Hashable = None,
        **options: Any,
    ) -> tuple[int, ...]:
        """Write a step down, with the phantoms of what it makes; the numbers of its results."""
        given = tuple(options.items())
        what = (kind, key or run, tuple(operands), given, tuple(p.dtype for p in made))
        found = self._known.get(what)
        if found is None:
            found = self._learn(what, tuple(map(self.value, made)))
            self.steps.append(Step(kind, run, tuple(operands), found, given, key or run))
        return found

    def _learn(self, key: Hashable, numbers: tuple[int, ...]) -> tuple[int, ...]:
        self._known[key] = numbers
        self._learnt.append(key)
        return numbers

    def mark(self) -> tuple[int, int]:
        """How much is written down."""
        return len(self.steps), len(self._learnt)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Forget what was written down since."""
        del self.steps[mark[0] :]
        for key in self._learnt[mark[1] :]:
            del self._known[key]
        del self._learnt[mark[1] :]

    def read(self, value: Any) -> int:
        """The number of an operand: of what a probe shows now, of an array, of a number."""
        if type(value) is Probe:
            return value.read()
        if isinstance(value, (*NUMBERS, np.ndarray, np.generic)):
            return self.constant(value)
        raise UnrecordableError(f"a {type(value).__name__} as an operand")

    def probe(self, number: int, frozen: bool = False) -> Probe:
        """A stand-in for a value. frozen: nobody may write into it."""
        laid_out = self.phantoms[number]
        return Probe(self, Cell(number, laid_out.dtype, frozen), laid_out.shape)

    def map(self, run: Callable[..., Any], operands: Sequence[Any]) -> int:
        """A function of elements: its result's shape and dtype are found on single elements."""
        numbers = [self.read(x) for x in operands]
        dtype = _result_dtype(run, [self._single(n) for n in numbers])
        shapes = [self.phantoms[n].shape for n in numbers if n in self.phantoms]
        return self.step(MAP, run, numbers, [phantom(np.broadcast_shapes(*shapes), dtype)])[0]

    def _single(self, number: int) -> Any:
        """One element like those of a value, to try a function on."""
        found = self.phantoms.get(number)
        return self.constants[number] if found is None else np.ones(1, found.dtype)

    def view(self, run: Callable[[Any], Any], number: int, key: Hashable) -> int:
        """A view of a value."""
        seen = run(self.phantoms[number])
        return self.step(VIEW, run, (number,), [seen], key)[0]

    def cast(self, number: int, dtype: np.dtype) -> int:
        """The value in another dtype."""
        if self.phantoms[number].dtype == dtype:
            return number
        return self.copy(number, dtype)

    def copy(self, number: int, dtype: np.dtype) -> int:
        """A row-major copy."""
        made = phantom(self.phantoms[number].shape, dtype)
        return self.step(MAP, copied, (number,), [made], (copied, dtype))[0]

    def reshaped(self, number: int, shape: tuple[int, ...]) -> int:
        """The value in another shape; copied first where that can't be seen by strides."""
        laid_out = self.phantoms[number]
        if laid_out.shape == shape:
            return number
        if not _viewable(laid_out, shape):
            number = self.copy(number, laid_out.dtype)
        return self.view(lambda a: a.reshape(shape), number, ("reshape", shape))


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
        if found.shape == self.shape or not _viewable(found, self.shape):
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
            made = self.recorder.probe(fold(self.recorder, ufunc, *inputs, **kwargs))
        else:
            raise UnrecordableError(f"{ufunc.__name__}.{method}")
        if out is None:
            return made
        if type(made) is not Probe or type(out[0]) is not Probe or len(out) != 1:
            raise UnrecordableError("a result among arrays")
        return out[0].write(made.read())

    def _called(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        recorder = self.recorder
        if ufunc is np.matmul:
            return recorder.probe(_product(recorder, *inputs))
        if ufunc.nout != 1 or ufunc.signature is not None:
            raise UnrecordableError(ufunc.__name__)
        return recorder.probe(recorder.map(ufunc, inputs))

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
        number = recorder.read(value)
        if number not in recorder.phantoms:
            number = recorder.constant(np.asarray(value, self.dtype))
        self.write(number)

    def seen(self, run: Callable[[Any], Any], key: Hashable) -> Probe:
        """A view that is not the whole in row-major order: neither may be written to any more."""
        self.cell.frozen = True
        return self.recorder.probe(self.recorder.view(run, self.read(), key), frozen=True)

    def reshape(self, *shape: Any) -> Probe:
        """The same array in another shape."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        size = tuple(int(n) for n in wanted)
        if -1 in size:
            rest = int(np.prod([n for n in size if n != -1], dtype=np.int64))
            size = tuple(self.size // max(rest, 1) if n == -1 else n for n in size)
        if int(np.prod(size, dtype=np.int64)) != self.size:
            raise UnrecordableError("a shape of another size")
        if self.cell.number is not None and not _viewable(self.laid_out, size):
            return self.recorder.probe(self.recorder.reshaped(self.read(), size))
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

    def astype(self, dtype: Any, copy: bool = True) -> Probe:
        """In another dtype, as a value of its own."""
        return self.recorder.probe(self.recorder.cast(self.read(), np.dtype(dtype)))

    def copy(self, order: str = "C") -> Probe:
        """A value of its own; the same number will do, since nobody writes into a value."""
        number = self.read()
        if not self.recorder.phantoms[number].flags.c_contiguous:
            number = self.recorder.copy(number, self.dtype)
        return self.recorder.probe(number)

    def conj(self) -> Probe:
        """The conjugate; itself where real."""
        if self.dtype.kind != "c":
            return self.copy()
        return self.recorder.probe(self.recorder.map(np.conjugate, (self,)))

    conjugate = conj

    @property
    def real(self) -> Probe:
        """Itself where real."""
        if self.dtype.kind == "c":
            raise UnrecordableError("parts of complex numbers")
        return self

    def view(self, dtype: Any) -> Probe:
        raise UnrecordableError("bits of elements")

    def sum(self, axis: Any = None, keepdims: bool = False, **rest: Any) -> Probe:
        """The sum over some axes."""
        return self.recorder.probe(
            fold(self.recorder, np.add, self, axis=axis, keepdims=keepdims, **rest)
        )

    def max(self, axis: Any = None, keepdims: bool = False) -> Probe:
        """The largest along some axes."""
        return _folded(np.maximum)(self.recorder, self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Probe:
        """The least along some axes."""
        return _folded(np.minimum)(self.recorder, self, axis, keepdims)


def copied(x: Any, out: Any = None) -> Any:
    """A row-major copy, in out's dtype: a function of elements like a ufunc."""
    np.copyto(out, x, casting="unsafe")
    return out


def select(mask: Any, a: Any, b: Any, out: Any = None) -> Any:
    """`a` where the mask is True, else `b`: where as a function of elements that takes out."""
    if out is None:
        return np.where(mask, a, b)
    if out.size < SMALL or not _blended(mask, a, b, out):
        np.copyto(out, b)
        np.copyto(out, a, where=mask)
    return out


def _blended(mask: Any, a: Any, b: Any, out: Any) -> bool:
    """Do it by the elements' bits, which waits for no guesses; False if they are too long."""
    integers = BITS.get(out.itemsize)
    if integers is None or out.dtype.kind == "c":
        return False
    one, other = (np.asarray(x, out.dtype).view(integers) for x in (a, b))
    kept = mask.view(np.int8).astype(integers)
    bits = out.view(integers)
    if not one.ndim and not one:
        np.subtract(kept, 1, out=kept)  # all bits where the mask is False
        np.bitwise_and(other, kept, out=bits)
        return True
    np.negative(kept, out=kept)  # all bits where the mask is True
    chosen = np.bitwise_xor(one, other)
    chosen &= kept
    np.bitwise_xor(chosen, other, out=bits)
    return True


def _viewable(laid_out: Any, shape: tuple[int, ...]) -> bool:
    try:
        laid_out.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


def _result_dtype(run: Callable[..., Any], singles: list[Any]) -> np.dtype:
    with np.errstate(all="ignore"):
        found = run(*singles)
    return np.asarray(found).dtype


def fold(
    recorder: Recorder,
    ufunc: Any,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    **rest: Any,
) -> int:
    """A ufunc's reduction over some axes."""
    if rest or type(x) is not Probe:
        raise UnrecordableError("a fold with more to it")
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = tuple(sorted(a % x.ndim for a in axes)) if x.ndim else ()
    number = x.read()
    if dtype is not None:
        number = recorder.cast(number, np.dtype(dtype))
    kept = tuple(1 if i in gone else n for i, n in enumerate(x.shape))
    shape = kept if keepdims else tuple(n for i, n in enumerate(x.shape) if i not in gone)
    made = ufunc.reduce(np.ones(1, recorder.phantoms[number].dtype), keepdims=True).dtype
    number = recorder.cast(number, made)
    if not x.size:
        raise UnrecordableError("a fold of nothing")
    return recorder.step(
        FOLD, ufunc, (number,), [phantom(shape, made)], axis=gone, keepdims=bool(keepdims)
    )[0]


def _product(recorder: Recorder, a: Any, b: Any) -> int:
    numbers = recorder.read(a), recorder.read(b)
    one, two = (recorder.phantoms[n] for n in numbers)
    if one.dtype != two.dtype or one.dtype.kind not in "fc":
        raise UnrecordableError("a product of these dtypes")
    lead = np.broadcast_shapes(one.shape[:-2], two.shape[:-2])
    shape = (*lead, *one.shape[-2:-1], *(two.shape[-1:] if two.ndim > 1 else ()))
    return recorder.step(PRODUCT, np.matmul, numbers, [phantom(shape, one.dtype)])[0]


def _where(recorder: Recorder, mask: Any, a: Any, b: Any) -> Probe:
    return recorder.probe(recorder.map(select, (mask, a, b)))


def _einsum(recorder: Recorder, subscripts: str, *operands: Any) -> Probe:
    """A product of operands in the same shape, summed over its last axes or its first."""
    inputs, result = subscripts.split("->")
    first, *others = inputs.split(",")
    shapes = {x.shape for x in operands}
    rest = first.replace("...", "")
    if any(other != first for other in others) or len(shapes) != 1 or len(set(rest)) != len(rest):
        raise UnrecordableError("a contraction of another kind")
    ndim = len(operands[0].shape)
    letters = "." * (ndim - len(rest)) + rest if first.startswith("...") else first
    kept = result.replace("...", "")
    if ("..." in result and not result.startswith("...")) or [c for c in rest if c in kept] != [
        *kept
    ]:
        raise UnrecordableError("a contraction of another kind")
    gone = tuple(i for i, c in enumerate(letters) if c not in kept and c != ".")
    numbers = [recorder.read(x) for x in operands]
    laid_out = recorder.phantoms[numbers[0]]
    shape = tuple(n for i, n in enumerate(laid_out.shape) if i not in gone)
    if not laid_out.size or len({recorder.phantoms[n].dtype for n in numbers}) != 1:
        raise UnrecordableError("a contraction of another kind")
    made = phantom(shape, laid_out.dtype)
    return recorder.probe(
        recorder.step(CONTRACT, contracted, numbers, [made], axis=gone, keepdims=False)[0]
    )


def contracted(
    *operands: Any, axis: tuple[int, ...], keepdims: bool = False, out: Any = None
) -> Any:
    """The sum over some axes of the product of operands in one shape."""
    ndim = operands[0].ndim
    letters = "abcdefghijklmnopqrstuvwxyz"[:ndim]
    kept = "".join(c for i, c in enumerate(letters) if i not in axis)
    into = (
        None
        if out is None
        else out.reshape([n for i, n in enumerate(operands[0].shape) if i not in axis])
        if keepdims
        else out
    )
    found = np.einsum(",".join([letters] * len(operands)) + "->" + kept, *operands, out=into)
    if out is not None:
        return out
    shape = [1 if i in axis else n for i, n in enumerate(operands[0].shape)]
    return found.reshape(shape) if keepdims else found


def _folded(ufunc: Any) -> Callable[..., Probe]:
    def run(recorder: Recorder, x: Any, axis: Any = None, keepdims: bool = False) -> Probe:
        return recorder.probe(fold(recorder, ufunc, x, axis=axis, keepdims=keepdims))

    return run


def _moved(recorder: Recorder, x: Probe, source: int, destination: int) -> Probe:
    order = [i for i in range(x.ndim) if i != source % x.ndim]
    order.insert(destination % x.ndim, source % x.ndim)
    return x.transpose(order)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.einsum: _einsum,
    np.sum: _folded(np.add),
    np.max: _folded(np.maximum),
    np.amax: _folded(np.maximum),
    np.min: _folded(np.minimum),
    np.amin: _folded(np.minimum),
    np.prod: _folded(np.multiply),
    np.any: _folded(np.logical_or),
    np.all: _folded(np.logical_and),
    np.copy: lambda recorder, x, order="K": x.copy(),
    np.moveaxis: _moved,
    np.swapaxes: lambda recorder, x, a, b: x.swapaxes(a, b),
    np.transpose: lambda recorder, x, axes=None: x.transpose(*(() if axes is None else (axes,))),
    np.reshape: lambda recorder, x, shape: x.reshape(shape),
    np.expand_dims: lambda recorder, x, axis: x.reshape(np.expand_dims(x.laid_out, axis).shape),
    np.atleast_1d: lambda recorder, x: x if x.ndim else x.reshape(1),
    np.broadcast_to: lambda recorder, x, shape: x.seen(
        lambda a: np.broadcast_to(a, shape), ("broadcast", tuple(shape))
    ),
    np.empty_like: lambda recorder, x: Probe(recorder, Cell(None, x.dtype), x.shape),
}
"""What is understood of NumPy's functions that are no ufuncs."""


class _Library:
    """The array library of the recording device: NumPy's, where new arrays are probes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(backend("cpu").xp, name)

    def empty(self, shape: Any, dtype: Any = float) -> Probe:
        """An array that is written to before it is read."""
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        return Probe(_running.recorder, Cell(None, np.dtype(dtype)), size)

    def asarray(self, x: Any) -> Any:
        """Itself, where it is a probe."""
        return x if type(x) is Probe else np.asarray(x)

    def array(self, x: Any, order: str = "K") -> Any:
        """A copy."""
        return x.copy() if type(x) is Probe else np.array(x, order=order)  # type: ignore[call-overload]

    def ascontiguousarray(self, x: Any) -> Any:
        """Row-major."""
        return x.copy() if type(x) is Probe else np.ascontiguousarray(x)


class _Running(threading.local):
    recorder: Recorder


_running = _Running()


def record(recorder: Recorder, run: Callable[..., Any], operands: Sequence[Any]) -> tuple[int, ...]:
    """Take a bound kernel apart; the numbers of its results. Raises whatever stands in the way."""
    _running.recorder = recorder
    mark = recorder.mark()
    try:
        found = run(*operands)
        several = found if isinstance(found, tuple) else (found,)
        if not all(type(x) is Probe for x in several):
            raise UnrecordableError("a result that is no probe")
        return tuple([x.read() for x in several])
    except BaseException:
        recorder.back_to(mark)
        raise


def _no_elements(array: Any) -> Any:
    raise UnrecordableError("a probe has no elements")


offer_unlisted(RECORDING, Backend(RECORDING, _Library(), (), _no_elements, _no_elements))
