"""The reading of rules without data: which edges get a gradient, and whether the walk may be done.

A walk over `meta` tensors that records nothing has no use for the rules themselves: every gradient
has its operand's shape and dtype. What was freed or written in place is refused as in any walk.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import phantom_of
from gradwire_engine.reading import (
    Pending,
    Reading,
    Useful,
    add_pending,
    refuse_underived,
    saved_values,
    wanted_here,
)
from gradwire_engine.recipe import Recipe
from gradwire_engine.tape import Node
from gradwire_engine.tensor import Tensor


class _Some:
    """A gradient of which nothing is known but that there is one."""

    def __add__(self, other: _Some) -> _Some:
        return _SOME


_SOME = _Some()


def _refuse(node: Node, recipe: Recipe) -> None:
    if recipe.saved:
        saved_values(node)
    refuse_underived(recipe)
    if recipe.fault is not None:
        raise recipe.fault()


def _step(node: Node, recipe: Recipe, g: Any, pending: Pending, useful: Useful) -> None:
    _refuse(node, recipe)
    for step in recipe.steps:
        for place in step.targets:
            edge = node.edges[place]
            if edge is not None and wanted_here(edge, useful):
                add_pending(pending, edge, _SOME)


def _parts(node: Node, recipe: Recipe, g: Any, useful: Useful) -> list[tuple[int, Any]]:
    """What a step would add, for hooks: they see tensors without elements."""
    _refuse(node, recipe)
    places = [place for step in recipe.steps for place in step.targets]
    return [(place, _SOME) for place in places if wanted_here(node.edges[place], useful)]


dry = Reading(
    lambda _: _Some(),  # another one each, to be known again where it is the whole gradient
    _step,
    lambda _, spec: Tensor(phantom_of(spec), spec, None).in_mode(),
    charges=True,
    parts=_parts,
)
