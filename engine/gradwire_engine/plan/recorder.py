"""What a recording writes down: steps on numbered values, each step once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gradwire_engine.arrays import phantom, phantom_like
from gradwire_engine.plan.code import CONTRACT, FOLD, JOIN, MAP, PRODUCT, VIEW, Step
from gradwire_engine.plan.functions import contracted, copied, joined


class UnrecordableError(Exception):
    """A kernel that can't be taken apart."""


class Recorder:
    """Steps written down so far. The same step on the same operands is written down once.

    line: the place of the graph's line that is written down now.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.phantoms: dict[int, Any] = {}
        self.constants: dict[int, Any] = {}
        self._known: dict[Hashable, tuple[int, ...]] = {}
        self._learnt: list[Hashable] = []
        self._count = 0
        self.line = -1

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
            number = self.value(phantom_like(value) if array else value)
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
            made_here = Step(kind, run, tuple(operands), found, given, key or run, self.line)
            self.steps.append(made_here)
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

    def map(self, run: Callable[..., Any], numbers: Sequence[int]) -> int:
        """A function of elements: its result's shape and dtype are found on single elements."""
        singles = [
            np.ones(1, self.phantoms[n].dtype) if n in self.phantoms else self.constants[n]
            for n in numbers
        ]
        with np.errstate(all="ignore"):
            dtype = np.asarray(run(*singles)).dtype
        shapes = [self.phantoms[n].shape for n in numbers if n in self.phantoms]
        return self.step(MAP, run, numbers, [phantom(np.broadcast_shapes(*shapes), dtype)])[0]

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
        if not viewable(laid_out, shape):
            number = self.copy(number, laid_out.dtype)
        return self.view(lambda a: a.reshape(shape), number, ("reshape", shape))

    def fold(self, ufunc: Any, number: int, gone: tuple[int, ...], keepdims: bool) -> int:
        """A ufunc's reduction over some axes."""
        laid_out = self.phantoms[number]
        if not laid_out.size:
            raise UnrecordableError("a fold of nothing")
        made = ufunc.reduce(np.ones(1, laid_out.dtype), keepdims=True).dtype
        kept = [(1 if i in gone else n, i in gone) for i, n in enumerate(laid_out.shape)]
        shape = tuple(n for n, folded in kept if keepdims or not folded)
        operands, options = (self.cast(number, made),), {"axis": gone, "keepdims": keepdims}
        return self.step(FOLD, ufunc, operands, [phantom(shape, made)], **options)[0]

    def contract(self, numbers: Sequence[int], gone: tuple[int, ...]) -> int:
        """The sum over some axes of the product of values in one shape."""
        laid_out = self.phantoms[numbers[0]]
        alike = {(self.phantoms[n].shape, self.phantoms[n].dtype) for n in numbers}
        if not laid_out.size or len(alike) != 1:
            raise UnrecordableError("a contraction of another kind")
        shape = tuple(n for i, n in enumerate(laid_out.shape) if i not in gone)
        options = {"axis": gone, "keepdims": False}
        made = [phantom(shape, laid_out.dtype)]
        return self.step(CONTRACT, contracted, numbers, made, **options)[0]

    def join(self, numbers: Sequence[int], axis: int) -> int:
        """Values of one dtype, one behind the other along an axis."""
        arrays = [self.phantoms[n] for n in numbers]
        if len({a.dtype for a in arrays}) != 1:
            raise UnrecordableError("a cast in joining")
        axis %= arrays[0].ndim
        shape = list(arrays[0].shape)
        shape[axis] = sum(a.shape[axis] for a in arrays)
        made = [phantom(tuple(shape), arrays[0].dtype)]
        return self.step(JOIN, joined, numbers, made, axis=axis)[0]

    def product(self, numbers: Sequence[int]) -> int:
        """A matrix product."""
        one, two = (self.phantoms[n] for n in numbers)
        if one.dtype != two.dtype or one.dtype.kind not in "fc":
            raise UnrecordableError("a product of these dtypes")
        lead = np.broadcast_shapes(one.shape[:-2], two.shape[:-2])
        shape = (*lead, *one.shape[-2:-1], *(two.shape[-1:] if two.ndim > 1 else ()))
        return self.step(PRODUCT, np.matmul, numbers, [phantom(shape, one.dtype)])[0]


def viewable(laid_out: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array can be seen in another shape."""
    try:
        laid_out.reshape(shape, copy=False)
    except ValueError:
        return False
    return True
