"""Convolutions and transposed convolutions under torch's names, over one, two or three axes."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.kernels.windows import Sizes, counts, reach
from gradwire_engine.ops.convolution import convolved, convolved_back
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.pad import constant_pad_nd
from gradwire_engine.ops.sliding import as_given, batched, per_axis, windows_fit
from gradwire_engine.signature import Ints


def _check(asked: str, axes: int, input: Any, weight: Any, bias: Any, groups: int) -> None:
    """Weight and bias have to be of the convolution's kind and of the input's dtype."""
    if weight.ndim != axes + 2 or 0 in weight.shape[2:]:
        raise shape_mismatch(
            f"{asked}: the weight is {list(weight.shape)}", f"it must have {axes + 2} axes"
        )
    if groups < 1 or weight.shape[0] < groups or weight.shape[0] % groups:
        raise shape_mismatch(
            f"{asked}: {groups} groups for a weight of {list(weight.shape)}",
            "groups must be at least 1 and divide the weight's first axis",
        )
    for name, operand in (("weight", weight), ("bias", bias)):
        if operand is not None and operand.dtype != input.dtype:
            raise dtype_mismatch(
                f"{asked}: the input is {input.dtype}, the {name} {operand.dtype}",
                "convert one of them",
            )
    if kind(input) == "b":
        raise dtype_mismatch(
            f"{asked}: there is none of bools",
            "convert to another dtype",
            raised=NotImplementedError,
        )


def _check_channels(asked: str, have: int, wanted: int, bias: Any, given: int) -> None:
    if have != wanted:
        raise shape_mismatch(
            f"{asked}: the input has {have} channels, the weight is for {wanted}",
            "is the weight's layout right, and groups?",
        )
    if bias is not None and bias.shape != (given,):
        raise shape_mismatch(
            f"{asked}: the bias is {list(bias.shape)}, the result has {given} channels",
            "give one number for each channel",
        )


def _padding(asked: str, given: str, stride: Sizes, kernel: Sizes, dilation: Sizes) -> Sizes:
    """Elements to pad in all, axis by axis, for padding that is given as a word."""
    if given not in ("same", "valid"):
        raise invalid_argument(f"{asked}: padding {given!r}", "use 'same' or 'valid'")
    if given == "same" and max(stride) > 1:
        raise invalid_argument(f"{asked}: padding 'same' with a stride", "the stride must be 1")
    return tuple(
        (reach(k, d) - 1) * (given == "same") for k, d in zip(kernel, dilation, strict=True)
    )


def _convolve(
    axes: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    asked = f"conv{axes}d"
    x, alone = batched(asked, input, axes)
    _check(asked, axes, x, weight, bias, groups)
    _check_channels(asked, x.shape[1], weight.shape[1] * groups, bias, weight.shape[0])
    kernel = tuple(weight.shape[2:])
    stride = per_axis(asked, "stride", stride, axes)
    dilation = per_axis(asked, "dilation", dilation, axes)
    if isinstance(padding, str):
        total = _padding(asked, padding, stride, kernel, dilation)
        padding = tuple(n // 2 for n in total)
        if any(n % 2 for n in total):  # the odd one goes behind
            x = constant_pad_nd(x, tuple(n for t in reversed(total) for n in (0, t % 2)), 0)
    padding = per_axis(asked, "padding", padding, axes, least=0)
    size = tuple(x.shape[2:])
    windows_fit(asked, size, kernel, padding, dilation)
    found = counts(size, kernel, stride, padding, dilation)
    made = convolved(x, weight, bias, found, stride, padding, dilation, groups)
    return as_given(made, alone)


def _convolve_back(
    axes: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
    groups: int, dilation: Any,
) -> Any:  # fmt: skip
    asked = f"conv_transpose{axes}d"
    y, alone = batched(asked, input, axes)
    _check(asked, axes, y, weight, bias, groups)
    _check_channels(asked, y.shape[1], weight.shape[0], bias, weight.shape[1] * groups)
    stride = per_axis(asked, "stride", stride, axes)
    dilation = per_axis(asked, "dilation", dilation, axes)
    padding = per_axis(asked, "padding", padding, axes, least=0)
    more = per_axis(asked, "output_padding", output_padding, axes, least=0)
    if any(m >= max(s, d) for m, s, d in zip(more, stride, dilation, strict=True)):
        raise invalid_argument(
            f"{asked}: output_padding {list(more)}, stride {list(stride)}, "
            f"dilation {list(dilation)}",
            "output_padding must be smaller than the stride or the dilation",
        )
    rest = zip(y.shape[2:], weight.shape[2:], stride, padding, more, dilation, strict=True)
    size = tuple((n - 1) * s - 2 * p + reach(k, d) + m for n, k, s, p, m, d in rest)
    if min(size) < 1:
        raise shape_mismatch(f"{asked}: the result would be of size {list(size)}", "pad less")
    made = convolved_back(y, weight, bias, size, stride, padding, dilation, groups)
    return as_given(made, alone)


_IMAGES = {1: "signals (N, C, L)", 2: "images (N, C, H, W)", 3: "volumes (N, C, D, H, W)"}


def _declare(axes: int) -> None:
    """The names for so many axes; torch has them beside nn.functional too."""

    def conv(
        input: Array,
        weight: Array,
        bias: Array | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        dilation: Ints = (1,),
        groups: int = 1,
    ) -> Array:
        return _convolve(axes, input, weight, bias, stride, padding, dilation, groups)

    def conv_padded(
        input: Array,
        weight: Array,
        bias: Array | None = None,
        stride: Ints = (1,),
        padding: str = "valid",
        dilation: Ints = (1,),
        groups: int = 1,
    ) -> Array:
        return _convolve(axes, input, weight, bias, stride, padding, dilation, groups)

    def conv_transpose(
        input: Array,
        weight: Array,
        bias: Array | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        output_padding: Ints = (0,),
        groups: int = 1,
        dilation: Ints = (1,),
    ) -> Array:
        return _convolve_back(
            axes, input, weight, bias, stride, padding, output_padding, groups, dilation
        )

    conv.__doc__ = f"Slide a weight (O, C / groups, ...) over {_IMAGES[axes]} and sum the products."
    conv_padded.__doc__ = f"{conv.__doc__[:-1]}, padded as a word says."
    conv_transpose.__doc__ = (
        f"Spread each element of {_IMAGES[axes]} over the window of a convolution's weight."
    )
    for made in (conv, conv_padded):
        composite(f"{F}conv{axes}d", aliases=(f"conv{axes}d",))(made)
    name = f"conv_transpose{axes}d"
    composite(F + name, aliases=(name,))(conv_transpose)


for _axes in _IMAGES:
    _declare(_axes)
