"""A graph as steps of the array library: what is called on which values, kernels taken apart.

Where a line of a graph is an op, a step is one function of NumPy: a ufunc, a fold, a product, a
view; or a whole kernel that could not be taken apart. A value is known by its number; its phantom
says shape, dtype and how it lies in memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

MAP, FOLD, CONTRACT, PRODUCT = "map", "fold", "contract", "product"
JOIN, VIEW, CALL = "join", "view", "call"
"""Kinds of steps; what may be done with each stands in legality.py."""


class Step(NamedTuple):
    """One call: `run(*operands, **options)`, plus `out=` where its kind can.

    key: what makes two steps on the same operands the same. line: the place of the graph's line
    that it is done for.
    """

    kind: str
    run: Any
    operands: tuple[int, ...]
    results: tuple[int, ...]
    options: tuple[tuple[str, Any], ...]
    key: Hashable
    line: int = -1

    @property
    def name(self) -> str:
        """What people call it."""
        if self.kind == VIEW and isinstance(self.key, tuple):
            return str(getattr(self.key[0], "name", self.key[0]))
        name = getattr(self.run, "__name__", None) or type(self.run).__name__
        return f"{name}.{self.kind}" if self.kind == FOLD else name


class Code(NamedTuple):
    """inputs, outputs: numbers of values. constants: known values (arrays, numbers, None).

    phantoms: of every value that is an array. Steps stand in an order in which they can run; none
    writes to a value that another made.
    """

    inputs: tuple[int, ...]
    constants: dict[int, Any]
    phantoms: dict[int, Any]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __str__(self) -> str:
        """One line of text for each step: `%3 float32[3] = multiply(%0, %1)`."""
        first = f"inputs {_listed(self.inputs)}"
        last = f"outputs {_listed(self.outputs)}"
        return "\n".join([first, *map(self.text, self.steps), last])

    def text(self, step: Step) -> str:
        """A step, as people read it."""
        made = ", ".join(f"%{n} {_shown(self.phantoms[n])}" for n in step.results)
        given = [self._operand(n) for n in step.operands]
        given += [f"{name}={value}" for name, value in step.options]
        return f"{made} = {step.name}({', '.join(given)})"

    def _operand(self, number: int) -> str:
        value = self.constants.get(number, self)
        if value is self:
            return f"%{number}"
        small = not isinstance(value, np.ndarray) or value.size == 1
        return (
            str(value.item() if small and isinstance(value, np.ndarray) else value)
            if small
            else f"%{number} constant"
        )


def _shown(phantom: Any) -> str:
    return f"{phantom.dtype}{list(phantom.shape)}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"%{n}" for n in numbers)
