"""A graph as a list of calls, worked out beforehand: nothing is left per op but the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.call import Call
from gradwire_engine.plan.graph import Graph

Step = tuple[Callable[..., Any], tuple[int, ...], int | slice]
"""A kernel with casts and finishing, where its operands stand, and where its results go."""


class Plan:
    """A graph made ready to run on NumPy arrays of the specs it was traced for.

    nbytes: what a run allocates, all values together. Any number of threads may run it at a time.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nbytes = graph.nbytes
        self._numbers = _renumbered(graph)
        self._calls = [line.call("cpu") for line in graph.lines]
        self._values = self._template()
        self._inputs = len(graph.inputs)
        self._outputs = tuple(self._numbers[n] for n in graph.outputs)
        self._steps = self._resolved()
        self._runs = 0

    def _template(self) -> list[Any]:
        """A place for each value, the inputs first; constants are in theirs already."""
        values: list[Any] = [None] * len(self._numbers)
        for number, value in self.graph.constants.items():
            values[self._numbers[number]] = value
        return values

    def _resolved(self) -> list[Step]:
        at = self._numbers
        return [
            (call.run, tuple(at[n] for n in line.operands), _target(call, line.results, at))
            for call, line in zip(self._calls, self.graph.lines, strict=True)
        ]

    def run(
        self, inputs: Sequence[Array], between: Callable[[], None] | None = None
    ) -> list[Array]:
        """The outputs, row-major; they may share memory with each other and with the inputs.

        between: called before each step, to end what takes too long. What a kernel raises comes out
        as it is, by NumPy's name: who needs a message runs the function itself.
        """
        values = self._values.copy()
        values[: self._inputs] = inputs
        for kernel, operands, result in self._steps:
            if between is not None:
                between()
            values[result] = kernel(*[values[n] for n in operands])
        if self._runs < 2:  # a kernel whose result needed no finishing is called directly from now
            self._runs += 1
            self._steps = self._resolved()
        return [_row_major(values[n]) for n in self._outputs]


def _renumbered(graph: Graph) -> dict[int, int]:
    """Places without gaps: inputs, constants, results in order."""
    numbers = [*graph.inputs, *graph.constants]
    numbers += [n for line in graph.lines for n in line.results]
    return {number: place for place, number in enumerate(numbers)}


def _target(call: Call, results: tuple[int, ...], numbers: dict[int, int]) -> int | slice:
    first = numbers[results[0]] if results else 0
    return first if call.single else slice(first, first + len(results))


def _row_major(array: Array) -> Array:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)
