"""In-place ops on batched values: a write to the tensor inside, for all examples at once."""

from __future__ import annotations

from typing import Any

from gradwire_engine.batch.value import Batched, fronted
from gradwire_engine.errors import error
from gradwire_engine.inplace import WRITE, write


def write_batched(name: str, target: Batched, value: Any) -> Batched:
    """Write each example's result; one result for all goes to every example."""
    if value.shape != target.shape:
        raise error(
            "shape_mismatch",
            f"{name}: the result has shape {list(value.shape)}, "
            f"the tensor written in place has {list(target.shape)}",
            "the operands must broadcast to the shape of the tensor that is written",
        )
    write(name, target.value, fronted(value, target.level, target.size))
    return target


WRITE[Batched] = write_batched
