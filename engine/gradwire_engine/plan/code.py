"""A graph as steps of the array library: what is called on which values, kernels taken apart.

Where a line of a graph is an op, a step is one function of NumPy: a ufunc, a fold, a product, a
view; or a whole kernel that could not be taken apart. A value is known by its number; its phantom
says shape, dtype and how it lies in memory.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

MAP, FOLD, CONTRACT, PRODUCT = "map", "fold", "contract", "product"
JOIN, VIEW, CALL = "join", "view", "call"
"""Kinds of steps."""
FOLDS = frozenset({FOLD, CONTRACT})
"""Kinds of steps whose results have fewer elements than their operands."""
FUSES = frozenset({MAP, VIEW}) | FOLDS
"""Kinds of steps that may be part of a region; it begins with any of them but a view."""


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
