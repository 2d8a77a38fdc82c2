"""Padding: with a number, or with elements mirrored, repeated, or from the other end."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along, leading
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import composite, internal, primitive
from gradwire_engine.ops.accumulate import summed_rows
from gradwire_engine.ops.creation import fits
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Number, Shape, Spec, dtype_of

MODES = ("constant", "reflect", "replicate", "circular")


def _sides(ndim: int, pad: Ints) -> list[tuple[int, int]]:
    """Elements to add before and after each axis; a pad list starts at the last axis."""
    if len(pad) % 2 or len(pad) > 2 * ndim:
        raise invalid_argument(
            f"pad: {len(pad)} numbers {list(pad)} for a tensor with {ndim} axes",
            "give two for each axis padded, beginning with the last",
        )
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _padded_shape(shape: Shape, pad: Ints) -> Shape:
    sides = _sides(len(shape), pad)
    found = tuple(n + before + after for n, (before, after) in zip(shape, sides, strict=True))
    cut = [min(before, 0) + min(after, 0) for before, after in sides]
    kept = [n + lost for n, lost in zip(shape, cut, strict=True)]
    if min(kept, default=0) < 0:  # what is cut off is cut before anything is put in
        raise shape_mismatch(
            f"pad: {list(pad)} cuts more off {list(shape)} than there is",
            "negative pads must not exceed the sizes",
        )
    return found


@primitive(
    vjp(input=lambda g, pad: constant_pad_nd(g, tuple(-n for n in pad), 0)),
    spec=lambda input, pad: input.with_(shape=_padded_shape(input.shape, pad)),
    exact=True,
    formula="g without the padding",
    batch=leading,
)
def constant_pad_nd(xp: Any, input: Array, pad: Ints, value: Number = 0) -> Array:
    """Pad with a number; negative pads cut off."""
    sides = _sides(input.ndim, pad)
    out = xp.full(
        _padded_shape(input.shape, pad), fits("pad", value, dtype_of(input.dtype)), input.dtype
    )
    to = tuple(slice(max(b, 0), n - max(a, 0)) for n, (b, a) in zip(out.shape, sides, strict=True))
    kept = tuple(
        slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(input.shape, sides, strict=True)
    )
    out[to] = input[kept]
    return out


def _places(xp: Any, size: int, before: int, after: int, mode: str) -> Array:
    """Where the elements of a padded axis come from."""
    found = xp.arange(-before, size + after)
    if mode == "replicate":
        return xp.clip(found, 0, size - 1)
    if mode == "circular":  # what negative pads leave goes round
        first, left = max(-before, 0), size - max(-before, 0) - max(-after, 0)
        return first + (found - first) % max(left, 1)
    period = max(2 * (size - 1), 1)
    folded = xp.abs(found) % period
    return xp.minimum(folded, period - folded) if size > 1 else xp.zeros_like(found)


def _axis_shape(input: Spec, dim: int, before: int, after: int, mode: str) -> Spec:
    size = input.shape[dim]
    most = {"reflect": size - 1, "circular": size}.get(mode, max(before, after) if size else 0)
    if max(before, after) > max(most, 0):
        raise invalid_argument(
            f"pad: {mode} padding of {before} and {after} on an axis of size {size}",
            f"it can be at most {max(most, 0)}",
        )
    longer = size + before + after
    if longer < 0:
        raise shape_mismatch(f"pad: ({before}, {after}) cuts more off than {size}")
    return input.with_(shape=(*input.shape[:dim], longer, *input.shape[dim + 1 :]))


def _pad_name(named: dict[str, Any]) -> str:
    kind = {"reflect": "Reflection", "replicate": "Replication"}.get(named["mode"], "Circular")
    return f"{kind}Pad{named['axes']}DBackward0"


@internal(
    vjp(
        input=lambda g, dim, before, after, mode, axes, input_spec: axis_unpadded(
            g, dim, before, after, mode, axes, input_spec.shape[dim]
        )
    ),
    spec=_axis_shape,
    exact=True,
    grad_name=_pad_name,
    batch=along("dim"),
)
def axis_padded(
    xp: Any, input: Array, dim: int, before: int, after: int, mode: str, axes: int
) -> Array:
    """Pad one axis by its own elements; `axes` is how many are padded in all."""
    return xp.take(input, _places(xp, input.shape[dim], before, after, mode), axis=dim)


@internal(
    vjp(
        input=lambda g, dim, before, after, mode, axes: axis_padded(
            g, dim, before, after, mode, axes
        )
    ),
    spec=lambda input, dim, size: input.with_(
        shape=(*input.shape[:dim], size, *input.shape[dim + 1 :])
    ),
    batch=along("dim"),
)
def axis_unpadded(
    xp: Any, input: Array, dim: int, before: int, after: int, mode: str, axes: int, size: int
) -> Array:
    """The elements of a padded axis added back to where they came from."""
    moved = xp.moveaxis(input, dim, 0)
    places = _places(xp, size, before, after, mode)
    rows = summed_rows(xp, places, moved.reshape(places.size, prod(moved.shape[1:])), size)
    return xp.moveaxis(rows.reshape(size, *moved.shape[1:]), 0, dim)


def _need_elements(shape: Shape, pad: Ints, mode: str) -> None:
    """Elements to mirror or repeat: in each example, and in what is left of one axis or another."""
    count = len(pad) // 2
    left = [n + sum(sides) for n, sides in zip(shape, _sides(len(shape), pad), strict=True)]
    if 0 in shape[len(shape) - count - 1 :] or max(left[-count:]) < 1:
        raise shape_mismatch(
            f"pad: {mode} padding {list(pad)} of {list(shape)} has no elements to put in",
            "no axis may be empty but that of examples, nor may all be cut off",
        )


@composite(name="nn.functional.pad")
def pad(input: Array, pad: Ints, mode: str = "constant", value: float | None = None) -> Array:
    """Pad axes, from the last on: constant, reflect, replicate or circular."""
    if mode not in MODES:
        raise invalid_argument(
            f"pad: mode is {mode!r}",
            f"it must be one of {', '.join(MODES)}",
            raised=NotImplementedError,
        )
    if mode == "constant":
        return constant_pad_nd(input, tuple(pad), 0 if value is None else value)
    count = len(pad) // 2
    if value is not None or len(pad) % 2:
        raise invalid_argument(
            f"pad: {mode} padding {list(pad)} with the value {value}",
            "give two numbers for each axis, and no value: elements of the tensor are put in",
        )
    if not count or input.ndim not in (count + 1, count + 2):
        raise invalid_argument(
            f"pad: {mode} padding {list(pad)} of a tensor with {input.ndim} axes",
            "it pads the last 1, 2 or 3 axes of a tensor that has one or two more",
            raised=NotImplementedError,
        )
    if mode != "circular":
        _need_elements(input.shape, tuple(pad), mode)
    for dim, (before, after) in enumerate(_sides(input.ndim, tuple(pad))):
        if dim >= input.ndim - count:
            input = axis_padded(input, dim, before, after, mode, count)
    return input
