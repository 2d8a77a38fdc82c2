"""Writing whole tensors or indexed places: fill, zero_, copy_, index_put."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array, halfway
from gradwire_engine.batch.rules import leading, parts
from gradwire_engine.errors import shape_mismatch
from gradwire_engine.families import composite, primitive
from gradwire_engine.laid import LIKE_FIRST
from gradwire_engine.op import Inferred
from gradwire_engine.ops.advanced import index_put_at
from gradwire_engine.ops.choose import may_not_fit
from gradwire_engine.ops.creation import fits, zeros_like
from gradwire_engine.ops.expand import called, reshape, sum
from gradwire_engine.ops.index import integers_at
from gradwire_engine.promote import Weak, broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Arrays
from gradwire_engine.spec import Spec, dtype_of


def _filled(input: Spec, value: Spec | Weak) -> Inferred:
    if value.shape:
        raise shape_mismatch(
            f"fill: the value has shape {list(value.shape)}",
            "give a number or a tensor without axes",
        )
    return Inferred(input)


@primitive(
    vjp("input: zeros; value: the sum of g", input=lambda g: zeros_like(g), value=lambda g: sum(g)),
    spec=_filled,
    fallible=lambda operands: isinstance(operands[1], Weak) and may_not_fit(*operands),
    inplace=True,
    exact=True,
    grad_name=lambda named: f"FillBackward{int(isinstance(named['value'], Spec))}",
    lies=LIKE_FIRST,
    batch=parts(lambda input, value: copy_(input, value)),
)
def fill(xp: Any, input: Array, value: Array) -> Array:
    """One value in the shape and dtype of a tensor."""
    out = xp.empty(input.shape, input.dtype)
    if not hasattr(value, "dtype"):
        value = fits("fill", value, dtype_of(input.dtype))
    if getattr(value, "dtype", input.dtype).kind == "c" and input.dtype.kind not in "cb":
        value = value.real
    out[...] = halfway(xp.asarray(value), input.dtype)
    return out


@primitive(
    vjp("zeros", input=lambda g: zeros_like(g)),
    name="zero_",
    inplace=True,
    exact=True,
    batch=leading,
)
def zero_(xp: Any, input: Array) -> Array:
    """Set every element to zero."""
    return xp.zeros(input.shape, input.dtype)


def _copied(input: Spec, src: Spec | Weak) -> Spec:
    if broadcast_shapes("copy_", input.shape, src.shape) != input.shape:
        raise shape_mismatch(
            f"copy_: shape {list(src.shape)} does not broadcast to {list(input.shape)}",
            "reshape what is copied",
        )
    return input


@primitive(
    vjp("input: zeros; src: g", input=lambda g: zeros_like(g), src=lambda g: g),
    spec=_copied,
    name="copy_",
    inplace=True,
    exact=True,
    grad_name="CopyBackwards",
    sheds=True,
    batch=lambda b: b.again(
        input=b.front("input"), src=b.behind(b.operand("src"), b.axes("input"))
    ),
)
def copy_(xp: Any, input: Array, src: Array) -> Array:
    """Copy elements from another tensor, broadcast and converted to this one's dtype."""
    out = xp.empty(input.shape, input.dtype)
    src = xp.asarray(src)
    if src.dtype.kind == "c" and input.dtype.kind not in "cb":
        src = src.real
    out[...] = halfway(src, input.dtype)
    return out


@composite(inplace=True, numbers=())
def index_put(input: Array, indices: Arrays, values: Array, accumulate: bool = False) -> Array:
    """Write, or add, values at places given by tensors of ints or bools, one for each axis."""
    found = integers_at(input, indices)
    put = index_put_at(found.seen, found.indices, values, accumulate, found.masks)
    return put if found.seen is input else called("IndexPutBackward0", reshape(put, input.shape))
