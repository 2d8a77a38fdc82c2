"""Short words for tests of single calls: a leaf, an op by its name, an in-place op by its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine import inplace
from gradwire_engine.backward import backward, grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.mode import local
from gradwire_engine.spec import DTYPES
from gradwire_engine.tensor import Tensor


def leaf(
    values: Any, requires_grad: bool = True, dtype: str = "float64", device: str | None = None
) -> Tensor:
    """A tensor of these numbers, on the device in force unless another one is asked for."""
    made = np.array(values, DTYPES[dtype].numpy)
    return Tensor.of(made, requires_grad, device or local.state.device)


def plain(values: Any, dtype: str = "float64") -> Tensor:
    """A tensor of these numbers that requires no grad."""
    return leaf(values, False, dtype)


def op(name: str, *args: Any, **kwargs: Any) -> Any:
    """Apply an op of the catalogue."""
    return resolve(name)(*args, **kwargs)


def write(name: str, *args: Any, **kwargs: Any) -> Tensor:
    """Apply the in-place form of an op."""
    return inplace.call(name, args, kwargs)


def numbers(tensor: Tensor | None) -> Any:
    """A tensor's elements as nested lists; None where there is no tensor."""
    return None if tensor is None else tensor.numpy().tolist()


def walk_back(tensor: Tensor) -> None:
    """backward() from the sum of a tensor."""
    backward([op("sum", tensor)])


def slopes(tensor: Tensor, *inputs: Tensor) -> list[Any]:
    """The gradients of the sum of a tensor, as nested lists."""
    found = grad([op("sum", tensor)], list(inputs), retain_graph=True, allow_unused=True)
    return [numbers(g) for g in found]
