"""Convolution's kernels: windows copied into columns, and a matrix product for each block of them.

A convolution is a form of three tensors, linear in each: images x (N, C, ...), weights w
(O, C / groups, ...) and results y (N, O, ...). Each kernel here computes one of them of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.shares import by_samples
from gradwire_engine.kernels.windows import Sizes, add_windows, blocks, padded, reach, windows
from gradwire_engine.long_calls import look, matmul

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
    out = xp.empty((x.shape[0], weight.shape[0], *found), x.dtype)

    def work(images: Array, made: Array) -> None:
        _results(xp, images, weight, found, how, made)
        if bias is not None:
            made += bias.reshape(-1, *[1] * len(found))

    by_samples(work, out.size * prod(weight.shape[1:]), x, out)
    return out


def _results(xp: Any, x: Array, weight: Array, found: Sizes, how: Sliding, out: Array) -> None:
    kernel = weight.shape[2:]
    matrix = weight.reshape(how.groups, weight.shape[0] // how.groups, prod(weight.shape[1:]))
    if _pointwise(kernel, how) and prod(found) >= 64:
        image = x.reshape(x.shape[0], how.groups, weight.shape[1], prod(found))
        made = out.reshape(*image.shape[:2], matrix.shape[1], prod(found))
        matmul(xp, matrix, image, out=made)
        return
    for columns, samples, rows in _columns(xp, x, kernel, found, how):
        look()
        part = out[samples, :, rows]
        part[...] = _by_sample(xp.matmul(matrix, columns), part.shape)


def images(
    xp: Any, y: Array, weight: Array, bias: Array | None, size: Sizes, how: Sliding
) -> Array:
    """x: what each y times w adds to its window, summed; the transposed convolution of y."""
    if _turns(weight.shape, y.shape, size, how) and not (
        _pointwise(weight.shape[2:], how) and prod(size) >= 64
    ):
        return _turned(xp, y, weight, bias, size, how)
    out = xp.empty((y.shape[0], weight.shape[1] * how.groups, *size), y.dtype)

    def work(given: Array, made: Array) -> None:
        _images(xp, given, weight, how, made)
        if bias is not None:
            made += bias.reshape(-1, *[1] * len(size))

    by_samples(work, y.size * prod(weight.shape[1:]), y, out)
    return out


def _images(xp: Any, y: Array, weight: Array, how: Sliding, out: Array) -> None:
    kernel, size = weight.shape[2:], out.shape[2:]
    matrix = weight.reshape(how.groups, weight.shape[0] // how.groups, prod(weight.shape[1:]))
    matrix = matrix.swapaxes(-1, -2)
    if _pointwise(kernel, how) and prod(size) >= 64 and y.shape[2:] == size:
        rows = y.reshape(y.shape[0], how.groups, matrix.shape[-1], prod(size))
        made = out.reshape(*rows.shape[:2], matrix.shape[1], prod(size))
        matmul(xp, matrix, rows, out=made)
        return
    out[...] = 0
    _add_images(xp, out, y, matrix, kernel, how)


def _turns(weight: Sizes, y: Sizes, size: Sizes, how: Sliding) -> bool:
    """Whether y's windows, as columns, are less work than what each y adds to its window.

    They have to be as many as x has elements: output_padding asks for more.
    """
    spans = [reach(k, d) - 1 for k, d in zip(weight[2:], how.dilation, strict=True)]
    rest = zip(how.padding, spans, y[2:], size, strict=True)
    inside = all(p <= span and m <= n + span - 2 * p for p, span, n, m in rest)
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
        look()
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
    shape = (y.shape[1], x.shape[1] // how.groups, *kernel)

    def work(images: Array, made: Array) -> Array:
        return _weights(xp, images, made, kernel, how)

    first, *others = by_samples(work, y.size * prod(shape[1:]), x, y)
    for other in others:
        first += other
    return first.reshape(shape)


def _weights(xp: Any, x: Array, y: Array, kernel: Sizes, how: Sliding) -> Array:
    groups, places = how.groups, x.shape[1] * prod(kernel)
    total = xp.zeros((groups, y.shape[1] // groups, places // groups), x.dtype)
    for columns, samples, rows in _columns(xp, x, kernel, y.shape[2:], how):
        look()
        total += xp.matmul(_rows(y[samples, :, rows], groups), columns.swapaxes(-1, -2))
    return total


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
        wide = prod(part.shape[1 + axes :])
        yield columns.reshape(how.groups, places // how.groups, wide), samples, rows


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
