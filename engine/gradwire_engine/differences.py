"""Jacobians by central differences, by forward and by reverse mode, all in one form to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.backward import grad_of_moving
from gradwire_engine.forward import push
from gradwire_engine.mismatch import failed
from gradwire_engine.mode import charge, enable_grad
from gradwire_engine.op import APPLY
from gradwire_engine.tensor import Tensor

Host = np.ndarray
Jacobian = np.ndarray
"""[output element, part, input element]: the derivative of a part, the real one or of a complex
output also the imaginary one, by the real part of an input element, plus i times that by its
imaginary part. That is what reverse mode gives for the part, so all is compared in this form.
"""

Change = Callable[[Sequence[Host | None]], list[Host]]
"""From a direction for each input (None: it stays) to how each output changes."""


class Tested:
    """A function with the inputs that it is differentiated at.

    places: which inputs require grad; everything else is by their number among these.
    """

    def __init__(self, function: Callable[..., Any], inputs: Sequence[Any]) -> None:
        self.function, self.inputs = function, tuple(inputs)
        self.places = [i for i, x in enumerate(inputs) if type(x) in APPLY and x.requires_grad]

    @property
    def points(self) -> list[Host]:
        """The inputs' elements."""
        return [self.inputs[place].numpy() for place in self.places]

    def leaves(self, points: Sequence[Host] | None = None) -> list[Tensor]:
        """Tensors like the inputs, at their points or others."""
        return [
            like(self.inputs[place], point).requires_grad_()
            for place, point in zip(self.places, points or self.points, strict=True)
        ]

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """The function's results that can be differentiated."""
        given = list(self.inputs)
        for place, leaf in zip(self.places, leaves, strict=True):
            given[place] = leaf
        with enable_grad():
            result = self.function(*given)
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        return [y for y in outputs if getattr(getattr(y, "dtype", None), "differentiable", False)]

    def differences(self, eps: float) -> Change:
        """Changes by the values on both sides."""

        def change(directions: Sequence[Host | None]) -> list[Host]:
            ahead, behind = (self._values(directions, step) for step in (eps, -eps))
            if [a.shape for a in ahead] != [b.shape for b in behind]:
                raise failed(
                    f"the shapes of results differ {eps:g} ahead and behind: "
                    f"{[list(a.shape) for a in ahead]}, {[list(b.shape) for b in behind]}",
                    "differences need results of one shape around the inputs",
                )
            return [(a - b) / (2 * eps) for a, b in zip(ahead, behind, strict=True)]

        return change

    def _values(self, directions: Sequence[Host | None], step: float) -> list[Host]:
        pairs = zip(self.points, directions, strict=True)
        moved = [p if d is None else p + step * d for p, d in pairs]
        return [np.array(y.detach().numpy()) for y in self.run(self.leaves(moved))]

    def rows(self) -> list[list[Jacobian]]:
        """The Jacobians by reverse mode, for each output and input: a walk for each row."""
        leaves = self.leaves()
        return [_rows_of(y, leaves) for y in self.run(leaves)]

    def tangents(self, directions: Sequence[Host | None]) -> list[Host]:
        """Changes by forward mode."""
        return [np.array(t.numpy()) for t in self.pushed(directions)]

    def pushed(self, directions: Sequence[Any]) -> list[Any]:
        """The tangents themselves, of directions that are arrays, tensors or None."""
        at = self.leaves()
        along = [
            like(x, np.asarray(d)) if isinstance(d, (Host, np.generic)) else d
            for x, d in zip(at, directions, strict=True)
        ]
        return push("gradcheck", lambda *xs: self.run(xs), tuple(at), at, along).full_tangents


def like(tensor: Any, array: Host) -> Tensor:
    """An array as a tensor of another's dtype and device, with a memory of its own."""
    made = np.array(array, dtype=tensor.dtype.numpy, order="K")
    return Tensor.of(made, device=tensor.device)


def by_columns(tested: Tested, number: int, change: Change) -> list[Jacobian]:
    """The Jacobians of all outputs by one input, element by element."""
    point = tested.points[number]
    found: list[list[Host]] = []
    for k in range(point.size):
        total: list[Host] = []
        for unit in units(point):
            directions: list[Host | None] = [None] * len(tested.points)
            directions[number] = unit_array(point, k, unit)
            charge(point.nbytes)
            moved = [parts_of(y) * unit for y in change(directions)]
            total = [a + b for a, b in zip(total, moved, strict=True)] if total else moved
        found.append(total)
        if k == 0:  # the sizes are known: all columns, and the same once more as one array
            charge(2 * point.size * sum(column.nbytes for column in total))
    return [np.stack(columns, -1) for columns in zip(*found, strict=True)]


def _rows_of(y: Tensor, leaves: list[Tensor]) -> list[Jacobian]:
    value = y.numpy()
    shape = (y.spec.size, len(units(value)))
    charge(prod(shape) * sum(x.spec.nbytes for x in leaves))
    found = [np.zeros((*shape, x.spec.size), x.dtype.numpy) for x in leaves]
    for m in range(shape[0]):
        charge(value.nbytes)
        for part, unit in enumerate(units(value)):
            for jacobian, g in zip(
                found, walked([y], leaves, [unit_array(value, m, unit)]), strict=True
            ):
                jacobian[m, part] = g.reshape(-1)
    return found


def walked(outputs: Sequence[Any], leaves: Sequence[Any], weights: Sequence[Host]) -> list[Host]:
    """The gradients of the product of outputs and weights, zero where there is none."""
    cotangents = [like(y, w) for y, w in zip(outputs, weights, strict=True)]
    options = {"retain_graph": True, "materialize_grads": True}
    return [np.array(g.numpy()) for g in grad_of_moving(outputs, leaves, cotangents, **options)]


def units(array: Host) -> tuple[complex, ...]:
    """The directions that an element can be moved in."""
    return (1, 1j) if np.iscomplexobj(array) else (1,)


def unit_array(array: Host, k: int, unit: complex) -> Host:
    """A direction that moves one element."""
    made = np.zeros(array.shape, array.dtype)
    made.flat[k] = unit
    return made


def parts_of(values: Host) -> Host:
    """[element, part]: real parts, and imaginary ones of complex numbers."""
    flat = values.reshape(-1)
    parts = [flat.real, flat.imag] if np.iscomplexobj(flat) else [flat]
    return np.stack(parts, -1)


def product(a: Sequence[Host], b: Sequence[Host]) -> float:
    """The real inner product of two lists of arrays."""
    return float(sum(np.vdot(x, y).real for x, y in zip(a, b, strict=True)))
