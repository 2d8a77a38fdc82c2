"""What a walk has to know of writes through views: they run as one with the op that was written."""

from __future__ import annotations

from typing import Any

from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.view_scatter import copy_slices
from gradwire_engine.reading import saved_values
from gradwire_engine.tape import Node, target


def check_written(node: Node) -> None:
    """Where a walk ends at a write, refuse what the op written has lost: torch asks it there."""
    if node.recipe.call.op is copy_slices:
        edge = node.edges[1]
        found: Any = None if edge is None else target(edge)
        while type(found) is Node and found.recipe.call.op is to_dtype:  # in the base's dtype
            edge = found.edges[0]
            found = None if edge is None else target(edge)
        if type(found) is Node and found.recipe.saved:
            saved_values(found)
