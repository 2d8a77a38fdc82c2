"""Short words for tests of single calls: a leaf, an op by its name, an in-place op by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire_engine import inplace
from gradwire_engine.backward import backward, grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
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


def made() -> tuple[Tensor, Tensor, Tensor]:
    """x and w, leaves that require grad, and y = 2 x."""
    x, w = leaf([1, 2, 3, 4]), leaf([2, 3, 4, 5])
    return x, w, op("mul", x, 2)


def refused(code: str, name: str, *args: Any) -> None:
    """An in-place op fails with this code, and its target is as before."""
    before = numbers(args[0]), args[0].version
    with pytest.raises(GradwireError) as problem:
        write(name, *args)
    assert problem.value.code == code
    assert (numbers(args[0]), args[0].version) == before
