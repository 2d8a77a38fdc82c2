"""The reading of rules on batched cotangents: one walk for many, which is `is_grads_batched`.

What nodes saved stays as it is, without a batch axis; what rules give has one from the first op
that meets a cotangent on.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import backend, phantom_of
from gradwire_engine.batch.value import Batched, fronted
from gradwire_engine.dry import dry
from gradwire_engine.errors import error
from gradwire_engine.reading import Reading, recorded
from gradwire_engine.spec import Spec
from gradwire_engine.tensor import Tensor


def batched_reading(level: int, size: int, create_graph: bool) -> Reading:
    """Rules run on cotangents with `size` rows, of a vmap of this level."""

    def cotangent(rows: Any) -> Any:
        return Batched(rows, level)

    def tensor(g: Any, spec: Spec) -> Any:
        """A gradient with its rows in front; one that is the same for all has it in each."""
        rows = fronted(g, level, size)
        return rows if create_graph or type(rows) is not Tensor else _alone(rows)

    return Reading(cotangent, recorded.step, tensor, charges=True, parts=recorded.parts)


def _alone(rows: Tensor) -> Tensor:
    """A gradient as the tensor that is handed out, row-major, a view of nothing."""
    xp = backend(rows.device).xp
    return Tensor(xp.ascontiguousarray(rows.array), rows.spec, None).in_mode()


def batched_dry(size: int) -> Reading:
    """The same where there are no elements and nothing is recorded; hooks see one example."""

    def tensor(g: Any, spec: Spec) -> Tensor:
        rows = spec.with_(shape=(size, *spec.shape))
        return Tensor(phantom_of(rows), rows, None).in_mode()

    return dry._replace(tensor=tensor, shown=dry.tensor)


def rows_of(counts: list[int | None]) -> int:
    """How many rows the cotangents have, which must be equally many; None has none to count."""
    if None in counts or len(set(counts)) != 1:
        raise error(
            "shape_mismatch",
            f"grad: with is_grads_batched the cotangents have {counts} rows",
            "give each output a cotangent with the batch as its first axis, all equally long",
            raised=ValueError,
        )
    return int(counts[0] or 0)
