"""The mirror of a result that only the elements decide: the host says what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire.tensor import Tensor
from gradwire.transport import Received
from gradwire_engine.arrays import phantom
from gradwire_engine.families import primitive
from gradwire_engine.mode import using
from gradwire_engine.op import Op
from gradwire_engine.reading import zeros
from gradwire_engine.signature import Arrays, Ints
from gradwire_engine.spec import DType, Spec, float32
from gradwire_engine.tensor import Tensor as Meta


@primitive(
    {"joint": lambda g, inputs_spec: tuple(map(zeros, inputs_spec))},
    spec=lambda inputs, shape, dtype: Spec(shape, dtype, ""),
    name="asked",
    public=False,
    grad_name=lambda named: named["label"],
)
def _asked(xp: Any, inputs: Arrays, shape: Ints, dtype: DType, label: str) -> Any:
    """A tensor of which the shape came back from the host."""
    return phantom(shape, dtype.numpy)


def asked(operands: Sequence[Any], shape: Sequence[int], dtype: DType, label: str) -> Meta:
    """A mirror with this spec, made from these operands by a node of this name."""
    tensors = tuple(m for m in operands if isinstance(m, Meta) and m.spec.dtype.differentiable)
    if not tensors or not label:
        return Meta.of(phantom(tuple(shape), dtype.numpy), device="meta")
    found: Meta = _asked(tensors, tuple(shape), dtype, label)
    return found


def told(operands: Sequence[Any], found: Received | None) -> Meta:
    """The mirror of what the host said of a result."""
    assert found is not None
    return asked(operands, found.shape, found.dtype, found.grad_fn or "")


def unknown() -> Meta:
    """What stands in for a mirror until the host has said what it is."""
    return asked((), (), float32, "")


def structure(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the op gives its results in, tried on zeros: a tensor, or so many in some kind of tuple.

    The zeros take no memory; the results are of no use but for their number.
    """
    with using(device="cpu", journal=None, grad=False):
        return op(*map(_zeros, args), **{k: _zeros(v) for k, v in kwargs.items()})


def _zeros(value: Any) -> Any:
    if isinstance(value, Tensor):
        return Meta.of(np.broadcast_to(np.zeros((), value.dtype.numpy), value.shape))
    if isinstance(value, list | tuple):
        return type(value)([_zeros(v) for v in value])
    return value


__all__ = ["asked", "structure", "told", "unknown"]
