"""Convolution's kernels: windows copied into columns, and a matrix product for each block of them.

A convolution is a form of three tensors, linear in each: images x (N, C, ...), weights w
(O, C / groups, ...) and results y (N, O, ...). Each kernel here computes one of them of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.windows import Sizes, add_windows, blocks, padded, reach, windows

LIMIT = 1 << 20
"""Bytes of the columns that are made at a time, always in the same memory: they are read again
before they leave the cache, and bound what a convolution takes beside operands and result."""


class Sliding(NamedTuple):
    """How the windows move: stride, padding on both sides and dilation for each axis."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int


def results(
    xp: Any, x: Array, weight: Array, bias: Array | None, found: Sizes, how: Sliding
) -> Array:
    """y: the sum over channels and window of x times w, plus a bias for each channel."""
    kernel = weight.shape[2:]
    shape = (x.shape[0], weight.shape[0], *found)
    matrix = weight.reshape(how.groups, shape[1] // how.groups, prod(weight.shape[1:]))
    if _pointwise(kernel, how) and prod(found) >= 64:
        image = x.reshape(x.shape[0], how.groups, weight.shape[1], prod(found))
        out = xp.matmul(matrix, image).reshape(shape)
    else:
        out = xp.empty(shape, x.dtype)
        for columns, samples, rows in _columns(xp, x, kernel, found, how):
            part = out[samples, :, rows]
            part[...] = _by_sample(xp.matmul(matrix, columns), part.shape)
    if bias is not None:
        out += bias.reshape(-1, *[1] * len(kernel))
    return out


def images(
    xp: Any, y: Array, weight: Array, bias: Array | None, size: Sizes, how: Sliding
) -> Array:
    """x: what each y times w adds to its window, summed; the transposed convolution of y."""
    kernel, channels = weight.shape[2:], weight.shape[1] * how.groups
    shape = (y.shape[0], channels, *size)
    matrix = weight.reshape(how.groups, weight.shape[0] // how.groups, prod(weight.shape[1:]))
    matrix = matrix.swapaxes(-1, -2)
    if _pointwise(kernel, how) and prod(size) >= 64 and y.shape[2:] == size:
        rows = y.reshape(y.shape[0], how.groups, matrix.shape[-1], prod(size))
        out = xp.matmul(matrix, rows).reshape(shape)
    elif _turns(weight.shape, how):
        return _turned(xp, y, weight, bias, size, how)
    else:
        out = xp.zeros(shape, y.dtype)
        _add_images(xp, out, y, matrix, kernel, how)
    if bias is not None:
        out += bias.reshape(-1, *[1] * len(kernel))
    return out


def _turns(weight: Sizes, how: Sliding) -> bool:
    """Whether y's windows, as columns, are less work than what each y adds to its window."""
    spans = [reach(k, d) - 1 for k, d in zip(weight[2:], how.dilation, strict=True)]
    inside = all(p <= span for p, span in zip(how.padding, spans, strict=True))
    return inside and set(how.stride) == {1} and weight[0] // how.groups <= 2 * weight[1]


def _turned(
    xp: Any, y: Array, weight: Array, bias: Array | None, size: Sizes, how: Sliding
) -> Array:
    """x as a convolution of y, with the weight's channels exchanged and its places reversed."""
    kernel = weight.shape[2:]
    back = (slice(None),) * 3 + (slice(None, None, -1),) * len(kernel)
    split = weight.reshape(how.groups, weight.shape[0] // how.groups, *weight.shape[1:])
    turned = xp.ascontiguousarray(split[back].swapaxes(1, 2))
    turned = turned.reshape(how.groups * weight.shape[1], split.shape[1], *kernel)
    spans = (reach(k, d) - 1 for k, d in zip(kernel, how.dilation, strict=True))
    padding = tuple(span - p for span, p in zip(spans, how.padding, strict=True))
    return results(xp, y, turned, bias, size, how._replace(padding=padding))


def _add_images(xp: Any, out: Array, y: Array, matrix: Array, kernel: Sizes, how: Sliding) -> None:
    places, found = out.shape[1] * prod(kernel), y.shape[2:]
    memory: Any = None
    for samples, rows in blocks(y.shape[0], found[0], _row_bytes(places, found, y.itemsize), LIMIT):
        part = y[samples, :, rows]
        given = _rows(part, how.groups)
        shape = (how.groups, places // how.groups, given.shape[2])
        memory = xp.empty(prod(shape), y.dtype) if memory is None else memory
        columns = xp.matmul(matrix, given, out=memory[: prod(shape)].reshape(shape))
        columns = columns.reshape(out.shape[1], *kernel, part.shape[0], *part.shape[2:])
        axes = len(kernel)
        columns = columns.transpose(1 + axes, *range(1 + axes), *range(2 + axes, 2 + 2 * axes))
        before = how.padding[0] - rows.start * how.stride[0]  # of the first of these windows
        padding = (before, *how.padding[1:])
        add_windows(out[samples], columns, kernel, how.stride, padding, how.dilation)


def weights(xp: Any, x: Array, y: Array, kernel: Sizes, how: Sliding) -> Array:
    """w: for each place in the window the sum over samples and windows of y times x there."""
    groups, channels = how.groups, x.shape[1] // how.groups
    shape = (y.shape[1], channels, *kernel)
    total = xp.zeros((groups, y.shape[1] // groups, prod(shape[1:])), x.dtype)
    for columns, samples, rows in _columns(xp, x, kernel, y.shape[2:], how):
        total += xp.matmul(_rows(y[samples, :, rows], groups), columns.swapaxes(-1, -2))
    return total.reshape(shape)


def _pointwise(kernel: Sizes, how: Sliding) -> bool:
    """Whether each window is one element, and each element is in one."""
    return prod(kernel) == 1 and set(how.stride) <= {1} and not any(how.padding)


def _columns(
    xp: Any, x: Array, kernel: Sizes, found: Sizes, how: Sliding
) -> Iterator[tuple[Array, slice, slice]]:
    """Blocks of windows as matrices (groups, places in a window, windows), one after the other.

    With them the samples and the rows of windows that they are. Their memory is used again.
    """
    axes, places = len(kernel), x.shape[1] * prod(kernel)
    order = (*range(1, 2 + axes), 0, *range(2 + axes, 2 + 2 * axes))
    memory = seen = None
    current: Any = None
    for samples, rows in blocks(x.shape[0], found[0], _row_bytes(places, found, x.itemsize), LIMIT):
        if samples != current:
            plane = padded(xp, x[samples], how.padding, how.padding)
            seen = windows(xp, plane, kernel, how.stride, how.dilation)
            seen = seen[(..., *(slice(n) for n in found))]  # more may fit than are wanted
            seen = seen.transpose(order)  # (C, places, N, windows)
            current = samples
        assert seen is not None
        part = seen[(*(slice(None),) * (2 + axes), rows)]
        memory = xp.empty(part.size, x.dtype) if memory is None else memory
        columns = memory[: part.size]
        columns.reshape(part.shape)[...] = part
        yield columns.reshape(how.groups, places // how.groups, -1), samples, rows


def _row_bytes(places: int, found: Sizes, itemsize: int) -> int:
    """What a row of windows, those beside each other along the first axis, takes as columns."""
    return places * prod(found[1:]) * itemsize


def _rows(y: Array, groups: int) -> Array:
    """Results of some samples as matrices (groups, channels, samples and windows)."""
    wide = y.shape[0] * prod(y.shape[2:])
    return y.swapaxes(0, 1).reshape(groups, y.shape[1] // groups, wide)


def _by_sample(rows: Array, shape: Sizes) -> Array:
    """Those matrices as results again: (samples, channels, windows)."""
    return rows.reshape(shape[1], shape[0], *shape[2:]).swapaxes(0, 1)
