"""Derivatives of functions that look at values, which can't travel: embedded they run as Python.

The function is called on tensors that record; what is asked of its derivative is then a walk, or a
walk for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradwire.autograd.walks import grad
from gradwire.functions import catalogued
from gradwire.modes import enable_grad
from gradwire.tensor import Tensor

Function = Callable[..., Any]


def variable(tensor: Tensor) -> Tensor:
    """A tensor that the function records by, in the graph of the one given where that has one."""
    if tensor.requires_grad:
        with enable_grad():
            return tensor.view_as(tensor)
    return tensor.detach().requires_grad_()


def derive(
    transform: str,
    wanted: Sequence[Tensor],
    own: Sequence[Tensor],
    names: Sequence[str],
    create_graph: bool,
    fields: Mapping[str, Any],
) -> list[Any]:
    """The parts of a derivative: own by wanted. Directions and cotangents are tensors by name."""
    with enable_grad():
        if transform in ("value_and_grad", "vjp"):
            given = fields["cotangents"]
            pairs = [(o, given[o._name]) for o in own if o._name in given]
            found = pull([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph)
        elif transform == "jvp":
            given = fields["tangents"]
            found = push(own, wanted, [given.get(n) for n in names], create_graph)
        elif transform == "jacobian":
            found = [part for o in own for part in rows(o, wanted, create_graph)]
        elif transform == "hessian":
            slopes = pull(own, wanted, [None], True)
            found = [part for s in slopes for part in rows(s, wanted, create_graph)]
        else:
            slopes = pull(own, wanted, [None], True)
            given = fields["vector"]
            found = pull(slopes, wanted, [given.get(n) for n in names], create_graph)
    return found if create_graph else [part.detach() for part in found]


def pull(
    outputs: Sequence[Tensor],
    wanted: Sequence[Tensor],
    cotangents: Sequence[Any],
    create_graph: bool,
) -> list[Tensor]:
    """One walk back; zeros where nothing arrives."""
    pairs = [(o, g) for o, g in zip(outputs, cotangents, strict=True) if o.requires_grad]
    if not pairs:
        return [catalogued("zeros_like")(x) for x in wanted]
    given = [_like(g, o) for o, g in pairs]
    found = grad([o for o, _ in pairs], wanted, given, True, create_graph, materialize_grads=True)
    return [part for part in found if part is not None]


def push(
    outputs: Sequence[Tensor],
    wanted: Sequence[Tensor],
    tangents: Sequence[Any],
    create_graph: bool,
) -> list[Tensor]:
    """The derivative in a direction, as the walk back of a walk back."""
    found = []
    for output in outputs:
        probe = catalogued("zeros_like")(output).requires_grad_()
        slopes = pull([output], wanted, [probe], True)
        pairs = zip(slopes, tangents, strict=True)
        given = [catalogued("zeros_like")(s) if t is None else t for s, t in pairs]
        found += pull(slopes, [probe], given, create_graph)
    return found


def rows(output: Tensor, wanted: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    """The Jacobian of one output: a walk for each of its elements."""
    flat = output.reshape(-1)
    walks = [pull([flat[i]], wanted, [None], create_graph) for i in range(output.numel())]
    shape = tuple(output.shape)
    stacked = [
        catalogued("stack")(list(parts)).reshape(shape + tuple(x.shape))
        if walks
        else catalogued("zeros")(shape + tuple(x.shape), dtype=x.dtype)
        for x, parts in zip(wanted, zip(*walks, strict=True) if walks else wanted, strict=True)
    ]
    return stacked


def _like(cotangent: Any, output: Tensor) -> Any:
    if cotangent is None or isinstance(cotangent, Tensor):
        return cotangent
    return catalogued("full_like")(output, cotangent)


__all__ = ["derive", "variable"]
