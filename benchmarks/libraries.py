"""torch and the engine under the same names, so that a workload is written once for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np


class Library(Protocol):
    """What a workload needs of a library: tensors, gradients, and ops under torch's names.

    vectorizes: whether its Hessians are one batched walk unless it is told otherwise.
    """

    ops: Any
    vectorizes: bool

    def tensor(self, array: np.ndarray[Any, Any], requires_grad: bool = False) -> Any: ...

    def grad(self, output: Any, inputs: Sequence[Any]) -> Sequence[Any]: ...

    def pull(
        self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]
    ) -> Sequence[Any]: ...

    def row(self, output: Any, inputs: Sequence[Any], cotangent: Any) -> Sequence[Any]: ...

    def rows(self, output: Any, inputs: Sequence[Any], cotangents: Any) -> Sequence[Any]: ...

    def hessian(self, function: Callable[[Any], Any], x: Any, vectorize: bool) -> Any: ...

    def numpy(self, tensor: Any) -> np.ndarray[Any, Any]: ...


class Torch:
    """torch, eager, on the CPU."""

    vectorizes = False

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self.ops: Any = torch

    def tensor(self, array: np.ndarray[Any, Any], requires_grad: bool = False) -> Any:
        return self._torch.from_numpy(array).requires_grad_(requires_grad)

    def grad(self, output: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        found: Sequence[Any] = self._torch.autograd.grad(output, inputs)
        return found

    def pull(
        self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]
    ) -> Sequence[Any]:
        found: Sequence[Any] = self._torch.autograd.grad(outputs, inputs, cotangents)
        return found

    def row(self, output: Any, inputs: Sequence[Any], cotangent: Any) -> Sequence[Any]:
        grad: Any = self._torch.autograd.grad
        found: Sequence[Any] = grad(output, inputs, cotangent, retain_graph=True)
        return found

    def rows(self, output: Any, inputs: Sequence[Any], cotangents: Any) -> Sequence[Any]:
        options = {"retain_graph": True, "is_grads_batched": True}
        found: Sequence[Any] = self._torch.autograd.grad(output, inputs, cotangents, **options)
        return found

    def hessian(self, function: Callable[[Any], Any], x: Any, vectorize: bool) -> Any:
        return self._torch.autograd.functional.hessian(function, x, vectorize=vectorize)

    def numpy(self, tensor: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = tensor.detach().numpy()
        return found


class Engine:
    """gradwire's engine, eager, in this process."""

    vectorizes = True

    def __init__(self) -> None:
        import gradwire_engine.apply
        import gradwire_engine.ops  # noqa: F401 - fills the catalogue
        from gradwire_engine.backward import grad
        from gradwire_engine.catalogue import ALIASES, CATALOGUE
        from gradwire_engine.functional import hessian
        from gradwire_engine.tensor import Tensor

        self._tensor: Any = Tensor.of
        self._grad: Any = grad
        self._hessian: Any = hessian
        self.ops: Any = SimpleNamespace()
        for name, op in [*CATALOGUE.items(), *((a, CATALOGUE[n]) for a, n in ALIASES.items())]:
            _place(self.ops, name, op)

    def tensor(self, array: np.ndarray[Any, Any], requires_grad: bool = False) -> Any:
        return self._tensor(array, requires_grad)

    def grad(self, output: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        return self._grad([output], inputs)

    def pull(
        self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]
    ) -> Sequence[Any]:
        return self._grad(outputs, inputs, cotangents)

    def row(self, output: Any, inputs: Sequence[Any], cotangent: Any) -> Sequence[Any]:
        return self._grad([output], inputs, [cotangent], retain_graph=True)

    def rows(self, output: Any, inputs: Sequence[Any], cotangents: Any) -> Sequence[Any]:
        options = {"retain_graph": True, "is_grads_batched": True}
        return self._grad([output], inputs, [cotangents], **options)

    def hessian(self, function: Callable[[Any], Any], x: Any, vectorize: bool) -> Any:
        return self._hessian(function, x, vectorize=vectorize)

    def numpy(self, tensor: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = tensor.detach().numpy()
        return found


def _place(namespace: SimpleNamespace, name: str, op: Any) -> None:
    *path, last = name.split(".")
    for part in path:
        namespace.__dict__.setdefault(part, SimpleNamespace())
        namespace = namespace.__dict__[part]
    namespace.__dict__[last] = op


LIBRARIES: dict[str, type[Torch] | type[Engine]] = {"torch": Torch, "engine": Engine}

FIRST = dict.fromkeys(("engine", "planned"), "gradwire_engine")
"""What a side imports before NumPy, by its library: ours wants the threads of NumPy's BLAS so."""
