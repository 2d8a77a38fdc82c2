"""Arguments of ops that slide windows over images: sizes per axis, batches, and their refusals."""

from __future__ import annotations

from typing import Any

from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.kernels.windows import Sizes, count, reach
from gradwire_engine.ops.axes import squeeze, unsqueeze
from gradwire_engine.spec import Shape, Spec, bool_


def per_axis(asked: str, name: str, value: int | Sizes, axes: int, least: int = 1) -> Sizes:
    """A size for each axis, where one number stands for all; none below `least`."""
    given = (value,) if isinstance(value, int) else tuple(value)
    sizes = given * axes if len(given) == 1 else given
    if len(sizes) != axes:
        raise invalid_argument(
            f"{asked}: {name} is {list(given)}", f"give one number, or {axes}: one for each axis"
        )
    if min(sizes) < least:
        raise invalid_argument(
            f"{asked}: {name} is {list(given)}", f"it must be at least {least} on each axis"
        )
    return sizes


def batched(asked: str, input: Any, axes: int) -> tuple[Any, bool]:
    """The input as (N, C, ...), and whether it came as one sample, (C, ...)."""
    if input.ndim not in (axes + 1, axes + 2):
        raise shape_mismatch(
            f"{asked}: the input is {list(input.shape)}",
            f"it takes {axes + 2} axes, (N, C, ...), or {axes + 1} for one sample",
        )
    alone = input.ndim == axes + 1
    return (unsqueeze(input, 0) if alone else input), alone


def as_given(result: Any, alone: bool) -> Any:
    """A result without its batch axis where the input had none."""
    return squeeze(result, 0) if alone else result


def windows_fit(asked: str, size: Shape, kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    """Refuse windows that are larger than the padded input."""
    room = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    wanted = list(map(reach, kernel, dilation))
    if any(need > have for need, have in zip(wanted, room, strict=True)):
        raise shape_mismatch(
            f"{asked}: the kernel reaches over {wanted}, the padded input is {room}",
            "the kernel can't be larger than the input; pad more, or take a smaller one",
        )


def has_planes(asked: str, input: Any, axes: int) -> None:
    """Pooling takes (N, C, ...) or (C, ...), of which only N may be 0."""
    if input.ndim not in (axes + 1, axes + 2) or 0 in input.shape[input.ndim - axes - 1 :]:
        raise shape_mismatch(
            f"{asked}: the input is {list(input.shape)}",
            f"it takes (N, C, ...) or (C, ...) with {axes} more axes; only N may be 0",
        )


def with_strides(asked: str, kernel: Any, stride: Any, axes: int) -> tuple[Sizes, Sizes]:
    """A window's size, and its stride: as large, where none is given."""
    sizes = per_axis(asked, "kernel_size", kernel, axes)
    return sizes, sizes if stride in (None, ()) else per_axis(asked, "stride", stride, axes)


def pooled(asked: str, input: Spec, size: Shape) -> Spec:
    """The spec of what pooling gives: of integers and floats, planes of another size."""
    if input.dtype is bool_ or input.dtype.is_complex:
        raise dtype_mismatch(
            f"{asked}: takes integer and floating tensors, not {input.dtype.name}",
            "convert it first",
            raised=NotImplementedError,
        )
    return input.with_(shape=(*input.shape[: len(input.shape) - len(size)], *size))


def pooled_sizes(
    asked: str, size: Shape, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    ceil_mode: bool,
) -> Sizes:  # fmt: skip
    """How many windows fit each axis; padding may reach over half of a window."""
    if any(2 * p > reach(k, d) for k, p, d in zip(kernel, padding, dilation, strict=True)):
        raise invalid_argument(
            f"{asked}: padding {list(padding)} for windows of size {list(kernel)}",
            "it can be at most half of the window's size",
        )
    rest = zip(size, kernel, stride, padding, dilation, strict=True)
    found = tuple(count(*each, ceil_mode) for each in rest)
    if min(found) < 1:
        raise shape_mismatch(
            f"{asked}: no window of {list(map(reach, kernel, dilation))} fits into {list(size)}",
            "take a smaller kernel_size",
        )
    return found


def output_sizes(asked: str, wanted: Any, input: Any, axes: int, *, means: bool = False) -> Sizes:
    """The size asked of an adaptive pooling: None, for an axis, stands for the input's own."""
    if isinstance(wanted, tuple) and axes > 1 and input.ndim <= len(wanted):
        raise shape_mismatch(
            f"{asked}: the input is {list(input.shape)}, output_size {list(wanted)}",
            "the input needs channels besides the axes that are pooled",
            raised=ValueError,
        )
    given = wanted if isinstance(wanted, tuple) else (wanted,) * axes
    if len(given) != axes or not all(n is None or (type(n) is int and n >= 0) for n in given):
        raise invalid_argument(
            f"{asked}: output_size is {wanted}",
            f"give a number >= 0, or {axes} of them, None for an axis that stays as it is",
        )
    if not means or axes == 1 or set(given) != {1}:  # a mean of all there is over the last axes
        has_planes(asked, input, axes)
    return tuple(
        have if n is None else n for n, have in zip(given, input.shape[-axes:], strict=True)
    )
