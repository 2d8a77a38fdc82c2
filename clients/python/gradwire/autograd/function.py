"""torch.autograd.Function: a forward and a backward of one's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ClassVar

from gradwire.autograd.applied import applied, place_of_call
from gradwire.autograd.called_here import called_here
from gradwire.autograd.context import FunctionCtx
from gradwire.autograd.transformable import check_transformable
from gradwire.autograd.written import Used
from gradwire.within import within


class Function:
    """Subclass it with static `forward` and `backward`, and use it by `apply`.

    forward(ctx, *args), or forward(*args) beside setup_context(ctx, inputs, output). backward(ctx,
    *gradients of the outputs) gives one gradient or None for each argument. Both are called when
    the function is applied: what they do is written down and runs where the tensors are.

    Under vmap and in forward mode forward and backward serve as they are, and the two are derived
    from them; as in torch, generate_vmap_rule or a vmap, and a jvp, have to be there.
    """

    generate_vmap_rule: ClassVar[bool] = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """To be written: the function."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> Any:
        """May be written: what forward would do to ctx, which it then isn't given."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """To be written: the gradients of the arguments from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: FunctionCtx, *grad_inputs: Any) -> Any:
        """May be written: the tangents of the outputs from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """May be written: the function for many examples, and the axes of these in its results."""
        raise NotImplementedError("To use vmap, set generate_vmap_rule or override vmap.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as by torch: a function is used by `apply`."""
        raise RuntimeError(f"a function is used by {type(self).__name__}.apply, never called")

    @classmethod
    def _backward(cls) -> Callable[..., Any]:
        if cls.backward is Function.backward:
            return cls.vjp
        return cls.backward if cls.vjp is Function.vjp else _told_twice

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Use the function on tensors and whatever else."""
        backward = cls._backward()
        separate = cls.setup_context is not Function.setup_context
        own_vmap = cls.vmap is not Function.vmap
        own_jvp = cls.jvp is not Function.jvp
        check_transformable(cls.__name__, separate, cls.generate_vmap_rule, own_vmap, own_jvp)
        setup = cls.setup_context if separate else None
        if separate or kwargs:
            args = _bound(cls.forward, () if separate else (None,), args, kwargs)
        once = bool(getattr(backward, "_once_differentiable", False))
        used = Used(cls.__name__, cls.forward, setup, backward, once)
        session = place_of_call(args)
        return called_here(session, used, args) if session.runs_here else applied(used, args)


def _told_twice(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
    """Raised where a walk comes, as in torch."""
    raise RuntimeError("a function has either a backward or a vjp, which are the same; not both")


def _bound(
    forward: Callable[..., Any],
    ctx: tuple[Any, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, ...]:
    """All arguments by place; beside setup_context with their defaults too, as torch has it."""
    found = signature(forward).bind(*ctx, *args, **kwargs)
    if not ctx:
        found.apply_defaults()
    return found.args[len(ctx) :]


Backward = Callable[..., Any]


def once_differentiable(backward: Backward) -> Backward:
    """Decorates a backward whose results can't be differentiated again."""

    @wraps(backward)
    def wrapped(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        with within(grad=False):
            return backward(ctx, *grad_outputs)

    wrapped._once_differentiable = True  # type: ignore[attr-defined]
    return wrapped


__all__ = ["Function", "FunctionCtx", "once_differentiable"]
