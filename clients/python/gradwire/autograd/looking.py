"""gradcheck of a function that looks at values: it is called as Python for each evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradwire.autograd.walks import grad
from gradwire.creation import as_tensor
from gradwire.modes import enable_grad
from gradwire.tensor import Tensor
from gradwire_engine.consistency import SEED, random
from gradwire_engine.differences import Host, Jacobian, Tested, unit_array, units
from gradwire_engine.gradcheck import Entry, furthest
from gradwire_engine.mismatch import Tolerance, distance


class Looking(Tested):
    """A function of this client's tensors, with the inputs that it is differentiated at."""

    def __init__(self, function: Callable[..., Any], inputs: Sequence[Any]) -> None:
        self.function, self.inputs = function, tuple(inputs)
        pairs = enumerate(self.inputs)
        self.places = [i for i, x in pairs if isinstance(x, Tensor) and x.requires_grad]
        self._points = [self.inputs[place].detach().numpy() for place in self.places]

    @property
    def points(self) -> list[Host]:
        """The inputs' elements."""
        return self._points

    def leaves(self, points: Sequence[Host] | None = None) -> list[Any]:
        """Tensors like the inputs, at their points or others."""
        pairs = zip(self.places, points or self._points, strict=True)
        return [
            as_tensor(np.array(point, self.inputs[place].dtype.numpy)).requires_grad_()
            for place, point in pairs
        ]

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """The function's results that can be differentiated."""
        with enable_grad(), self.inputs[self.places[0]].session.here():
            return super().run(leaves)

    def rows(self) -> list[list[Jacobian]]:
        """The Jacobians by reverse mode, for each output and input: a walk for each row."""
        leaves = self.leaves()
        return [self._rows(y, leaves) for y in self.run(leaves)]

    def _rows(self, y: Tensor, leaves: Sequence[Tensor]) -> list[Jacobian]:
        value = y.detach().numpy()
        sides = units(value)
        found = [np.zeros((value.size, len(sides), x.numel()), x.dtype.numpy) for x in leaves]
        for m in range(value.size if y.requires_grad else 0):
            for part, unit in enumerate(sides):
                weight = as_tensor(unit_array(value, m, unit))
                made = grad(y, leaves, weight, retain_graph=True, allow_unused=True)
                for jacobian, g in zip(found, made, strict=True):
                    if g is not None:
                        jacobian[m, part] = g.numpy().reshape(-1)
        return found

    def repeats(self, nondet_tol: float) -> bool:
        """Whether the function gives the same twice."""
        first, second = (self._values([None] * len(self.places), 0.0) for _ in range(2))
        return [a.shape for a in first] == [b.shape for b in second] and all(
            distance(a, b).max(initial=0) <= nondet_tol for a, b in zip(first, second, strict=True)
        )

    def cotangents(self) -> list[Tensor]:
        """One for each output that requires grad, drawn as the host draws them."""
        rng = np.random.default_rng(SEED)
        outputs = [y for y in self.run(self.leaves()) if y.requires_grad]
        drawn = [random(rng, y.detach().numpy()).astype(y.dtype.numpy) for y in outputs]
        return [as_tensor(value) for value in drawn]


def worst(asked: str, tested: Looking, eps: float, tolerance: Tolerance) -> Entry | None:
    """The entry that is furthest off, after what is to be said of the inputs' precision."""
    for place in tested.places:
        dtype = tested.inputs[place].dtype.name
        if dtype not in ("float64", "complex128"):
            warnings.warn(
                f"{asked}: input {place} is {dtype}; differences of such numbers are too coarse, "
                "use float64 or complex128",
                UserWarning,
                stacklevel=5,
            )
    return furthest(tested, eps, tolerance)


__all__ = ["Looking", "worst"]
