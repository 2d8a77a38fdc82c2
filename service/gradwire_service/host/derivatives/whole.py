"""Whole jacobians, by the mode that has less to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.forward import push
from gradwire_engine.jacobians import columns, from_rows
from gradwire_engine.pullback import Pullback
from gradwire_service.host.derivatives.ask import Ask, Found
from gradwire_service.host.derivatives.products import (
    Function,
    Outputs,
    by_output,
    differentiable,
    settled,
    unbatched,
)

FORWARD = "forward-mode"


def whole(
    ask: Ask, asked: str, function: Function, prefers: Callable[[Pullback], bool]
) -> tuple[Any, Outputs]:
    """The jacobian of a function, for each result and input, and the outputs beside it.

    prefers: whether forward mode has less to do, once the shapes are known.
    """
    args, wrt, strategy = ask.arguments, ask.wrt, ask.wanted.strategy
    if strategy != FORWARD or not _elements([args[place] for place in wrt]):
        made = Pullback(asked, function, args, wrt, has_aux=True)
        if strategy is not None or not prefers(made):
            return from_rows(made), settled(made)
    moved = tuple(args[place] for place in wrt)
    pushed, blocks = columns(
        moved,
        lambda along: push(
            asked, function, args, moved, along, argnums=wrt, moved=moved, has_aux=True
        ),
        "same",
    )
    return blocks, [unbatched(y) for y in pushed.aux]


def _has_more_results(made: Pullback) -> bool:
    values = (*made.outputs, *made.variables)
    real = not any(v.dtype.is_complex for v in values)
    return real and _elements(made.variables) < _elements(made.outputs)


def _elements(values: Sequence[Any]) -> int:
    return sum(v.spec.size for v in values)


def jacobian(ask: Ask) -> Found:
    """For each output and input a tensor of the shape of both, the output's axes first."""
    if not ask.wrt:
        return Found(ask.program(*ask.arguments), {})
    blocks, outputs = whole(ask, "jacobian", differentiable(ask), _has_more_results)
    rows = [ask.named(ask.wrt, row) for row in blocks]
    return Found(outputs, by_output(ask, outputs, rows))
