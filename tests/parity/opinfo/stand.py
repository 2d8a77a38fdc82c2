"""An SDK tensor that torch's own functions take, so that the table's lambdas run on it too.

torch gives a call with a foreign operand over to the operand (`__torch_function__`): the function
of the same name in the SDK answers it. So names need no second table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from types import MethodType
from typing import Any

import torch
from torch.overrides import resolve_name

import gradwire

SILENT: tuple[Any, ...] = (torch.strided, torch.contiguous_format, torch.preserve_format)
"""What keywords say where nothing else is to be had."""


class Missing(Exception):
    """The SDK has no function of this name."""


class Unlike(Exception):
    """A sample asks for what gradwire's tensors aren't: other dtypes, other layouts in memory."""


class Stand:
    """One SDK tensor."""

    def __init__(self, tensor: gradwire.Tensor) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return answered(twin(function), args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array"):
            raise AttributeError(name)
        found = getattr(self.tensor, name)
        if isinstance(found, MethodType) or callable(found):
            return lambda *args, **kwargs: answered(found, args, kwargs)
        return wrapped(found)

    def __iter__(self) -> Any:
        return map(wrapped, self.tensor)

    def __bool__(self) -> bool:
        return bool(self.tensor)


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Stand, *others: Any) -> Any:
        return answered(getattr(self.tensor, name), others, {})

    return apply


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "getitem", "neg", "invert", "abs"):
    setattr(Stand, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("radd", "rsub", "rmul", "rtruediv"):
    setattr(Stand, f"__{_name}__", _operator(f"__{_name}__"))


CALLED: list[str] = []
"""Names of the SDK's functions that were asked, the last one last."""


def answered(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The SDK's answer, with its tensors wrapped."""
    CALLED.append(getattr(function, "__name__", "?"))
    given = {k: v for k, v in kwargs.items() if not _silent(k, v)}
    return wrapped(function(*map(bare, args), **{k: bare(v) for k, v in given.items()}))


def _silent(name: str, value: Any) -> bool:
    if isinstance(value, (torch.layout, torch.memory_format)) and value not in SILENT:
        raise Unlike(f"{name}={value}")
    return (
        any(value is silent for silent in SILENT)
        or name.startswith("_")
        or (name == "pin_memory" and not value)
    )


@cache
def named(path: str) -> Callable[..., Any]:
    """The SDK's function of a path: linalg.det, nn.functional.relu, Tensor.expand, expand."""
    for root in (gradwire, gradwire.Tensor):
        found: Any = root
        try:
            for part in path.split("."):
                found = getattr(found, part)
        except AttributeError:
            continue
        return found  # type: ignore[no-any-return]
    if path.endswith("_with_indices"):
        return partial(named(path.removesuffix("_with_indices")), return_indices=True)
    raise Missing(path)


def twin(function: Any) -> Callable[..., Any]:
    """The SDK's function for one of torch's."""
    path = resolve_name(function) or getattr(function, "__name__", str(function))
    if path.endswith(".__get__"):
        name = path.removesuffix(".__get__").rpartition(".")[2]
        return lambda tensor: getattr(tensor, name)
    try:
        return named(re.sub(r"^(torch\.)?(functional\.|_C\.(_nn\.)?)?", "", path))
    except Missing:  # torch.mm resolves to its older name spmm
        return named(getattr(function, "__name__", "?"))


def bare(value: Any) -> Any:
    """A value as the SDK takes it: its own tensors, dtypes and devices."""
    if isinstance(value, Stand):
        return value.tensor
    if isinstance(value, torch.dtype):
        found = getattr(gradwire, str(value).removeprefix("torch."), None)
        if found is None:
            raise Unlike(str(value))
        return found
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.Tensor):
        raise Unlike("a tensor that the sample makes when it runs")
    if callable(value) and not isinstance(value, type):  # a distance, of which torch has many
        return lambda *args: bare(value(*map(wrapped, args)))
    if type(value) is torch.Size or type(value) is tuple:
        return tuple(map(bare, value))
    if isinstance(value, list):
        return list(map(bare, value))
    return value


def wrapped(value: Any) -> Any:
    """A result with its tensors wrapped."""
    if isinstance(value, gradwire.Tensor):
        return Stand(value)
    if hasattr(value, "_make"):
        return value._make(map(wrapped, value))
    if type(value) in (list, tuple):
        return type(value)(map(wrapped, value))
    return value
