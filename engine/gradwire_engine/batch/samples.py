"""Batch rules of ops on (N, C, ...): the batch axis joins the samples, or the channels' groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire_engine.batch.rules import BatchRule, names
from gradwire_engine.ops.axes import transpose
from gradwire_engine.ops.expand import reshape

if TYPE_CHECKING:
    from gradwire_engine.batch.frame import Frame


def together(value: Any, axis: int = 0) -> Any:
    """The batch axis in front and the one that is `axis` in an example as one, in that place."""
    moved = value
    for i in range(axis):
        moved = transpose(moved, i, i + 1)
    shape = tuple(moved.shape)
    return reshape(moved, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def apart(value: Any, size: int, axis: int = 0) -> Any:
    """The inverse: a batch axis in front again."""
    shape = tuple(value.shape)
    found = reshape(value, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))
    for i in reversed(range(axis)):
        found = transpose(found, i, i + 1)
    return found


def as_samples(shape: str | None = None, **axes: int) -> BatchRule:
    """All examples' samples in a row.

    axes: where an operand has its samples, and `out` the result, if not in front. shape: the
    attribute that is the result's, which begins with the number of samples.
    """

    def rule(b: Frame) -> Any:
        operands = {
            name: together(b.front(name), axes.get(name, 0))
            for name in names(b)
            if b.operand(name) is not None
        }
        if shape is not None:
            operands[shape] = (b.size * b[shape][0], *b[shape][1:])
        found = b.again(**operands)
        if b.call.single:
            return apart(found, b.size, axes.get("out", 0))
        return [apart(part, b.size) for part in found]

    return rule


def planes_of(shape: str) -> BatchRule:
    """The op works on planes, the last axes, and this attribute is the result's shape."""

    def rule(b: Frame) -> Any:
        fronts = {name: b.front(name) for name in names(b)}
        return b.again(**fronts, **{shape: (b.size, *b[shape])})

    return rule


def _biased(b: Frame, found: Any) -> Any:
    """A result (B, N, C, ...) plus the bias, which the rules below leave out."""
    bias = b.operand("bias")
    if bias is None:
        return found
    ones = (1,) * (len(found.shape) - 3)
    lead = (b.size, 1) if b.batched("bias") else (1,)
    return found + reshape(b.inner("bias"), (*lead, -1, *ones))


def convolution(b: Frame) -> Any:
    """Examples that share the weight are further samples; else each has its own groups."""
    if not b.batched("weight"):
        if not b.batched("input"):
            return _biased(b, b.fronted(b.again(bias=None)))
        made = b.again(input=together(b.inner("input")), bias=None)
        return _biased(b, apart(made, b.size))
    made = b.again(
        input=together(b.front("input"), 1),
        weight=together(b.inner("weight")),
        bias=None,
        groups=b["groups"] * b.size,
    )
    return _biased(b, apart(made, b.size, 1))


def products_of_windows(b: Frame) -> Any:
    """Of the windows' products: each example has its own groups, or its own results."""
    if b["groups"] == 1 and not b.batched("input"):
        return apart(b.again(other=together(b.inner("other"), 1)), b.size)
    if b["groups"] == 1 and not b.batched("other"):
        return apart(b.again(input=together(b.inner("input"), 1)), b.size, 1)
    sides = {name: together(b.front(name), 1) for name in ("input", "other")}
    return apart(b.again(**sides, groups=b["groups"] * b.size), b.size)
