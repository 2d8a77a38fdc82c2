"""Maximum pooling: windows of one size, or as many as asked for; its inverse, unpooling."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.accepted import COMPLEX, WHOLE, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.batch.samples import planes_of
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels import extremes_of_windows as extremes
from gradwire_engine.kernels.windows import Sizes, reach
from gradwire_engine.mode import local
from gradwire_engine.ops.axes import squeeze, unsqueeze
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.places import picked, put_back
from gradwire_engine.ops.sliding import (
    has_planes,
    output_sizes,
    per_axis,
    pooled,
    pooled_sizes,
    with_strides,
)
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Data, Ints
from gradwire_engine.spec import Spec, int64
from gradwire_engine.tensor import Tensor


def _pooled(input: Spec, found: Ints) -> tuple[Spec, Spec]:
    spec = pooled("max_pool", input, found)
    return spec, spec.with_(dtype=int64)


@internal(
    vjp(
        input=lambda g_out, input, indices, kernel, stride, dilation: beside(
            put_back(
                g_out,
                indices,
                input.shape,
                len(kernel),
                all(s >= reach(k, d) for k, s, d in zip(kernel, stride, dilation, strict=True)),
            ),
            input,
            zeros=True,
            called=f"MaxPool{len(kernel)}DWithIndicesBackwardBackward0",
        )
    ),
    spec=_pooled,
    outputs=("out", "indices"),
    batch=leading,
    grad_name=lambda named: f"MaxPool{len(named['kernel'])}DWithIndicesBackward0",
    formula="g at the places of the maxima",
)
def windows_max(
    xp: Any, input: Array, found: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[Array, Array]:
    """The maximum of each window, and its place in the plane."""
    axes = tuple(map(extremes.strided, found, kernel, stride, padding, dilation))
    size = input.shape[input.ndim - len(kernel) :]
    last = tuple(map(extremes.overhang, size, found, kernel, stride, padding, dilation))
    return extremes.largest(xp, input, axes, padding, last)


@internal(
    vjp(
        input=lambda g_out, input, indices, found: beside(
            put_back(
                g_out,
                indices,
                input.shape,
                len(found),
                all(
                    n and size % n == 0
                    for n, size in zip(found, input.shape[-len(found) :], strict=True)
                ),
            ),
            input,
            zeros=True,
            called=f"AdaptiveMaxPool{len(found)}DBackwardBackward0",
        )
    ),
    spec=_pooled,
    outputs=("out", "indices"),
    batch=leading,
    grad_name=lambda named: f"AdaptiveMaxPool{len(named['found'])}DBackward0",
    formula="g at the places of the maxima",
)
def parts_max(xp: Any, input: Array, found: Ints) -> tuple[Array, Array]:
    """The maximum of each of so many parts of an axis, and its place in the plane."""
    none = (0,) * len(found)
    axes = tuple(map(extremes.adaptive, input.shape[input.ndim - len(found) :], found))
    return extremes.largest(xp, input, axes, none, none)


def maxima(
    axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, viewed: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """The maxima of windows over the last axes, and their places.

    viewed: over one axis as over a plane of height 1, of which the results are views.
    """
    asked = f"max_pool{axes}d"
    has_planes(asked, input, axes)
    kernel, stride = with_strides(asked, kernel_size, stride, axes)
    padding = per_axis(asked, "padding", padding, axes, least=0)
    dilation = per_axis(asked, "dilation", dilation, axes)
    size = tuple(input.shape[-axes:])
    found = pooled_sizes(asked, size, kernel, stride, padding, dilation, ceil_mode)
    if axes > 1 or not viewed:
        return windows_max(input, found, kernel, stride, padding, dilation)
    results = windows_max(
        unsqueeze(input, -2), (1, *found), (1, *kernel), (1, *stride), (0, *padding), (1, *dilation)
    )
    return squeeze(results[0], -2), squeeze(results[1], -2)


def _adaptive_max_pool(axes: int, input: Any, output_size: Data) -> tuple[Any, Any]:
    asked = f"adaptive_max_pool{axes}d"
    found = output_sizes(asked, output_size, input, axes)
    if axes > 1:
        return parts_max(input, found)
    results = parts_max(unsqueeze(input, -2), (1, *found))
    return squeeze(results[0], -2), squeeze(results[1], -2)


@internal(
    vjp(input=lambda g, indices, shape, axes: picked(g, indices, axes, False)),
    spec=lambda input, shape: input.with_(shape=shape),
    fallible=True,
    exact=True,
    linear=True,
    batch=planes_of("shape"),
    grad_name=lambda named: f"MaxUnpool{named['axes']}DBackward0",
    formula="g at the places written",
)
def unpooled(xp: Any, input: Array, indices: Array, shape: Ints, axes: int) -> Array:
    """Planes of zeros but for elements written at their places; of several the last one stays."""
    planes, size = prod(shape[: len(shape) - axes]), prod(shape[len(shape) - axes :])
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= size):
        raise invalid_argument(
            f"max_unpool{axes}d: an index lies outside a plane of {size} elements",
            "give the indices that max_pool returned, or a larger output_size",
        )
    rows = indices.reshape(planes, indices.size // max(planes, 1))
    out = xp.zeros((planes, size), input.dtype)
    xp.put_along_axis(out, rows, input.reshape(rows.shape), 1)
    return out.reshape(shape)


def _max_unpool(
    axes: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Any:  # fmt: skip
    asked = f"max_unpool{axes}d"
    has_planes(asked, input, axes)
    refuse(asked, (*WHOLE, COMPLEX), input)
    if indices.dtype not in (int64, int64.numpy):
        raise dtype_mismatch(
            f"{asked}: the indices are {indices.dtype}, not int64",
            "give the indices that max_pool returned",
        )
    if indices.shape != input.shape:
        raise shape_mismatch(
            f"{asked}: the input is {list(input.shape)}, the indices {list(indices.shape)}",
            "give the indices that max_pool returned with the input",
        )
    kernel, stride = with_strides(asked, kernel_size, stride, axes)
    padding = per_axis(asked, "padding", padding, axes, least=0)
    usual = tuple(
        (n - 1) * s - 2 * p + k
        for n, k, s, p in zip(input.shape[-axes:], kernel, stride, padding, strict=True)
    )
    size = usual if output_size is None else _wanted(asked, output_size, usual, stride)
    if min(size) < 1:
        raise shape_mismatch(
            f"{asked}: the result would be of size {list(size)}",
            "take a larger kernel_size, or pad less",
        )
    lead = tuple(input.shape[:-axes])
    if axes > 1:
        return unpooled(input, indices, (*lead, *size), axes)
    flat = unpooled(unsqueeze(input, -2), unsqueeze(indices, -2), (*lead, 1, *size), 2)
    return squeeze(flat, -2)


def _wanted(asked: str, output_size: Ints, usual: Sizes, stride: Sizes) -> Sizes:
    size = output_size[len(output_size) - len(usual) :]
    if len(output_size) not in (len(usual), len(usual) + 2) or any(
        not u - s < n < u + s for n, u, s in zip(size, usual, stride, strict=True)
    ):
        raise invalid_argument(
            f"{asked}: output_size {list(output_size)}, where {list(usual)} is the usual one",
            "it must have a size for each axis, less than a stride away from the usual one",
            raised=ValueError,
        )
    return size


def _declare(axes: int) -> None:
    """The names for so many axes."""

    def max_pool_with_indices(
        input: Array,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Array, Array]:
        return maxima(axes, input, kernel_size, stride, padding, dilation, ceil_mode)

    def max_pool(
        input: Array,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        dilation: Ints = (1,),
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Array | tuple[Array, Array]:
        # torch takes a line for a plane where it records, or has to find the places
        viewed = (
            return_indices
            or type(input) is not Tensor
            or (local.state.grad and input.requires_grad)
        )
        found = maxima(axes, input, kernel_size, stride, padding, dilation, ceil_mode, viewed)
        return found if return_indices else found[0]

    def adaptive_max_pool(
        input: Array, output_size: Data, return_indices: bool = False
    ) -> Array | tuple[Array, Array]:
        refuse(f"adaptive_max_pool{axes}d", WHOLE, input)
        found = _adaptive_max_pool(axes, input, output_size)
        return found if return_indices else found[0]

    def max_unpool(
        input: Array,
        indices: Array,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        output_size: Ints | None = None,
    ) -> Array:
        return _max_unpool(axes, input, indices, kernel_size, stride, padding, output_size)

    over = f"over the last {axes} axes" if axes > 1 else "over the last axis"
    max_pool.__doc__ = f"The maxima of windows that slide {over}; with their places if asked."
    max_pool_with_indices.__doc__ = f"The maxima of windows that slide {over}, and their places."
    adaptive_max_pool.__doc__ = f"The maxima of so many windows, spread evenly {over}."
    max_unpool.__doc__ = f"Put maxima back at their places {over}, with zeros around them."
    composite(f"{F}max_pool{axes}d", aliases=(f"max_pool{axes}d",))(max_pool)
    composite(f"{F}max_pool{axes}d_with_indices")(max_pool_with_indices)
    composite(f"{F}adaptive_max_pool{axes}d")(adaptive_max_pool)
    composite(f"{F}max_unpool{axes}d")(max_unpool)


for _axes in (1, 2, 3):
    _declare(_axes)
