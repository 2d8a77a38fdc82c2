"""What a walk has to know of nodes that are one with others in torch, or several there: writes
through views run as one with the op that was written, losses with the mean that they end with; of
what has several nodes there, a walk that ends at the last one runs that one alone.
"""

from __future__ import annotations

from collections.abc import Callable

from gradwire_engine.function_rule import FunctionRecipe
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.view_scatter import copy_slices
from gradwire_engine.tape import Node, target


def keeps_nothing(node: Node) -> bool:
    """Whether the node by this name keeps no tensor in torch: it is the last one of several there.

    What the others keep is asked for only where a walk comes to them. A view here is what it says.
    """
    users = type(node.recipe) is FunctionRecipe  # may have any name
    view = getattr(node.recipe.call.op, "view", False)
    return not (users or view) and node.name().startswith(_LAST)


_LAST = ("DivBackward1", "MulBackward1", "Squeeze", "UnsafeView", "ViewBackward")


def keeper(node: Node) -> Node:
    """What keeps for torch's node of this name: another one here, where that is one with others."""
    recipe = node.recipe
    if recipe.call.op is copy_slices:
        return _first_that_keeps(node, 1, lambda found: found.recipe.call.op is to_dtype)
    label = None if node.extra is None else node.extra.label
    if label is None or recipe.saved:
        return node
    if recipe.call.op is to_dtype:  # in the dtype of what was written
        found = _below(node, 0)
        return keeper(found) if found is not None and found.name() == label else node
    if label.endswith(_WHOLE):
        return _first_that_keeps(node, 0, lambda found: not found.recipe.saved)
    return node


_WHOLE = (
    "LossBackward0",
    "CrossEntropyBackward0",
    "WithLogitsBackward0",
    "SolveExBackward0",
    "CholeskyExBackward0",
    "CholeskyBackward0",
    "NansumBackward0",
)
"""What torch's nodes are called that end in one here which turns, or sums, what others keep."""


def _first_that_keeps(node: Node, place: int, passed: Callable[[Node], bool]) -> Node:
    found = _below(node, place)
    while found is not None and passed(found):
        found = _below(found, 0)
    return node if found is None else found


def _below(node: Node, place: int) -> Node | None:
    edge = node.edges[place]
    found = None if edge is None else target(edge)
    return found if type(found) is Node else None
