"""What a walk does at nodes to which no gradient came, though one might have: as torch runs them,
they ask for what they kept and let go of it, hooks see None, and a custom function gets zeros.

Nothing comes where a custom function gave None, or of a count, which a norm with ord 0 is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.function_rule import FunctionRecipe
from gradwire_engine.hooks import refuse_replaced
from gradwire_engine.reading import (
    Pending,
    Reading,
    Useful,
    refuse_underived,
    saved_values,
    zeros,
)
from gradwire_engine.tape import ACCUMULATED, AFTER, BEFORE, TENSOR, AccumulateGrad, Node


def nothing_came(node: Node | AccumulateGrad, reading: Reading, into_grad: bool) -> None:
    """The hooks of a tensor that is to have a gradient, and of a leaf's node, with None."""
    for program in _programs(node, TENSOR, reading):
        refuse_replaced(program, (None,), 1)
    leaf = node.leaf() if into_grad and type(node) is AccumulateGrad else None
    if leaf is None:
        return
    for program in _programs(node, BEFORE, reading):
        refuse_replaced(program, (None,), 1)
    for program in _programs(node, ACCUMULATED, reading):
        program(leaf)
    for program in _programs(node, AFTER, reading):
        refuse_replaced(program, (None,), 0)


def nothing_goes_on(node: Node, reading: Reading, pending: Pending, useful: Useful) -> None:
    """A node's step: nothing goes on from it, but what a custom function makes of zeros."""
    recipe = node.recipe
    refuse_underived(recipe)
    call = recipe.call
    if recipe.saved:
        saved_values(node)
    if type(recipe) is FunctionRecipe:
        fills_in = call.fills_in
        one = reading.cotangent(zeros(call.outputs[0])) if fills_in and call.single else None
        reading.step(node, recipe, one if call.single else {}, pending, useful)
        return
    outputs = [None] * len(call.tracked)
    for program in _programs(node, BEFORE, reading):
        refuse_replaced(program, outputs, len(outputs))
    inputs = [None] * len(call.counted)
    for program in _programs(node, AFTER, reading):
        refuse_replaced(program, (*inputs, *outputs), len(inputs))


def _programs(node: Node | AccumulateGrad, kind: str, reading: Reading) -> Sequence[Any]:
    if node.extra is None or reading.parts is None:
        return ()
    return [attached.what for attached in node.extra.attached if attached.kind == kind]
