"""Normalisation per channel: over batches, over groups of channels, over instances."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.accepted import COMPLEX, WHOLE, beside_input, refuse
from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.inplace import write
from gradwire_engine.mode import no_grad
from gradwire_engine.ops.arithmetic import div, mul, reciprocal, sub
from gradwire_engine.ops.cast import clone, to_dtype
from gradwire_engine.ops.expand import reshape, sum
from gradwire_engine.ops.exponential import rsqrt
from gradwire_engine.ops.normalize import native_layer_norm
from gradwire_engine.ops.pad import pad
from gradwire_engine.ops.power import pow, square
from gradwire_engine.ops.reduce import mean
from gradwire_engine.ops.views import select
from gradwire_engine.ops.windows import unfold

Affine = dict[str, Any]
"""Operands that hold one number per channel, by name; None where not given."""


def _by_channel(x: Any, ndim: int) -> Any:
    """A vector of one number per channel in a shape that broadcasts over an input."""
    return reshape(x, (1, -1, *[1] * (ndim - 2)))


def _check_channels(asked: str, input: Any, affine: Affine) -> None:
    if input.ndim < 2:
        raise shape_mismatch(
            f"{asked}: the input is {list(input.shape)}",
            "it needs at least two axes: batch and channels",
        )
    for name, x in affine.items():
        if x is not None and x.shape != (input.shape[1],):
            raise shape_mismatch(
                f"{asked}: {name} is {list(x.shape)}, the input has {input.shape[1]} channels",
                "give one number per channel",
            )
    refuse(asked, (*WHOLE, COMPLEX), input)
    beside_input(asked, input, **affine)


def _scaled(x: Any, weight: Any, bias: Any) -> Any:
    given = x.dtype
    if weight is not None:
        x = mul(x, _by_channel(weight, x.ndim))
    x = x if bias is None else x + _by_channel(bias, x.ndim)
    return x if x.dtype == given else to_dtype(x, given)  # a half beside float32


def _update(running: Any, fresh: Any, momentum: float) -> None:
    """Move a running statistic towards a fresh one, in place."""
    with no_grad():
        write("batch_norm", running, running * (1 - momentum) + reshape(fresh, (-1,)) * momentum)


def _several(asked: str, input: Any, count: int) -> None:
    if count <= 1:
        raise invalid_argument(
            f"{asked}: expected more than 1 value per channel when training, "
            f"the input is {list(input.shape)}",
            "use larger batches, or training=False",
            raised=ValueError,
        )


def _of_nothing(input: Any, weight: Any, bias: Any) -> Any:
    """No elements, of any shape: as in torch nothing is asked of the other operands."""
    found = clone(input)
    found = found if weight is None else mul(found, select(weight, 0, 0))
    return found if bias is None else found + select(bias, 0, 0)


@composite(space=F, grad_name="NativeBatchNormBackward0", settled=("running_mean", "running_var"))
def batch_norm(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None = None,
    bias: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array:
    """Normalise each channel, by the batch in training (updating what runs), else by what ran."""
    affine = {"running_mean": running_mean, "running_var": running_var}
    count = prod(size for axis, size in enumerate(input.shape) if axis != 1)
    if training and input.ndim and count == 1:
        _several("batch_norm", input, count)
    if 0 in input.shape:
        return _of_nothing(input, weight, bias)
    _check_channels("batch_norm", input, affine | {"weight": weight, "bias": bias})
    if not training:
        if running_mean is None or running_var is None:
            raise invalid_argument(
                "batch_norm: running_mean and running_var are needed when not training",
                "give both, or training=True",
            )
        middle = _by_channel(running_mean, input.ndim)
        scale = rsqrt(_by_channel(running_var, input.ndim) + eps)
        return _scaled(mul(sub(input, middle), scale), weight, bias)
    dims = (0, *range(2, input.ndim))
    middle = mean(input, dims, True)
    away = sub(input, middle)
    variance = mean(square(away), dims, True)
    if running_mean is not None:
        _update(running_mean, middle, momentum)
    if running_var is not None:
        _update(running_var, variance * (count / (count - 1)), momentum)
    return _scaled(mul(away, rsqrt(variance + eps)), weight, bias)


@composite(space=F, grad_name="NativeGroupNormBackward0")
def group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
    """Normalise each sample's channels in groups, then apply weight and bias per channel."""
    _check_channels("group_norm", input, {"weight": weight, "bias": bias})
    if num_groups < 1 or input.shape[1] % num_groups:
        raise invalid_argument(
            f"group_norm: {input.shape[1]} channels don't make {num_groups} equal groups",
            "the number of groups must divide the number of channels",
        )
    width = prod(input.shape[1:]) // num_groups
    groups = reshape(input, (input.shape[0] * num_groups, width))
    even = native_layer_norm(groups, (width,), None, None, eps)[0]
    return _scaled(reshape(even, input.shape), weight, bias)


@composite(space=F, grad_name="ViewBackward0", settled=("running_mean", "running_var"))
def instance_norm(
    input: Array,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    weight: Array | None = None,
    bias: Array | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array:
    """Normalise each channel of each sample over its places, as if it were a batch of its own."""
    affine = {"running_mean": running_mean, "running_var": running_var}
    _check_channels("instance_norm", input, affine | {"weight": weight, "bias": bias})
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = prod(input.shape[2:])
    _several("instance_norm", input, count)
    rows = reshape(input, (prod(input.shape[:2]), count))
    even, middle, scale = native_layer_norm(rows, (count,), None, None, eps)
    if running_mean is not None:
        _update(running_mean, _over_samples(middle, input), momentum)
    if running_var is not None:
        spread = _over_samples(reciprocal(square(scale)) - eps, input)
        _update(running_var, spread * (count / (count - 1)), momentum)
    return _scaled(reshape(even, input.shape), weight, bias)


def _over_samples(moments: Any, input: Any) -> Any:
    """The mean over the samples of what was measured for each channel of each sample."""
    return mean(reshape(moments, input.shape[:2]), (0,))


@composite(space=F)
def local_response_norm(
    input: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Array:
    """Divide by (k + alpha mean of squares over `size` neighbouring channels) to the power beta."""
    if input.ndim < 3 or size < 1:
        raise shape_mismatch(
            f"local_response_norm: the input is {list(input.shape)}, size is {size}",
            "it takes (N, C, ...) with at least three axes, and a size of 1 or more",
            raised=ValueError if input.ndim < 3 else RuntimeError,
        )
    if not prod(input.shape):
        return input
    around = (*[0] * (2 * (input.ndim - 2)), size // 2, (size - 1) // 2)
    windows = unfold(pad(square(input), around), 1, size, 1)
    whole = input.dtype.kind in "iu"  # then the mean is one of integers, as that of avg_pool
    near = sum(windows, (input.ndim,)) // size if whole else mean(windows, (input.ndim,))
    return div(input, pow(near * alpha + k, beta))
