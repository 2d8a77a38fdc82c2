"""In-place ops on batched values: a write to the tensor inside, for all examples at once."""

from __future__ import annotations

from typing import Any

from gradwire_engine.batch.value import Batched
from gradwire_engine.errors import error
from gradwire_engine.inplace import WRITE, write
from gradwire_engine.ops.expand import expand


def write_batched(name: str, target: Batched, value: Any) -> Batched:
    """Write each example's result; one result for all goes to every example."""
    if value.shape != target.shape:
        raise error(
            "shape_mismatch",
            f"{name}: the result has shape {list(value.shape)}, "
            f"the tensor written in place has {list(target.shape)}",
            "the operands must broadcast to the shape of the tensor that is written",
        )
    mine = type(value) is Batched and value.level == target.level
    inner = value.value if mine else expand(value, (target.size, *value.shape))
    write(name, target.value, inner)
    return target


WRITE[Batched] = write_batched
