"""A function behind torch.utils.checkpoint, or inside of an autograd.Function."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def checkpointed(torch: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run again when its gradient is asked for."""
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    return lambda *inputs: checkpoint(function, *inputs, use_reentrant=False)


def in_function(torch: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a backward of the user's, which can be differentiated itself."""

    class Wrapped(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*inputs)
            return function(*inputs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            given, pull = torch.func.vjp(function, *ctx.saved_tensors)
            return pull(cotangents if isinstance(given, tuple) else cotangents[0])

    return lambda *inputs: Wrapped.apply(*inputs)
