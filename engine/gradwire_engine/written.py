"""What a walk has to know of nodes that are one with others in torch: writes through views run as
one with the op that was written, and losses with the mean or sum that they end with.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.view_scatter import copy_slices
from gradwire_engine.reading import saved_values
from gradwire_engine.tape import Node, target


def check_written(node: Node) -> None:
    """Where a walk ends, refuse what the op written, or the loss, has lost: torch asks it there."""
    if node.recipe.call.op is copy_slices:
        edge = node.edges[1]
        found: Any = None if edge is None else target(edge)
        while type(found) is Node and found.recipe.call.op is to_dtype:  # in the base's dtype
            edge = found.edges[0]
            found = None if edge is None else target(edge)
        _check_saved(found)
    elif _ends_a_loss(node):
        edge = node.edges[0]
        _check_saved(None if edge is None else target(edge))


def _check_saved(found: Any) -> None:
    if type(found) is Node and found.recipe.saved:
        saved_values(found)


def _ends_a_loss(node: Node) -> bool:
    """Whether it is the mean or sum of what another node here keeps the operands of."""
    label = None if node.extra is None else node.extra.label
    return label is not None and not node.recipe.saved and label.endswith(_LOSSES)


_LOSSES = ("LossBackward0", "CrossEntropyBackward0", "WithLogitsBackward0")
