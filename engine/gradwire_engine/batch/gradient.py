"""Reverse mode on batched values: each example's own gradients, by one walk over the values inside.

No example's results depend on another's operands, so a sum over the batch has each one's gradient
in its row. What is the same for all examples has no rows: by it each example's gradient takes a
cotangent that is zero for all others. Where only cotangents differ, they are those of one batched
walk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gradwire_engine.backward import GRADS, grad, implicit
from gradwire_engine.batch.value import Batched, fronted, is_rows
from gradwire_engine.errors import error
from gradwire_engine.mode import enable_grad
from gradwire_engine.ops.axes import movedim
from gradwire_engine.ops.choose import where
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.sequences import eye
from gradwire_engine.spec import bool_


def grad_batched(
    level: int,
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    grad_outputs: Sequence[Any] | None,
    retain_graph: bool | None,
    create_graph: bool,
    is_grads_batched: bool = False,
) -> list[Any]:
    """`backward.grad` where some of the values are batched; so are the gradients."""
    mine = partial(is_rows, level=level)
    size = next(v.size for v in (*outputs, *inputs, *(grad_outputs or ())) if mine(v))
    front = partial(fronted, level=level, size=size)
    cotangents = _cotangents(front, outputs, grad_outputs, is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    if not is_grads_batched and not any(map(mine, (*outputs, *inputs))):
        parts = grad(outputs, inputs, cotangents, keep, create_graph, True, is_grads_batched=True)
        return [None if g is None else Batched(g, level) for g in parts]
    with enable_grad():  # a root that is the same for all examples has to lead to its history
        roots = [front(y) for y in outputs]
    found: dict[int, Any] = {}

    def walk(places: list[int], g: list[Any], keep: bool, batched: bool) -> None:
        wanted = [inputs[i].value if mine(inputs[i]) else inputs[i] for i in places]
        parts = grad(roots, wanted, g, keep, create_graph, True, is_grads_batched=batched)
        found.update(zip(places, parts, strict=True))

    own = [i for i, x in enumerate(inputs) if mine(x)]
    shared = [i for i, x in enumerate(inputs) if not mine(x)]
    if own:
        walk(own, cotangents, keep or bool(shared), is_grads_batched)
        if is_grads_batched:
            moved = {i: None if g is None else movedim(g, (1,), (0,)) for i, g in found.items()}
            found |= moved
    if shared:
        _refuse_both(is_grads_batched)
        walk(shared, [_apart(size, g) for g in cotangents], keep, True)
    ordered = [found[i] for i in range(len(inputs))]
    return [None if g is None else Batched(g, level) for g in ordered]


def _refuse_both(is_grads_batched: bool) -> None:
    if is_grads_batched:
        raise error(
            "invalid_argument",
            "grad: is_grads_batched inside vmap, by an input that is the same for all examples",
            "map over the input too, or make a variable of it inside the function",
        )


def _cotangents(
    front: Callable[[Any], Any],
    outputs: Sequence[Any],
    grad_outputs: Sequence[Any] | None,
    batched: bool,
) -> list[Any]:
    given = [None] * len(outputs) if grad_outputs is None else list(grad_outputs)
    if batched:  # the axis that the walk batches is the first, before that of the vmap
        return [None if g is None else movedim(front(g), (1,), (0,)) for g in given]
    pairs = zip(outputs, given, strict=True)
    return [front(implicit("grad", y) if g is None else g) for y, g in pairs]


def _apart(size: int, g: Any) -> Any:
    """Cotangents that are each one example's, and zero for the others."""
    mask = eye(size, dtype=bool_, device=g.device)
    return where(reshape(mask, (size, size, *[1] * (g.ndim - 1))), g, 0)


GRADS[Batched] = grad_batched
