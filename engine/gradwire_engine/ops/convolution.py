"""Convolution's three forms, each of which is the others' derivative."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.samples import convolution, products_of_windows
from gradwire_engine.families import internal
from gradwire_engine.kernels import correlate
from gradwire_engine.kernels.correlate import Sliding
from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.beside import beside
from gradwire_engine.ops.expand import sum
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Ints
from gradwire_engine.spec import Spec

_TWICE = "ConvolutionBackwardBackward0"
"""One node in torch for all the gradients of a convolution, each of which depends on all."""


def _over_channels(g: Any) -> Any:
    """The gradient of a bias."""
    return sum(g, (0, *range(2, g.ndim)))


def _images_spec(input: Spec, weight: Spec, size: Ints, groups: int) -> Spec:
    return input.with_(shape=(input.shape[0], weight.shape[1] * groups, *size))


@internal(
    vjp(
        "input: g convolved back with weight; weight: the windows of input times g",
        input=lambda g, input, weight, stride, padding, dilation, groups: beside(
            convolved_back(
                g, conj(weight), None, input.shape[2:], stride, padding, dilation, groups
            ),
            input,
            called=_TWICE,
        ),
        weight=lambda g, input, weight, stride, padding, dilation, groups: beside(
            window_products(conj(input), g, weight.shape[2:], stride, padding, dilation, groups),
            weight,
            called=_TWICE,
        ),
        bias=lambda g, input, weight: beside(_over_channels(g), input, weight, called=_TWICE),
    ),
    spec=lambda input, weight, found: input.with_(shape=(input.shape[0], weight.shape[0], *found)),
    linear=("input", "weight"),
    batch=convolution,
    grad_name="ConvolutionBackward0",
)
def convolved(
    xp: Any, input: Array, weight: Array, bias: Array | None, found: Ints, stride: Ints,
    padding: Ints, dilation: Ints, groups: int,
) -> Array:  # fmt: skip
    """The products of a weight with so many windows of an input, summed."""
    how = Sliding(stride, padding, dilation, groups)
    return correlate.results(xp, input, weight, bias, found, how)


@internal(
    vjp(
        "input: g convolved with weight; weight: the windows of g times input",
        input=lambda g, weight, stride, padding, dilation, groups, input_spec: convolved(
            g, conj(weight), None, input_spec.shape[2:], stride, padding, dilation, groups
        ),
        weight=lambda g, input, stride, padding, dilation, groups, weight_spec: window_products(
            g, conj(input), weight_spec.shape[2:], stride, padding, dilation, groups
        ),
        bias=_over_channels,
    ),
    keeps=("input", "weight"),
    spec=_images_spec,
    linear=("input", "weight"),
    batch=convolution,
    grad_name="ConvolutionBackward0",
)
def convolved_back(
    xp: Any, input: Array, weight: Array, bias: Array | None, size: Ints, stride: Ints,
    padding: Ints, dilation: Ints, groups: int,
) -> Array:  # fmt: skip
    """Each element times a weight, added up where the windows of a convolution lie."""
    how = Sliding(stride, padding, dilation, groups)
    return correlate.images(xp, input, weight, bias, size, how)


@internal(
    vjp(
        "input: other convolved back with g; other: input convolved with g",
        input=lambda g, other, stride, padding, dilation, groups, input_spec: convolved_back(
            conj(other), g, None, input_spec.shape[2:], stride, padding, dilation, groups
        ),
        other=lambda g, input, stride, padding, dilation, groups, other_spec: convolved(
            conj(input), g, None, other_spec.shape[2:], stride, padding, dilation, groups
        ),
    ),
    spec=lambda input, other, kernel, groups: input.with_(
        shape=(other.shape[1], input.shape[1] // groups, *kernel)
    ),
    linear=("input", "other"),
    batch=products_of_windows,
    grad_name="ConvolutionBackward0",
)
def window_products(
    xp: Any, input: Array, other: Array, kernel: Ints, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> Array:  # fmt: skip
    """The windows of an input times another tensor's elements, summed over samples and windows."""
    how = Sliding(stride, padding, dilation, groups)
    return correlate.weights(xp, input, other, kernel, how)
