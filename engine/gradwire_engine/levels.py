"""What transforms have in common: a level each, and variables that gradients are asked by.

A transform (forward mode, vmap) wraps the values it works on: a Dual, a Batched. Each in progress
has a level of its own, 1 for the outermost, so nested ones don't mix up their values; a Tensor has
level 0, and what is wrapped is always of a lower level. A wrapper has `level`, and
`within(change)`, which gives the same wrapper around `change(what it wraps)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradwire_engine.mode import enable_grad, local, using
from gradwire_engine.ops.cast import clone
from gradwire_engine.ops.views import alias
from gradwire_engine.tape import AccumulateGrad
from gradwire_engine.tensor import Tensor


@contextmanager
def entered() -> Iterator[int]:
    """A transform in progress for a block, which gets its level."""
    level = local.state.level + 1
    with using(level=level):
        yield level


def at_bottom(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The value with its innermost tensor changed, in the same wrappers."""
    if type(value) is Tensor:
        return change(value)
    return value.within(lambda inner: at_bottom(inner, change))


def everywhere(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The value with every tensor in it changed, those of its tangents too."""
    if type(value) is Tensor:
        return change(value)
    both = getattr(value, "throughout", value.within)
    return both(lambda inner: everywhere(inner, change))


def fresh(value: Any, *, tracked: bool = True, below: int | None = None) -> Any:
    """A value's elements as a new variable, of which gradients can be asked.

    tracked: gradients of what is computed from it reach the value as well. Inside vmap every
    example gets a variable of its own, also where the value is the same for all; below: only in
    those of a lower level.
    """
    layer = local.state.vmap
    while layer is not None and below is not None and layer.level >= below:
        layer = layer.outer
    if layer is not None:
        value = layer.lift(value)
    return at_bottom(value, _tracked if tracked else leaf)


def _tracked(tensor: Tensor) -> Tensor:
    if tensor.edge is None:
        return leaf(tensor)
    with enable_grad():
        return alias(tensor)  # type: ignore[no-any-return]


def leaf(tensor: Tensor) -> Tensor:
    """The same elements as a leaf that requires grad; of an inference tensor, a copy of them."""
    if not tensor.is_inference:
        return tensor.detach().requires_grad_()
    with using(inference=False):
        return clone(tensor).requires_grad_()  # type: ignore[no-any-return]


def abandon(value: Any) -> None:
    """Let go of a variable that served its turn: nobody can ask gradients by it any more."""

    def forget(tensor: Tensor) -> Tensor:
        if type(tensor._edge) is AccumulateGrad:
            tensor._edge.leaf = _nobody  # type: ignore[assignment]
        return tensor

    everywhere(value, forget)


def _nobody() -> None:
    """What a reference to a leaf gives when the leaf is gone."""
