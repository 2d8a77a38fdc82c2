"""Batch rules of indexing by tensors: the batch becomes one more indexed axis, or one more kept.

An index is a tuple of tensors of ints that broadcast, or None for an axis that is kept whole. If
they stand side by side, what they pick lies in their place, else in front of the kept axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine.ops.axes import permute
from gradwire_engine.ops.expand import expand, reshape
from gradwire_engine.ops.sequences import arange_from
from gradwire_engine.promote import broadcast_shapes

if TYPE_CHECKING:
    from gradwire_engine.batch.frame import Frame


class _Plan(NamedTuple):
    """indices: with the batch among them. order: the axes that the indexed result has, in the
    order in which the batch comes first and then one example's.
    """

    indices: tuple[Any, ...]
    order: tuple[int, ...]

    def example_order(self, value: Any) -> Any:
        return permute(value, self.order)

    def indexed_order(self, value: Any) -> Any:
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return permute(value, tuple(back))


def _plan(b: Frame, ndim: int, *, whole: bool) -> _Plan:
    """How to index what has `ndim` axes behind the batch; whole: it has a batch axis in front."""
    given = b.operand("indices")
    places = [i for i, index in enumerate(given) if index is not None]
    inner = broadcast_shapes("index", *[tuple(given[i].shape) for i in places])
    together = places[-1] - places[0] == len(places) - 1
    kept, before = ndim - len(places), places[0] if together else 0
    own = b.batched("indices")
    aligned = [None if i is None else b.behind(i, len(inner)) if own else i for i in given]
    if not own:  # the batch is an axis that is kept: in front, or behind what was picked
        lead = before + 1 if together else 0
        order = _order(len(inner), kept + 1, lead, before, batch_picked=False)
        return _Plan((None, *aligned), order)
    if not whole:
        return _Plan(
            tuple(aligned), _order(len(inner) + 1, kept, before, before, batch_picked=True)
        )
    rows = arange_from(0, b.size, device=b.call.device)
    first = reshape(rows, (b.size, *[1] * len(inner)))
    lead = 0  # the batch's index and the others are together only if those begin at the first axis
    return _Plan((first, *aligned), _order(len(inner) + 1, kept, lead, before, batch_picked=True))


def _order(
    picked: int, kept: int, lead: int, before: int, *, batch_picked: bool
) -> tuple[int, ...]:
    """The batch, `before` of the kept axes, the picked ones, the rest of the kept ones.

    In the indexed result `lead` of the kept axes stand in front of the picked ones.
    """
    chosen = list(range(lead, lead + picked))
    rest = [*range(lead), *range(lead + picked, picked + kept)]
    batch = chosen.pop(0) if batch_picked else rest.pop(0)
    return (batch, *rest[:before], *chosen, *rest[before:])


def indexed(b: Frame) -> Any:
    """x[indices]."""
    whole = b.batched("input")
    plan = _plan(b, b.axes("input"), whole=whole)
    source = b.front("input") if whole else b.inner("input")
    return plan.example_order(b.again(input=source, indices=plan.indices, masks=()))


def index_added(b: Frame) -> Any:
    """The adjoint of x[indices]: what was picked added back."""
    shape = b["shape"]
    plan = _plan(b, len(shape), whole=True)
    rows = plan.indexed_order(b.front("input"))
    return b.again(input=rows, indices=plan.indices, shape=(b.size, *shape))


def index_written(b: Frame) -> Any:
    """x[indices] = values."""
    ndim = b.axes("input")
    plan = _plan(b, ndim, whole=True)
    example = len(plan.order) - 1
    values = b.operand("values")
    wide = b.behind(values, example)
    if not b.mine(values):
        wide = expand(values, (b.size, *[1] * (example - b.axes("values")), *values.shape))
    found = plan.indexed_order(wide)
    return b.again(input=b.front("input"), indices=plan.indices, values=found, masks=())
