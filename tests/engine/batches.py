"""A sample of an op made into a batch of them: what vmap must do as a loop does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from tests.engine.samples import Call
from tests.engine.trial import Host, in_one_phase, on, settled_in

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import using
from gradwire_engine.random import Generator
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.tensor import Tensor

SIZE = 3
"""Examples in a batch."""
MOST = 4
"""Subsets of operands tried, besides all of them."""


class Batch:
    """One sample of one op with all its arrays drawn out; `rows` has SIZE variants of each."""

    def __init__(self, name: str, call: Call) -> None:
        self.name, self.call = name, call
        self.arrays: list[Host] = []
        visit(call, self.arrays.append)
        self.rows = [variants(name, a) for a in self.arrays]
        for place in range(len(self.rows)):
            if not self._holds(place):
                self.rows[place] = np.stack([self.arrays[place]] * SIZE)

    def _holds(self, place: int) -> bool:
        """Whether the op takes the variants of this operand, one by one."""
        try:
            for row in self.rows[place]:
                arrays = [*self.arrays[:place], row, *self.arrays[place + 1 :]]
                self.run([on("cpu", a) for a in arrays])
        except GradwireError:
            return False
        return True

    def leaves(self, values: Sequence[Tensor]) -> list[Tensor]:
        """The operands by which the op has derivatives; they require grad from now on."""
        settled = settled_in(self.name, self.call)
        found = [
            value
            for value, array in zip(values, self.arrays, strict=True)
            if value.dtype.differentiable and not any(array is x for x in settled)
        ]
        for leaf in found:
            leaf.requires_grad_()
        return found

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The tensors that the op gives for these operands."""
        left = iter(values)
        args, kwargs = visit(self.call, lambda a: next(left))
        with using(generator=Generator(0)):
            return in_one_phase(self.name, values_in(CATALOGUE[self.name](*args, **kwargs)))

    def subsets(self) -> list[tuple[int, ...]]:
        """Which operands have a batch axis: all, and some others."""
        every = range(len(self.arrays))
        some = [c for n in range(1, len(self.arrays)) for c in combinations(every, n)]
        return [tuple(every), *some[:MOST]]

    def example(self, subset: Sequence[int], index: int) -> list[Tensor]:
        """One example's operands."""
        return [
            on("cpu", self.rows[i][index] if i in subset else a) for i, a in enumerate(self.arrays)
        ]

    def loop(self, subset: Sequence[int]) -> list[Host]:
        """What a loop over the examples gives, stacked."""
        each = [self.run(self.example(subset, k)) for k in range(SIZE)]
        return [np.stack([np.asarray(t.array) for t in column]) for column in zip(*each)]  # noqa: B905

    def operands(self, subset: Sequence[int], dim: Callable[[Host], int]) -> Any:
        """Operands with their batch axis where `dim` says, and the in_dims that say it."""
        values, dims = [], []
        for i, a in enumerate(self.arrays):
            place = dim(a) if i in subset else None
            held = a if place is None else np.moveaxis(self.rows[i], 0, place)
            values.append(on("cpu", held))
            dims.append(place)
        return values, tuple(dims)


def values_in(result: Any) -> list[Any]:
    """All tensors of a result, wrapped by a transform or not."""
    if type(result) in VALUE_TYPES:
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in values_in(item)]
    return []


def visit(call: Any, change: Callable[[Host], Any]) -> Any:
    """The same call with its arrays changed, in order."""
    if isinstance(call, np.ndarray):
        return change(call)
    if isinstance(call, dict):
        return {k: visit(v, change) for k, v in call.items()}
    if type(call) in (list, tuple):
        return type(call)(visit(v, change) for v in call)
    return call


def variants(name: str, array: Host) -> Host:
    """SIZE arrays of one shape like this one: scaled where it is of floats, else rotated."""
    if array.dtype.kind in "fc":
        return np.stack([array * factor for factor in (1, 0.9, 0.95)])
    turned = [np.roll(array.reshape(-1), k).reshape(array.shape) for k in range(SIZE)]
    return np.stack(turned)
