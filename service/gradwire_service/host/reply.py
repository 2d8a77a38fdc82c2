"""What the host answers: trees of dicts and lists with tensors in them, in no encoding yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, isnan
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.spec import DType, Shape

# dict[str, Reply] | list[Reply] | TensorReply | str | bool | int | finite float | None; or Filled
Reply = Any


class TensorReply(NamedTuple):
    """A tensor as `api.md` shows it; `array` is None where the elements aren't wanted.

    `array` may be a view and need not be contiguous; whoever sends it holds it until it is sent.
    """

    name: str | None
    dtype: DType
    shape: Shape
    device: str
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    version: int
    array: np.ndarray | None = None


class Template:
    """A reply that is given again and again with other elements.

    `texts` is for whoever writes it: what stands around the elements, by encoding.
    """

    __slots__ = ("reply", "texts")

    def __init__(self, reply: Reply) -> None:
        self.reply = _emptied(reply)
        self.texts: dict[str, list[bytes]] = {}


class Filled:
    """A template with elements: an array for each of its tensors, in their order."""

    __slots__ = ("arrays", "template")

    def __init__(self, template: Template, arrays: Sequence[np.ndarray]) -> None:
        self.template = template
        self.arrays = arrays

    def reply(self) -> Reply:
        """The same as a tree."""
        return _filled(self.template.reply, iter(self.arrays))


def _emptied(reply: Reply) -> Reply:
    """A copy without elements, so that it holds none."""
    if type(reply) is TensorReply:
        return reply._replace(array=None)
    return {k: _emptied(v) for k, v in reply.items()} if type(reply) is dict else reply


def _filled(reply: Reply, arrays: Iterator[np.ndarray]) -> Reply:
    if type(reply) is TensorReply:
        return reply._replace(array=next(arrays))
    return {k: _filled(v, arrays) for k, v in reply.items()} if type(reply) is dict else reply


def plain(value: float) -> float | str:
    """A float as JSON can carry it: itself, or "NaN", "Infinity", "-Infinity"."""
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
