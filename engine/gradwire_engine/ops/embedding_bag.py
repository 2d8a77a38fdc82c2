"""Bags of rows of a table, reduced to one row each, without the rows' copies in the result."""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import F, composite, internal
from gradwire_engine.ops.arithmetic import div, mul
from gradwire_engine.ops.embedding import embedding_rows, padding_row, renormed
from gradwire_engine.ops.expand import called, reshape
from gradwire_engine.ops.gather import gather, rows_sum
from gradwire_engine.ops.known import kind
from gradwire_engine.ops.pad import constant_pad_nd
from gradwire_engine.ops.views import narrow
from gradwire_engine.spec import DType, Spec, int64

MODES = ("sum", "mean", "max")


def _refused(what: str, hint: str, kind: type[Exception] = ValueError) -> Exception:
    return invalid_argument(f"embedding_bag: {what}", hint, raised=kind)


@internal(spec=lambda input: input.with_(dtype=int64), fallible=True, batch=leading)
def bags_of(
    xp: Any, input: Array, offsets: Array | None, width: int, count: int, padding: int | None
) -> Array:
    """The bag that each index is in; `count` for what is in none. Without offsets: by width."""
    size = input.shape[-1]
    places = xp.broadcast_to(xp.arange(size), input.shape)
    if offsets is None:
        bags = places // max(width, 1)
    else:
        _check_offsets(offsets, size)
        rows = _numbers(xp, offsets) * (size + 1)  # all examples' offsets in one sorted row
        flat = (offsets + rows).reshape(-1)
        found = xp.searchsorted(flat, (places + rows).reshape(-1), side="right")
        bags = found.reshape(input.shape) - 1 - _numbers(xp, offsets) * offsets.shape[-1]
        bags = xp.where((bags < 0) | (bags > count), count, bags)
    return bags if padding is None else xp.where(input == padding, count, bags)


def _numbers(xp: Any, array: Array) -> Any:
    """Of vectors one above the other the number of each, as a column; 0 where there is one."""
    lead = array.shape[:-1]
    return xp.arange(prod(lead)).reshape(*lead, 1) if lead else 0


def _check_offsets(offsets: Array, size: int) -> None:
    if offsets.size and (bool((offsets[..., 0] != 0).any()) or int(offsets[..., -1].max()) > size):
        raise _refused(
            f"offsets go from {int(offsets[..., 0].min())} to {int(offsets[..., -1].max())}, "
            f"there are {size} indices",
            "the first offset must be 0, the last one at most the number of indices",
            RuntimeError,
        )
    if bool((offsets[..., 1:] < offsets[..., :-1]).any()):
        raise _refused("an offset is smaller than the one before it", "sort them", RuntimeError)


@internal(
    spec=lambda bags, count, dtype: Spec((*bags.shape[:-1], count, 1), dtype, ""),
    batch=leading,
)
def bag_sizes(xp: Any, bags: Array, count: int, dtype: DType) -> Array:
    """How many indices each bag has, at least 1."""
    lead = bags.shape[:-1]
    flat = (bags + _numbers(xp, bags) * (count + 1)).reshape(-1)
    found = xp.bincount(flat, minlength=prod(lead) * (count + 1))
    return xp.maximum(found.reshape(*lead, count + 1, 1)[..., :count, :], 1)


@internal(
    spec=lambda rows, count: Spec((*rows.shape[:-2], count, rows.shape[-1]), int64, ""),
    batch=leading,
)
def bag_maxima(xp: Any, rows: Array, bags: Array, count: int) -> Array:
    """For each bag and column the first row with the maximum; the number of rows for no bag."""
    size, width = rows.shape[-2:]
    lead = rows.shape[:-2]
    flat = (bags + _numbers(xp, bags) * (count + 1)).reshape(-1)
    shape = (prod(lead) * (count + 1), width)
    keys = _in_order(xp, rows.reshape(-1, width))
    best = xp.full(shape, xp.iinfo(keys.dtype).min, keys.dtype)
    xp.maximum.at(best, flat, keys)
    at = xp.broadcast_to(xp.arange(size).reshape(size, 1), (*lead, size, 1)).reshape(-1, 1)
    candidates = xp.where(keys == best[flat], at, size)
    found = xp.full(shape, size, xp.int64)
    xp.minimum.at(found, flat, candidates)
    return found.reshape(*lead, count + 1, width)[..., :count, :]


def _in_order(xp: Any, array: Array) -> Array:
    """Whole numbers that are ordered as these floats are, NaN behind infinity.

    CuPy's `maximum.at` rounds float64 to float32.
    """
    bits = (array + 0).view(f"i{array.itemsize}")  # -0 and 0 are the same
    most = xp.iinfo(bits.dtype).max
    return xp.where(array != array, most, xp.where(bits < 0, bits ^ most, bits))


def _check(
    input: Any, weight: Any, offsets: Any, mode: str, shares: Any, by_frequency: bool, sparse: bool
) -> None:
    if mode not in MODES:
        raise _refused(f"mode is {mode!r}", f"it is one of {', '.join(MODES)}")
    if weight.ndim != 2 or input.ndim not in (1, 2):
        raise _refused(
            f"the input is {list(input.shape)}, the weight {list(weight.shape)}",
            "the weight must be a matrix, the input have one axis, or two for bags of one size",
        )
    if (input.ndim == 1) == (offsets is None) or (offsets is not None and offsets.ndim != 1):
        raise _refused(
            f"the input is {list(input.shape)}, "
            f"offsets {None if offsets is None else list(offsets.shape)}",
            "an input with one axis needs a vector of offsets, one with two must not have it",
        )
    if mode == "max" and (by_frequency or sparse):
        raise _refused("scale_grad_by_freq or sparse with mode 'max'", "leave them out")
    if sparse:
        raise _refused("there are no sparse gradients", "leave sparse out", NotImplementedError)
    if shares is not None and shares.shape != input.shape:
        raise _refused(
            f"per_sample_weights is {list(shares.shape)}, the input {list(input.shape)}",
            "give one number for each index",
        )
    if shares is not None and mode != "sum":
        raise _refused(
            f"per_sample_weights with mode {mode!r}", "they go with 'sum'", NotImplementedError
        )
    if kind(weight) not in "fV" or (shares is not None and shares.dtype != weight.dtype):
        raise dtype_mismatch(
            f"embedding_bag: the weight is {weight.dtype}, "
            f"per_sample_weights {None if shares is None else shares.dtype}",
            "both must have one floating dtype",
            raised=NotImplementedError if kind(weight) not in "fV" else RuntimeError,
        )


@composite(space=F)
def embedding_bag(
    input: Array,
    weight: Array,
    offsets: Array | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Array | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Array:
    """Sums, means or maxima of bags of a table's rows; offsets say where each bag begins."""
    _check(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse)
    padding = padding_row("embedding_bag", weight, padding_idx)
    if max_norm is not None:
        renormed("embedding_bag", input, weight, max_norm, norm_type)
    flat = reshape(input, (-1,)) if 0 not in input.shape else reshape(input, (0,))
    if offsets is None:
        count, width = input.shape
    else:
        count, width = offsets.shape[0] - include_last_offset, 0
        if count < 0:
            raise _refused("include_last_offset without offsets", "give the last one", RuntimeError)
    bags = bags_of(flat, offsets, width, count, padding)
    rows = embedding_rows(flat, weight, None, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = mul(rows, reshape(per_sample_weights, (flat.shape[0], 1)))
    found = _reduced(rows, bags, count, mode)
    return called("EmbeddingBagBackward0", found)


def _reduced(rows: Any, bags: Any, count: int, mode: str) -> Any:
    if mode == "max":
        padded = constant_pad_nd(rows, (0, 0, 0, 1), 0)  # a row of zeros for empty bags
        return gather(padded, 0, bag_maxima(rows, bags, count))
    total = narrow(rows_sum(rows, bags, 0, (count + 1, rows.shape[1])), 0, 0, count)
    return div(total, bag_sizes(bags, count, rows.dtype)) if mode == "mean" else total
