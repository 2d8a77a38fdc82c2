"""Kinds of ops, each at a small and a large size, as calls written once over a `Library`.

The small ones show what a call costs beside its arithmetic, the large ones the arithmetic. Sizes
are those that models and notebooks have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.libraries import Engine, Library
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
        arrays = self._arrays(source)
        tensors = [lib.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        inputs = [t for t, a in zip(tensors, arrays, strict=True) if a.dtype.kind == "f"]
        cotangents: list[Any] = []

        def step() -> Made:
            results = self._results(lib, tensors)
            if not cotangents:
                drawn = (_weighted(source, lib.numpy(result)) for result in results)
                cotangents.extend(map(lib.tensor, drawn))
            return results, lib.pull(results, inputs, cotangents)

        return step

    def planned(self, dtype: str = "float32") -> Callable[[], Made]:
        """The same as one plan of the engine, to which operands and cotangents are given."""
        from gradwire_engine.plan import plan_of
        from gradwire_engine.spec import Spec, dtype_of

        source, lib = Source(dtype), Engine()
        arrays = self._arrays(source)
        count = len(arrays)
        results = self._results(lib, map(lib.tensor, arrays))
        given = [*arrays, *(_weighted(source, lib.numpy(result)) for result in results)]

        def function(*tensors: Any) -> list[Any]:
            inputs = [t.requires_grad_() for t in tensors[:count] if t.dtype.differentiable]
            found = self._results(lib, tensors[:count])
            return [*found, *lib.pull(found, inputs, tensors[count:])]

        plan = plan_of(function, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in given])

        def step() -> Made:
            with np.errstate(all="ignore"):
                made = plan.run(given)
            return made[: len(results)], made[len(results) :]

        return step

    def _results(self, lib: Library, tensors: Iterable[Any]) -> list[Any]:
        found = self.call(lib.ops, *tensors)
        return found if isinstance(found, list) else [found]

    def _arrays(self, source: Source) -> list[np.ndarray[Any, Any]]:
        return [
            source.integers(o[1], *o[0]) if isinstance(o[0], tuple) else source.normal(*o)
            for o in self.operands
        ]


def _weighted(source: Source, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    weighted: np.ndarray[Any, Any] = array * source.normal(*array.shape)
    return weighted.astype(array.dtype)


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
