"""What a program shows of itself, in a form that torch's and gradwire's runs can be compared in."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Tensor:
    """A tensor: what it holds and where it stands in the graph."""

    dtype: str
    shape: tuple[int, ...]
    values: np.ndarray
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    grad: Tensor | None


@dataclass
class Raised:
    """An error: the builtin class that `except` clauses written for torch name."""

    kind: str
    text: str = field(compare=False)


class See:
    """Takes down what a program shows: `see(x=x)`, `see.error(...)`, `see.warned(...)`."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def __call__(self, **values: Any) -> None:
        for name, value in values.items():
            self.seen.append((name, noted(value)))

    def error(self, **attempts: Callable[[], Any]) -> None:
        """Try each; it must raise, here and now."""
        for name, attempt in attempts.items():
            try:
                found = attempt()
            except Exception as problem:
                self.seen.append((name, Raised(kind_of(problem), str(problem))))
            else:
                self.seen.append((name, f"no error, but {type(found).__name__}"))

    def warned(self, **attempts: Callable[[], Any]) -> None:
        """Do each, and take down which warnings came."""
        for name, attempt in attempts.items():
            with warnings.catch_warnings(record=True) as came:
                warnings.simplefilter("always")
                value = noted(attempt())
            self.seen.append((name, (value, [w.category.__name__ for w in came])))


def kind_of(problem: BaseException) -> str:
    """The builtin class that it is."""
    kinds = (k for k in type(problem).__mro__ if hasattr(builtins, k.__name__))
    return next(k.__name__ for k in kinds if k is not Exception or type(problem) is Exception)


def noted(value: Any) -> Any:
    """A copy of a value that nothing done later changes."""
    if isinstance(value, list | tuple):
        return [noted(v) for v in value]
    if isinstance(value, dict):
        return {k: noted(v) for k, v in value.items()}
    if hasattr(value, "is_leaf") and hasattr(value, "dtype"):
        return _tensor(value)
    if hasattr(value, "is_floating_point"):
        return str(value).rpartition(".")[2]
    return value.copy() if isinstance(value, np.ndarray) else value


def _tensor(x: Any) -> Tensor:
    grad = x.grad if x.is_leaf or x.retains_grad else None
    node = x.grad_fn
    return Tensor(
        str(x.dtype).rpartition(".")[2],
        tuple(x.shape),
        _values(x),
        x.requires_grad,
        x.is_leaf,
        None if node is None else node.name().rpartition("::")[2],  # CopySlices has a namespace
        None if grad is None else _tensor(grad),
    )


def _values(x: Any) -> np.ndarray:
    """The elements as NumPy has them; bfloat16, which torch can't hand over, as float32."""
    x = x.detach()
    return np.array(x.float().numpy() if str(x.dtype).endswith("bfloat16") else x.numpy())
