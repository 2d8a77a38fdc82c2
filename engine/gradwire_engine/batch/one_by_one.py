"""The last resort: an op done for one example after the other, and the results stacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire_engine.ops.creation import zeros
from gradwire_engine.ops.join import stack
from gradwire_engine.ops.split import unbind

if TYPE_CHECKING:
    from gradwire_engine.batch.frame import Frame


def one_by_one(b: Frame) -> Any:
    """Every example by itself; differentiable, since unbinding and stacking are."""
    if not b.size:
        found = [zeros((0, *s.shape), dtype=s.dtype, device=s.device) for s in b.call.outputs]
        return found[0] if b.call.single else found
    columns = [_examples(b, arg) for arg in b.args]
    results = [b.op.dispatch(row, {}) for row in zip(*columns, strict=True)]
    if b.call.single:
        return stack(results, 0)
    return [stack(column, 0) for column in zip(*results, strict=True)]


def _examples(b: Frame, arg: Any) -> Any:
    if b.mine(arg):
        return unbind(arg.value, 0)
    if type(arg) in (list, tuple) and any(map(b.mine, arg)):
        return list(zip(*[_examples(b, item) for item in arg], strict=True))
    return [arg] * b.size
