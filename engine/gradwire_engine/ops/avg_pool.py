"""Average pooling: windows of one size, or as many as asked for; pooling by norms."""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import COMPLEX, HALVES, INTEGERS, WHOLE, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels.sums_of_windows import Windows, means, means_back
from gradwire_engine.ops.axes import squeeze, unsqueeze
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.expand import called
from gradwire_engine.ops.reduce import mean
from gradwire_engine.ops.resample import along_axis
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
from gradwire_engine.spec import Shape


@internal(
    vjp(
        input=lambda g, input, found, kernel, stride, padding, padded, divisor: beside(
            window_means_back(
                g, input.shape[-len(found) :], found, kernel, stride, padding, padded, divisor
            ),
            input,
            zeros=True,
            called=f"AvgPool{len(kernel)}DBackwardBackward0",
        )
    ),
    spec=lambda input, found: pooled("avg_pool", input, found),
    linear=True,
    batch=leading,
    grad_name=lambda named: f"AvgPool{len(named['kernel'])}DBackward0",
    formula="g over the windows' sizes, spread over the windows",
)
def window_means(
    xp: Any, input: Array, found: Ints, kernel: Ints, stride: Ints, padding: Ints, padded: bool,
    divisor: int | None,
) -> Array:  # fmt: skip
    """The mean of each window."""
    how = Windows(found, kernel, stride, padding, padded, divisor)
    return means(xp, input, input.shape[input.ndim - len(found) :], how)


@internal(
    vjp(
        input=lambda g, found, kernel, stride, padding, padded, divisor: window_means(
            g, found, kernel, stride, padding, padded, divisor
        )
    ),
    spec=lambda input, size: pooled("avg_pool", input, size),
    linear=True,
    batch=leading,
    grad_name=lambda named: f"AvgPool{len(named['kernel'])}DBackwardBackward0",
    formula="the mean of each window of g",
)
def window_means_back(
    xp: Any, input: Array, size: Ints, found: Ints, kernel: Ints, stride: Ints, padding: Ints,
    padded: bool, divisor: int | None,
) -> Array:  # fmt: skip
    """Elements divided by the sizes of their windows, and added over these."""
    return means_back(xp, input, size, Windows(found, kernel, stride, padding, padded, divisor))


def average(
    axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    """The means of windows over the last axes."""
    asked = f"avg_pool{axes}d"
    has_planes(asked, input, axes)
    if input.dtype.kind != "i" or input.dtype.itemsize < 8:  # of integers int64 alone
        refuse(asked, (INTEGERS, HALVES) if axes == 3 else (INTEGERS,), input)
    if divisor_override == 0:
        raise invalid_argument(f"{asked}: divisor must be not zero", "leave it out")
    kernel, stride = with_strides(asked, kernel_size, stride, axes)
    padding = per_axis(asked, "padding", padding, axes, least=0)
    size, ones = tuple(input.shape[-axes:]), (1,) * axes
    found = pooled_sizes(asked, size, kernel, stride, padding, ones, ceil_mode)
    rest = count_include_pad, divisor_override
    if axes > 1:
        return window_means(input, found, kernel, stride, padding, *rest)
    # over one axis as over a plane of height 1, which is how torch has it
    flat = window_means(
        unsqueeze(input, -2), (1, *found), (1, *kernel), (1, *stride), (0, *padding), *rest
    )
    return squeeze(flat, -2)


def adaptive_mean(axes: int, input: Any, output_size: Data) -> Any:
    """The means of so many windows of the last axes."""
    asked = f"adaptive_avg_pool{axes}d"
    found = output_sizes(asked, output_size, input, axes, means=True)
    if set(found) != {1}:  # else a mean is all that it is
        refuse(asked, (*WHOLE, COMPLEX), input)
    if axes > 1:
        return _parts_mean(input, found)
    return squeeze(_parts_mean(unsqueeze(input, -2), (1, *found)), -2)


def _parts_mean(input: Any, found: Shape) -> Any:
    """The means of so many parts of the last axes."""
    axes = len(found)
    size = tuple(input.shape[-axes:])
    if set(found) == {1}:
        return mean(input, tuple(range(input.ndim - axes, input.ndim)), True)
    label = f"AdaptiveAvgPool{axes}DBackward0"
    if 0 not in found and not any(n % f for n, f in zip(size, found, strict=True)):
        kernel = tuple(n // f for n, f in zip(size, found, strict=True))
        pooled = window_means(input, found, kernel, kernel, (0,) * axes, True, None)
    else:
        pooled = input
        for axis, n in enumerate(found, input.ndim - axes):
            pooled = along_axis(pooled, axis, n, "parts", False, None)
    return called(label, pooled)


def _declare(axes: int) -> None:
    """The names for so many axes."""

    def avg_pool1d(
        input: Array,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Array:
        return average(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    def avg_pool(
        input: Array,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Array:
        return average(
            axes, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
            divisor_override,
        )  # fmt: skip

    def adaptive_avg_pool(input: Array, output_size: Data) -> Array:
        return adaptive_mean(axes, input, output_size)

    over = f"over the last {axes} axes" if axes > 1 else "over the last axis"
    pool = avg_pool1d if axes == 1 else avg_pool
    pool.__doc__ = f"The means of windows that slide {over}."
    adaptive_avg_pool.__doc__ = f"The means of so many windows, spread evenly {over}."
    beside = (f"avg_pool{axes}d",) if axes == 1 else ()
    composite(f"{F}avg_pool{axes}d", aliases=beside)(pool)
    beside = (f"adaptive_avg_pool{axes}d",) if axes == 1 else ()
    composite(f"{F}adaptive_avg_pool{axes}d", aliases=beside)(adaptive_avg_pool)


for _axes in (1, 2, 3):
    _declare(_axes)
