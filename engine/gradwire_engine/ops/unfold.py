"""Windows of images as columns, and columns added back to images: unfold, fold."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.accepted import INTEGERS, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.batch.samples import as_samples
from gradwire_engine.errors import shape_mismatch
from gradwire_engine.families import F, composite, internal
from gradwire_engine.kernels.windows import Sizes, add_windows, counts, padded, windows
from gradwire_engine.ops.axes import unsqueeze
from gradwire_engine.ops.expand import called
from gradwire_engine.ops.sliding import as_given, per_axis
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Spec


def _columns_spec(input: Spec, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Spec:
    found = counts(input.shape[2:], kernel, stride, padding, dilation)
    return input.with_(shape=(input.shape[0], input.shape[1] * prod(kernel), prod(found)))


@internal(
    vjp(
        input=lambda g, kernel, dilation, padding, stride, input_spec: columns_added(
            g, input_spec.shape[2:], kernel, dilation, padding, stride
        )
    ),
    spec=_columns_spec,
    linear=True,
    batch=as_samples(),
    exact=True,
    grad_name="Im2ColBackward0",
    formula="g added where the windows lie",
)
def columns_of(
    xp: Any, input: Array, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Array:
    """The windows of images (N, C, ...) as columns (N, C · places in a window, windows)."""
    seen = windows(xp, padded(xp, input, padding, padding), kernel, stride, dilation)
    rows = input.shape[1] * prod(kernel)
    return seen.reshape(input.shape[0], rows, prod(seen.shape[2 + len(kernel) :]))


@internal(
    vjp(
        input=lambda g, kernel, dilation, padding, stride: columns_of(
            g, kernel, dilation, padding, stride
        )
    ),
    spec=lambda input, size, kernel: input.with_(
        shape=(input.shape[0], input.shape[1] // prod(kernel), *size)
    ),
    linear=True,
    batch=as_samples(),
    grad_name="Col2ImBackward0",
    formula="the windows of g",
)
def columns_added(
    xp: Any, input: Array, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Array:
    """Columns added back where the windows lie that they are."""
    channels = input.shape[1] // prod(kernel)
    found = counts(size, kernel, stride, padding, dilation)
    out = xp.zeros((input.shape[0], channels, *size), input.dtype)
    columns = input.reshape(input.shape[0], channels, *kernel, *found)
    add_windows(out, columns, kernel, stride, padding, dilation)
    return out


Sliding = tuple[Sizes, Sizes, Sizes, Sizes]


def _sliding(asked: str, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Sliding:
    return (
        per_axis(asked, "kernel_size", kernel, 2),
        per_axis(asked, "dilation", dilation, 2),
        per_axis(asked, "padding", padding, 2, least=0),
        per_axis(asked, "stride", stride, 2),
    )


def _blocks(asked: str, size: Sizes, how: Sliding) -> Sizes:
    kernel, dilation, padding, stride = how
    found = counts(size, kernel, stride, padding, dilation)
    if min(found) < 1:
        raise shape_mismatch(
            f"{asked}: windows of {list(kernel)}, dilation {list(dilation)}, padding "
            f"{list(padding)} don't fit into images of {list(size)}",
            "take a smaller kernel_size, or pad",
        )
    return found


@composite(name=F + "unfold")
def unfold(
    input: Array,
    kernel_size: Ints,
    dilation: Ints = (1,),
    padding: Ints = (0,),
    stride: Ints = (1,),
) -> Array:
    """The windows of images as columns (N, C · window, windows): what a convolution multiplies."""
    refuse("unfold", (INTEGERS,), input)
    how = _sliding("unfold", kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise shape_mismatch(
            f"unfold: the input is {list(input.shape)}",
            "it takes (N, C, H, W) or (C, H, W), of which only N may be 0",
        )
    alone = input.ndim == 3
    x = unsqueeze(input, 0) if alone else input
    _blocks("unfold", tuple(x.shape[2:]), how)
    return _as_given(columns_of(x, *how), alone, "Im2ColBackward0")


@composite(name=F + "fold")
def fold(
    input: Array,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints = (1,),
    padding: Ints = (0,),
    stride: Ints = (1,),
) -> Array:
    """Columns (N, C · window, windows) added back to images of a size: the transposed of unfold."""
    refuse("fold", (INTEGERS,), input)
    how = _sliding("fold", kernel_size, dilation, padding, stride)
    size = per_axis("fold", "output_size", output_size, 2)
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise shape_mismatch(
            f"fold: the input is {list(input.shape)}",
            "it takes (N, C · window, windows), or two axes for one sample",
        )
    alone = input.ndim == 2
    columns = unsqueeze(input, 0) if alone else input
    found = prod(_blocks("fold", size, how))
    if columns.shape[1] % prod(how[0]) or columns.shape[2] != found:
        raise shape_mismatch(
            f"fold: the input is {list(input.shape)}, windows of {list(how[0])} in images of "
            f"{list(size)} are {found}",
            "it must have a column for each window, and a multiple of the window's places as rows",
        )
    return _as_given(columns_added(columns, size, *how), alone, "Col2ImBackward0")


def _as_given(result: Any, alone: bool, label: str) -> Any:
    """A result without the batch axis that its input lacked, under the name of torch's node."""
    return called(label, as_given(result, alone)) if alone else result
