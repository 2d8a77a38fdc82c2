"""Elements moved between channels and places; gates made of half of the channels."""

from __future__ import annotations

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, shape_mismatch
from gradwire_engine.families import F, composite
from gradwire_engine.ops.arithmetic import mul
from gradwire_engine.ops.axes import permute, transpose
from gradwire_engine.ops.expand import reshape
from gradwire_engine.ops.exponential import sigmoid
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.views import narrow
from gradwire_engine.signature import axis


@composite(name=F + "pixel_shuffle", aliases=("pixel_shuffle",), grad_name="PixelShuffleBackward0")
def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """Move channels to places: (..., C r², H, W) becomes (..., C, H r, W r)."""
    r = upscale_factor
    if input.ndim < 3 or r < 1 or input.shape[-3] % (r * r):
        raise shape_mismatch(
            f"pixel_shuffle: an input of {list(input.shape)} by a factor of {r}",
            "it takes (..., C, H, W), where the factor's square divides the channels",
        )
    *lead, channels, height, width = input.shape
    split = reshape(input, (*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    moved = permute(split, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(moved, (*lead, channels // (r * r), height * r, width * r))


@composite(
    name=F + "pixel_unshuffle", aliases=("pixel_unshuffle",), grad_name="PixelUnshuffleBackward0"
)
def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """Move places to channels: (..., C, H r, W r) becomes (..., C r², H, W)."""
    r = downscale_factor
    if input.ndim < 3 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise shape_mismatch(
            f"pixel_unshuffle: an input of {list(input.shape)} by a factor of {r}",
            "it takes (..., C, H, W), where the factor divides height and width",
        )
    *lead, channels, height, width = input.shape
    split = reshape(input, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    moved = permute(split, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(moved, (*lead, channels * r * r, height // r, width // r))


@composite(
    name=F + "channel_shuffle", aliases=("channel_shuffle",), grad_name="ChannelShuffleBackward0"
)
def channel_shuffle(input: Array, groups: int) -> Array:
    """Deal the channels out to groups, as cards are: (g n) channels become (n g)."""
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise shape_mismatch(
            f"channel_shuffle: {groups} groups of the channels of {list(input.shape)}",
            "it takes (N, C, ...), where groups divides C",
        )
    count, channels, *size = input.shape
    split = reshape(input, (count, groups, channels // groups, *size))
    return reshape(transpose(split, 1, 2), input.shape)


@composite(space=F, grad_name="GluBackward0")
def glu(input: Array, dim: int = -1) -> Array:
    """The first half of an axis times the sigmoid of the second."""
    if not input.ndim:
        raise shape_mismatch("glu: the input has no axes", "it halves one")
    if kind(input) not in "fV":
        raise dtype_mismatch(
            f"glu: takes floating tensors, not {input.dtype}",
            "convert the input",
            raised=NotImplementedError,
        )
    place = axis("glu", dim, input.ndim)
    size = input.shape[place]
    if size % 2:
        raise shape_mismatch(f"glu: axis {place} has {size} elements", "they must be even")
    half = size // 2
    return mul(narrow(input, place, 0, half), sigmoid(narrow(input, place, half, half)))
