"""Batch rules of views: each names axes in its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradwire_engine.batch.rules import along, leading
from gradwire_engine.ops.axes import permute
from gradwire_engine.ops.expand import expand
from gradwire_engine.signature import axes, axis

if TYPE_CHECKING:
    from gradwire_engine.batch.frame import Frame


def of_view(b: Frame) -> Any:
    """By the view's name, or by its dims; the rest have no say in where axes stand."""
    rule = _BY_NAME.get(b.op.name)
    if rule is not None:
        return rule(b)
    return along()(b) if b.op.signature.dims else leading(b)


def _dims(b: Frame) -> int:
    return b.axes("input")


def _permuted(b: Frame) -> Any:
    dims = axes("permute", b["dims"], _dims(b)) if _dims(b) else ()
    return b.again(dims=(0, *[d + 1 for d in dims]))


def _squeezed(b: Frame) -> Any:
    if "dim" in b.op.signature.by_name and b.op.signature.dims:
        return along()(b)
    shape = b.operand("input").shape
    asked = range(len(shape)) if b["dim"] is None else axes("squeeze", b["dim"], len(shape))
    gone = () if b["dim"] == () else tuple(d + 1 for d in asked if shape[d] == 1)
    return b.again(dim=gone)


def _expanded(b: Frame) -> Any:
    shape = b.call.outputs[0].shape
    return expand(b.behind(b.operand("input"), len(shape)), (b.size, *shape))


def _transposed(b: Frame) -> Any:
    order = (0, 2, 1) if _dims(b) == 2 else tuple(range(_dims(b) + 1))
    return permute(b.inner("input"), order)


_BY_NAME: dict[str, Callable[[Frame], Any]] = {
    "permute": _permuted,
    "squeeze": _squeezed,
    "unsqueeze": lambda b: b.again(dim=axis("unsqueeze", b["dim"], _dims(b) + 1) + 1),
    "expand": _expanded,
    "view": lambda b: b.again(size=(b.size, *b.call.outputs[0].shape)),
    "t": _transposed,
}
