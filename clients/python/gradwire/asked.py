"""The mirror of a result that only the elements decide: the host says what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire.transport import Received
from gradwire_engine.arrays import phantom
from gradwire_engine.families import primitive
from gradwire_engine.signature import Arrays, Ints
from gradwire_engine.spec import DType, Spec, float32
from gradwire_engine.tensor import Tensor as Meta


@primitive(
    {"joint": lambda g, inputs_spec, label: tuple(_like(g, spec, label) for spec in inputs_spec)},
    spec=lambda inputs, shape, dtype: Spec(shape, dtype, ""),
    name="asked",
    public=False,
    grad_name=lambda named: named["label"],
)
def _asked(xp: Any, inputs: Arrays, shape: Ints, dtype: DType, label: str) -> Any:
    """A tensor of which the shape came back from the host."""
    return phantom(shape, dtype.numpy)


def _like(g: Any, spec: Spec, label: str) -> Any:
    """The mirror of a gradient: such ops only pick elements, so it depends on g and no more."""
    return _asked((g,), spec.shape, spec.dtype, label)


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


__all__ = ["asked", "told", "unknown"]
