"""A sample of an op made into a call on tensors: of any dtype, on any device, by any numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tests.engine.samples import Call
from tests.engine.samples.linalg import UP_TO_PHASE

from gradwire_engine.arrays import backend
from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.mode import using
from gradwire_engine.random import Generator
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor

Host = np.ndarray

REFUSED = {n for n, op in CATALOGUE.items() if any(getattr(o, "refused", 0) for o in op.overloads)}
"""Ops that are recorded without a derivative: a walk that comes to them ends with an error."""


NO_SLOPES_IN_HALVES = ("special.i1", "special.i1e")
"""Ops whose derivative torch has no kernel for in halves."""


def settled_in(name: str, call: Call) -> list[Any]:
    """A sample's operands by which the op has no derivative, as its declaration says."""
    found: list[Any] = []
    for overload in CATALOGUE[name].overloads:
        given = dict(zip(overload.signature.by_name, call[0], strict=False)) | call[1]
        found += [given.get(operand) for operand in getattr(overload, "settled", ())]
    return found


class Trial:
    """One sample of one op. `points`: the arrays it is differentiated by, float or complex."""

    def __init__(self, name: str, call: Call) -> None:
        self.name, (self.args, self.kwargs) = name, call
        self.points: list[Host] = []
        self._settled = settled_in(name, call)
        self._map(lambda array: array, self.points.append)

    def is_recorded(self, point: Host) -> bool:
        """Whether a leaf of this point may require grad."""
        real = any(o.real_gradients for o in CATALOGUE[self.name].overloads)
        if self.name in NO_SLOPES_IN_HALVES and point.dtype.itemsize == 2:
            return False
        return self.name not in REFUSED and not (real and point.dtype.kind == "c")

    def _map(self, other: Callable[[Host], Any], point: Callable[[Host], Any]) -> tuple[Any, Any]:
        def visit(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                settled = any(value is x for x in self._settled)
                return point(value) if value.dtype.kind in "fc" and not settled else other(value)
            if type(value) in (list, tuple):
                return type(value)(visit(v) for v in value)
            return value

        return visit(self.args), {k: visit(v) for k, v in self.kwargs.items()}

    def run(self, points: Sequence[Tensor], device: str = "cpu") -> list[Tensor]:
        """The tensors that the op gives at these points, always with the same random numbers."""
        args, kwargs = self.given(points, device)
        with using(generator=Generator(0)):
            result = CATALOGUE[self.name](*args, **kwargs)
        return in_one_phase(self.name, tensors_in(result))

    def given(self, points: Sequence[Tensor], device: str = "cpu") -> tuple[Any, Any]:
        """The arguments of the op with these points in their places."""
        left = iter(points)
        like = points[0].dtype.numpy if points else None

        def constant(array: Host) -> Tensor:
            return on(device, array.astype(like) if array.dtype.kind in "fc" else array)

        return self._map(constant, lambda a: next(left))

    def tensors(
        self, points: Sequence[Host], device: str = "cpu", requires_grad: bool = True
    ) -> list[Tensor]:
        """Points as leaves; none of them requires grad where call or walk would be refused."""
        return [on(device, p, requires_grad and self.is_recorded(p)) for p in points]

    def value_and_grads(
        self, points: Sequence[Host], device: str = "cpu", create_graph: bool = False
    ) -> tuple[list[Host], list[Host]]:
        """Results, and gradients of their product with fixed cotangents, as host arrays."""
        leaves = self.tensors(points, device)
        outputs = self.run(leaves, device)
        rooted = [y for y in outputs if y.requires_grad]
        if not rooted:
            return [host(y) for y in outputs], []
        found = grad(
            rooted, leaves, cotangents(rooted), create_graph=create_graph, materialize_grads=True
        )
        return [host(y) for y in outputs], [host(g) for g in found if g is not None]


def in_one_phase(name: str, outputs: list[Any]) -> list[Any]:
    """Vectors up to a sign or phase with a positive first number; other results as they are."""
    dims = UP_TO_PHASE.get(name, {})
    return [_turned(y, dims[i]) if i in dims else y for i, y in enumerate(outputs)]


def _turned(vectors: Any, dim: int) -> Any:
    ops = CATALOGUE
    first = ops["narrow"](vectors, dim, 0, 1)
    phase = ops["add"](ops["sgn"](first), ops["eq"](first, 0))  # 1 where there is none
    return ops["mul"](vectors, ops["conj"](phase))


def on(device: str, array: Host, requires_grad: bool = False) -> Tensor:
    """A leaf on a device, with its own copy of the numbers."""
    return Tensor.of(np.array(array, order="K"), requires_grad, device)


def host(tensor: Tensor) -> Host:
    """A tensor's numbers as a NumPy array."""
    return np.asarray(backend(tensor.device).to_numpy(tensor.array))


def tensors_in(result: Any) -> list[Tensor]:
    """All tensors of a result, nested or not, and what wraps one."""
    if type(result) in VALUE_TYPES:
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in tensors_in(item)]
    return []


def cotangents(outputs: Sequence[Tensor]) -> list[Tensor | None]:
    """Fixed random cotangents, of the outputs' shapes and dtypes."""
    rng = np.random.default_rng(7)
    return [on(y.device, cast(like(rng, y.shape), y.dtype)) for y in outputs]


def like(rng: np.random.Generator, shape: tuple[int, ...]) -> Host:
    """Complex numbers with both parts between -1 and 1, away from zero."""
    parts = rng.uniform(0.2, 1, (2, *shape)) * rng.choice([-1, 1], (2, *shape))
    return np.asarray(parts[0] + 1j * parts[1])


def cast(array: Host, dtype: DType) -> Host:
    """Numbers in another dtype; real dtypes take the real parts."""
    array = array if dtype.is_complex or array.dtype.kind != "c" else array.real
    return np.asarray(array).astype(dtype.numpy)
