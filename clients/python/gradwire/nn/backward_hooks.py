"""Hooks of modules on the way back: they see the gradients of what came in and what went out.

What goes in and what comes out each pass a node that changes nothing, at which the hooks hang.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradwire.autograd import Function
from gradwire.functions import catalogued
from gradwire.tensor import Tensor
from gradwire_engine.mode import local

if TYPE_CHECKING:
    from gradwire.nn.module import Module

Gradients = tuple[Any, ...]


class BackwardHookFunction(Function):
    """The same tensors, and the same gradients; torch's name for it stands in the graph."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(
            *[a for a, needed in zip(args, ctx.needs_input_grad, strict=True) if not needed]
        )
        return args if len(args) > 1 else args[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:  # noqa: ARG004
        return grads if len(grads) > 1 else grads[0]


class Around:
    """One call of a module, with its hooks on the way back.

    before: hooks that get the gradients of the results; after: those that get both.
    """

    def __init__(
        self,
        module: Module,
        before: Sequence[Callable[..., Any]],
        after: Sequence[Callable[..., Any]],
    ) -> None:
        self._module, self._before, self._after = module, before, after
        self._arrived: Gradients | None = None
        self._inputs: list[int] = []
        self._still: dict[int, Tensor] = {}  # tensors among the arguments that require no grad
        self._count = 0

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a node that calls the hooks last."""
        self._count = len(args)
        args, self._inputs = _passed(args)
        self._still = {p: args[p] for p in self._inputs if not args[p].requires_grad}
        if self._inputs:
            _first_node(args).register_hook(self._left)
        return args

    def outputs(self, result: Any) -> Any:
        """The results, before a node that the walk comes to first."""
        single = not isinstance(result, tuple)
        found, places = _passed((result,) if single else result)
        if not places:
            return result

        count = len(found)  # the hook must not hold the results, whose graph holds the hook

        def entered(gradients: Gradients) -> Gradients | None:
            return self._entered(gradients, places, count)

        _first_node(found).register_prehook(entered)
        return found[0] if single else found

    def _entered(self, gradients: Gradients, places: Sequence[int], count: int) -> Gradients | None:
        spread = _spread(gradients, places, count)
        arrived, changed = self._asked(self._before, "grad_output", spread)
        self._arrived = arrived
        if not self._inputs:
            self._only_results(arrived)
        return tuple([arrived[place] for place in places]) if changed else None

    def _only_results(self, arrived: Gradients) -> None:
        """No argument requires a gradient: the hooks get those of the results alone."""
        if self._after:
            warnings.warn(_NO_INPUT, UserWarning, stacklevel=2)
        absent = (None,) * self._count
        for hook in self._after:
            found = hook(self._module, absent, arrived)
            if found is not None and any(g is not None for g in found):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self._arrived = None

    def _left(self, gradients: Gradients, _: Gradients) -> Gradients | None:
        arrived, self._arrived = self._arrived, None
        if arrived is None:  # the walk came another way
            return None
        known = dict(enumerate(_spread(gradients, self._inputs, self._count)))
        for place, tensor in self._still.items():
            known[place] = catalogued("zeros_like")(tensor)
        left, changed = self._asked(self._after, "grad_input", tuple(known.values()), arrived)
        return tuple([left[place] for place in self._inputs]) if changed else None

    def _asked(
        self, hooks: Sequence[Callable[..., Any]], kind: str, gradients: Gradients, *more: Gradients
    ) -> tuple[Gradients, bool]:
        """Gradients as the hooks leave them, and whether one gave others."""
        changed = False
        for hook in hooks:
            found = hook(self._module, gradients, *more)
            if found is not None:
                several = found if isinstance(found, tuple) else (found,)
                if len(several) != len(gradients):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of {kind}, got {len(several)}, "
                        f"but expected {len(gradients)}"
                    )
                gradients, changed = several, True
        return gradients, changed


def _passed(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int]]:
    """Values with the tensors behind a node, and the places of these; none if none records."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not local.state.grad or not any(values[place].requires_grad for place in places):
        return values, []
    made = BackwardHookFunction.apply(*[values[place] for place in places])
    through = dict(zip(places, made if len(places) > 1 else [made], strict=True))
    return tuple([through.get(i, v) for i, v in enumerate(values)]), places


def _first_node(values: Sequence[Any]) -> Any:
    """The node of the first tensor that records."""
    return next(v.grad_fn for v in values if isinstance(v, Tensor) and v.requires_grad)


def _spread(gradients: Gradients, places: Sequence[int], count: int) -> Gradients:
    """Gradients at their places, None at all others."""
    known = dict(zip(places, gradients, strict=True))
    return tuple([known.get(place) for place in range(count)])


_NO_INPUT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs "
    "since no inputs require gradients."
)

__all__ = ["Around"]
