"""Kinds of ops, each at a small and a large size, as calls written once over a `Library`.

The small ones show what a call costs beside its arithmetic, the large ones the arithmetic. Sizes
are those that models and notebooks have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.libraries import Library
from benchmarks.workloads import Source

Made = tuple[Sequence[Any], Sequence[Any]]
"""The results of a call, and the gradients of its floating operands."""


class Row:
    """A call of an op on arrays of these shapes, its results' cotangents drawn once.

    call: from the library's ops and tensors to a tensor or several. operands: shapes of normal
    numbers, which get a gradient, or (shape, bound) of integers below the bound, which don't.
    """

    def __init__(self, call: Callable[..., Any], *operands: Any) -> None:
        self.call = call
        self.operands = operands

    def prepare(self, lib: Library, dtype: str = "float32") -> Callable[[], Made]:
        """The call forward and backward on a library.

        A cotangent is the result itself times fixed numbers: so gradients don't depend on the signs
        of singular vectors.
        """
        source = Source(dtype)
        tensors, inputs = self._tensors(lib, source)
        cotangents: list[Any] = []

        def step() -> Made:
            found = self.call(lib.ops, *tensors)
            results = found if isinstance(found, list) else [found]
            if not cotangents:
                cotangents.extend(_weighted(lib, source, result) for result in results)
            return results, lib.pull(results, inputs, cotangents)

        return step

    def _tensors(self, lib: Library, source: Source) -> tuple[list[Any], list[Any]]:
        tensors, inputs = [], []
        for operand in self.operands:
            if isinstance(operand[0], tuple):
                shape, bound = operand
                tensors.append(lib.tensor(source.integers(bound, *shape)))
            else:
                tensors.append(lib.tensor(source.normal(*operand), requires_grad=True))
                inputs.append(tensors[-1])
        return tensors, inputs


def _weighted(lib: Library, source: Source, result: Any) -> Any:
    array = lib.numpy(result)
    weights = source.normal(*array.shape)
    return lib.tensor((array * weights).astype(array.dtype))


def _conv(**options: Any) -> Callable[..., Any]:
    return lambda ops, x, w, b: ops.nn.functional.conv2d(x, w, b, **options)


def _conv_back(ops: Any, x: Any, w: Any, b: Any) -> Any:
    return ops.nn.functional.conv_transpose2d(x, w, b, stride=2, padding=1)


def _max_pool(*window: int) -> Callable[..., Any]:
    return lambda ops, x: ops.nn.functional.max_pool2d(x, *window)


def _avg_pool(*window: int) -> Callable[..., Any]:
    return lambda ops, x: ops.nn.functional.avg_pool2d(x, *window)


def _attend(**options: Any) -> Callable[..., Any]:
    return lambda ops, q, k, v: ops.nn.functional.scaled_dot_product_attention(q, k, v, **options)


def _einsum(equation: str) -> Callable[..., Any]:
    return lambda ops, *operands: ops.einsum(equation, operands)


def _svd(ops: Any, a: Any) -> Any:
    return list(ops.linalg.svd(a, full_matrices=False))


def _solve(ops: Any, a: Any, b: Any) -> Any:
    return ops.linalg.solve(a, b)


def _fft(ops: Any, x: Any) -> Any:
    return ops.fft.fft(x)


def _sample(ops: Any, x: Any, grid: Any) -> Any:
    return ops.nn.functional.grid_sample(x, grid, align_corners=False)


def _scatter(ops: Any, x: Any, index: Any, source: Any) -> Any:
    return ops.scatter_add(x, 0, index, source)


def _index_add(ops: Any, x: Any, index: Any, source: Any) -> Any:
    return ops.index_add(x, 0, index, source)


IMAGE, IMAGES, CHANNELS = (1, 3, 16, 16), (16, 64, 56, 56), (64,)
HEADS, MANY_HEADS = (1, 2, 16, 16), (4, 8, 512, 64)

KINDS: Mapping[str, Mapping[str, Row]] = {
    "convolution": {
        "conv2d of 1×3×16×16": Row(_conv(padding=1), IMAGE, (8, 3, 3, 3), (8,)),
        "conv2d of 16×64×56×56": Row(_conv(padding=1), IMAGES, (64, 64, 3, 3), CHANNELS),
        "depthwise conv2d of 1×8×16×16": Row(
            _conv(padding=1, groups=8), (1, 8, 16, 16), (8, 1, 3, 3), (8,)
        ),
        "depthwise conv2d of 16×64×56×56": Row(
            _conv(padding=1, groups=64), IMAGES, (64, 1, 3, 3), CHANNELS
        ),
        "conv_transpose2d of 1×8×8×8": Row(_conv_back, (1, 8, 8, 8), (8, 4, 4, 4), (4,)),
        "conv_transpose2d of 8×64×28×28": Row(_conv_back, (8, 64, 28, 28), (64, 32, 4, 4), (32,)),
    },
    "pooling": {
        "max_pool2d of 1×3×16×16, windows of 2": Row(_max_pool(2), IMAGE),
        "max_pool2d of 16×64×56×56, windows of 2": Row(_max_pool(2), IMAGES),
        "max_pool2d of 16×64×56×56, windows of 3, stride 2": Row(_max_pool(3, 2, 1), IMAGES),
        "avg_pool2d of 1×3×16×16, windows of 2": Row(_avg_pool(2), IMAGE),
        "avg_pool2d of 16×64×56×56, windows of 2": Row(_avg_pool(2), IMAGES),
    },
    "attention": {
        "attention of 1×2×16×16": Row(_attend(), HEADS, HEADS, HEADS),
        "attention of 4×8×512×64": Row(_attend(), MANY_HEADS, MANY_HEADS, MANY_HEADS),
        "causal attention of 4×8×512×64": Row(
            _attend(is_causal=True), MANY_HEADS, MANY_HEADS, MANY_HEADS
        ),
    },
    "sort": {
        "sort of 100": Row(lambda ops, x: ops.sort(x)[0], (100,)),
        "sort of a million": Row(lambda ops, x: ops.sort(x)[0], (1_000_000,)),
    },
    "cumsum": {
        "cumsum of 100": Row(lambda ops, x: ops.cumsum(x, 0), (100,)),
        "cumsum of a million": Row(lambda ops, x: ops.cumsum(x, 0), (1_000_000,)),
        "cumsum of the rows of 1000×1000": Row(lambda ops, x: ops.cumsum(x, 0), (1000, 1000)),
    },
    "scatter": {
        "scatter_add of 100": Row(_scatter, (32,), ((100,), 32), (100,)),
        "scatter_add of a million": Row(
            _scatter, (100_000,), ((1_000_000,), 100_000), (1_000_000,)
        ),
        "index_add of 20 000 rows of 64": Row(
            _index_add, (1000, 64), ((20_000,), 1000), (20_000, 64)
        ),
    },
    "einsum": {
        "einsum of bij,bjk->bik, 2×4×4": Row(_einsum("bij,bjk->bik"), (2, 4, 4), (2, 4, 4)),
        "einsum of bij,bjk->bik, 64×128×128": Row(
            _einsum("bij,bjk->bik"), (64, 128, 128), (64, 128, 128)
        ),
        "einsum of bqhd,bkhd->bhqk, 8×128×4×64": Row(
            _einsum("bqhd,bkhd->bhqk"), (8, 128, 4, 64), (8, 128, 4, 64)
        ),
        "einsum of bi,ijk,bj->bk, 64×128": Row(
            _einsum("bi,ijk,bj->bk"), (64, 128), (128, 128, 32), (64, 128)
        ),
    },
    "svd": {
        "svd of 8×8": Row(_svd, (8, 8)),
        "svd of 64 of 8×8": Row(_svd, (64, 8, 8)),
        "svd of 256×256": Row(_svd, (256, 256)),
    },
    "solve": {
        "solve of 8×8": Row(_solve, (8, 8), (8,)),
        "solve of 64 of 8×8": Row(_solve, (64, 8, 8), (64, 8, 4)),
        "solve of 512×512": Row(_solve, (512, 512), (512, 16)),
    },
    "fft": {
        "fft of 64": Row(_fft, (64,)),
        "fft of 2²⁰": Row(_fft, (1 << 20,)),
        "fft2 of 16×256×256": Row(lambda ops, x: ops.fft.fft2(x), (16, 256, 256)),
    },
    "grid_sample": {
        "grid_sample of 1×3×16×16": Row(_sample, IMAGE, (1, 16, 16, 2)),
        "grid_sample of 8×16×64×64": Row(_sample, (8, 16, 64, 64), (8, 64, 64, 2)),
    },
}
"""Of each kind the calls by name, a small one first."""
