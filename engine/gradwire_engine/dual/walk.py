"""Gradients of dual numbers: what a reverse walk gives, and its tangent.

The outputs y + y' ε of inputs x + x' ε, with cotangents c + c' ε: the gradient is vjp(y, c). Its
tangent is the derivative of that in the direction of all tangents, and since derivatives may be
taken in either order that is the gradient of y' (a function of x as well) by c, and of y by c'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.backward import GRADS, grad
from gradwire_engine.dual.value import Dual, unpacked
from gradwire_engine.pullback import leads_to
from gradwire_engine.reading import ones


def gradients(
    level: int,
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any] | None,
    *,
    retain_graph: bool | None,
    create_graph: bool,
    is_grads_batched: bool = False,
) -> list[Any]:
    """The gradients of outputs by inputs, with tangents; None for what is not reached."""
    given = [None] * len(outputs) if cotangents is None else list(cotangents)
    values, slopes = zip(*[unpacked(y, level) for y in outputs], strict=True)
    weights, turns = zip(*[unpacked(c, level) for c in given], strict=True)
    roots = [unpacked(x, level)[0] for x in inputs]
    pairs = [*zip(values, turns, strict=True)]
    pairs += [
        (s, ones(s.spec) if w is None else w)
        for s, w in zip(slopes, weights, strict=True)
        if s is not None
    ]
    moving = [(y, c) for y, c in pairs if c is not None and y.requires_grad]
    keep = (create_graph if retain_graph is None else retain_graph) or bool(moving)
    options: dict[str, Any] = {"create_graph": create_graph, "allow_unused": True}
    if is_grads_batched:
        options["is_grads_batched"] = True
    found = grad(values, roots, weights, retain_graph=keep, **options)
    if not moving:
        return found
    bent = _made_of_their_values(inputs, level)
    ys, cs = zip(*moving, strict=True)
    keep = bool(bent) or (create_graph if retain_graph is None else retain_graph)
    turned: list[Any] = grad(ys, [*roots, *bent.values()], cs, retain_graph=keep, **options)
    for (place, tangent), part in zip(bent.items(), turned[len(roots) :], strict=True):
        if part is not None and turned[place] is not None:
            again = grad([tangent], [roots[place]], [part], retain_graph=True, **options)[0]
            turned[place] = turned[place] if again is None else turned[place] - again
    return [_joined(g, t, level) for g, t in zip(found, turned[: len(roots)], strict=True)]


def _made_of_their_values(inputs: Sequence[Any], level: int) -> dict[int, Any]:
    """The tangents of inputs, by place, in whose history the input's own value is.

    The gradient is by the value with the tangent held fast, so what came through it is taken off.
    """
    pairs = [unpacked(x, level) for x in inputs]
    return {
        place: tangent
        for place, (value, tangent) in enumerate(pairs)
        if tangent is not None and tangent.requires_grad and leads_to([tangent], value)
    }


def _joined(gradient: Any, tangent: Any, level: int) -> Any:
    if tangent is None:
        return gradient
    return Dual(tangent * 0 if gradient is None else gradient, tangent, level)


GRADS[Dual] = gradients
