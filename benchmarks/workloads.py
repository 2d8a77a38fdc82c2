"""Forward and backward of small models, in float32, written once over a `Library`.

Each takes a library and gives a call of which one execution is one step: the loss and its gradients
by every parameter. Sizes are those of the design's table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.libraries import Library

Step = Callable[[], tuple[Any, Sequence[Any]]]


class Source:
    """Seeded arrays, the same for every library."""

    def __init__(self, dtype: str = "float32") -> None:
        self._random = np.random.default_rng(0)
        self._dtype = dtype

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray[Any, Any]:
        return (scale * self._random.standard_normal(shape)).astype(self._dtype)

    def integers(self, bound: int, *shape: int) -> np.ndarray[Any, Any]:
        return self._random.integers(0, bound, shape)

    def labels(self, count: int, classes: int) -> np.ndarray[Any, Any]:
        return self._random.integers(0, classes, count)


def mlp(lib: Library) -> Step:
    """128 images of 784 pixels, 256 hidden units, 10 classes, cross entropy."""
    source = Source()
    functional = lib.ops.nn.functional
    x, y = lib.tensor(source.normal(128, 784)), lib.tensor(source.labels(128, 10))
    w1 = lib.tensor(source.normal(256, 784, scale=0.05), requires_grad=True)
    b1 = lib.tensor(source.normal(256, scale=0.05), requires_grad=True)
    w2 = lib.tensor(source.normal(10, 256, scale=0.05), requires_grad=True)
    b2 = lib.tensor(source.normal(10, scale=0.05), requires_grad=True)

    def step() -> tuple[Any, Sequence[Any]]:
        hidden = functional.relu(functional.linear(x, w1, b1))
        loss = functional.cross_entropy(functional.linear(hidden, w2, b2), y)
        return loss, lib.grad(loss, [w1, b1, w2, b2])

    return step


def block(lib: Library) -> Step:
    """A transformer block: 8 sequences of 128 by 256, 4 heads, an MLP of four times the width."""
    source = Source()
    ops, functional = lib.ops, lib.ops.nn.functional
    batch, length, width, heads = 8, 128, 256, 4
    x = lib.tensor(source.normal(batch, length, width))

    def weight(*shape: int) -> Any:
        return lib.tensor(source.normal(*shape, scale=0.05), requires_grad=True)

    wq, wk, wv, wo = (weight(width, width) for _ in range(4))
    w1, b1 = weight(4 * width, width), weight(4 * width)
    w2, b2 = weight(width, 4 * width), weight(width)
    g1, h1, g2, h2 = (weight(width) for _ in range(4))
    parameters = [wq, wk, wv, wo, w1, b1, w2, b2, g1, h1, g2, h2]

    def split(t: Any) -> Any:
        by_head = ops.reshape(t, (batch, length, heads, width // heads))
        return ops.transpose(by_head, 1, 2)

    def attend(t: Any) -> Any:
        q, k, v = (split(functional.linear(t, w)) for w in (wq, wk, wv))
        scores = ops.mul(ops.matmul(q, ops.transpose(k, 2, 3)), (width // heads) ** -0.5)
        mixed = ops.matmul(functional.softmax(scores, dim=-1), v)
        joined = ops.reshape(ops.transpose(mixed, 1, 2), (batch, length, width))
        return functional.linear(joined, wo)

    def step() -> tuple[Any, Sequence[Any]]:
        middle = ops.add(x, attend(functional.layer_norm(x, (width,), g1, h1)))
        inner = functional.linear(functional.layer_norm(middle, (width,), g2, h2), w1, b1)
        out = ops.add(middle, functional.linear(functional.gelu(inner), w2, b2))
        loss = ops.mean(ops.mul(out, out))
        return loss, lib.grad(loss, parameters)

    return step


def logreg(lib: Library) -> Step:
    """10 000 rows of 20 features, binary cross entropy with logits."""
    source = Source()
    x = lib.tensor(source.normal(10_000, 20))
    y = lib.tensor(source.labels(10_000, 2).astype(np.float32))
    w = lib.tensor(source.normal(20), requires_grad=True)
    b = lib.tensor(source.normal(1), requires_grad=True)
    ops, functional = lib.ops, lib.ops.nn.functional

    def step() -> tuple[Any, Sequence[Any]]:
        logits = ops.add(ops.matmul(x, w), b)
        loss = functional.binary_cross_entropy_with_logits(logits, y)
        return loss, lib.grad(loss, [w, b])

    return step


def softmax(lib: Library) -> Step:
    """(log_softmax · softmax).sum() of 512 rows of 4096."""
    x = lib.tensor(Source().normal(512, 4096), requires_grad=True)
    ops, functional = lib.ops, lib.ops.nn.functional

    def step() -> tuple[Any, Sequence[Any]]:
        product = ops.mul(functional.log_softmax(x, dim=-1), functional.softmax(x, dim=-1))
        loss = ops.sum(product)
        return loss, lib.grad(loss, [x])

    return step


def chain(lib: Library) -> Step:
    """GELU by tanh five times on a million elements, op by op as one writes the formula."""
    x = lib.tensor(Source().normal(1_000_000), requires_grad=True)
    ops = lib.ops

    def gelu(t: Any) -> Any:
        cubed = ops.mul(ops.mul(t, t), t)
        inner = ops.mul(ops.add(t, ops.mul(cubed, 0.044715)), 0.7978845608028654)
        return ops.mul(ops.mul(t, 0.5), ops.add(ops.tanh(inner), 1.0))

    def step() -> tuple[Any, Sequence[Any]]:
        t = x
        for _ in range(5):
            t = gelu(t)
        loss = ops.sum(t)
        return loss, lib.grad(loss, [x])

    return step


def lenet(lib: Library) -> Step:
    """64 images of 28 by 28, two convolutions with pools, three dense layers, cross entropy."""
    source = Source()
    ops, functional = lib.ops, lib.ops.nn.functional
    x, y = lib.tensor(source.normal(64, 1, 28, 28)), lib.tensor(source.labels(64, 10))

    def weight(*shape: int) -> Any:
        return lib.tensor(source.normal(*shape, scale=0.05), requires_grad=True)

    # in float32 two elements of a pool's window must not be so near that rounding picks the largest
    layers = [(weight(*shape), weight(shape[0])) for shape in ((6, 1, 5, 5), (16, 6, 5, 5))]
    dense = [(weight(*shape), weight(shape[0])) for shape in ((120, 256), (10, 120))]

    def step() -> tuple[Any, Sequence[Any]]:
        hidden = x
        for kernel, bias in layers:
            hidden = functional.relu(functional.conv2d(hidden, kernel, bias))
            hidden = functional.max_pool2d(hidden, 2)
        flat = ops.reshape(hidden, (64, 256))
        hidden = functional.relu(functional.linear(flat, *dense[0]))
        loss = functional.cross_entropy(functional.linear(hidden, *dense[1]), y)
        return loss, lib.grad(loss, [tensor for layer in (*layers, *dense) for tensor in layer])

    return step


def scalars(lib: Library) -> Step:
    """A thousand scalar ops, each on the result of the one before."""
    x = lib.tensor(np.array(0.5, np.float32), requires_grad=True)
    factor = lib.tensor(np.array(1.001, np.float32), requires_grad=True)
    ops = lib.ops

    def step() -> tuple[Any, Sequence[Any]]:
        t = x
        for _ in range(500):
            t = ops.add(ops.mul(t, factor), 0.001)
        return t, lib.grad(t, [x, factor])

    return step


def hess200(lib: Library) -> Step:
    """The Hessian of the Rosenbrock function in 200 variables, float64; torch row by row."""
    x = lib.tensor(np.random.default_rng(0).standard_normal(200))
    ops = lib.ops

    def rosenbrock(t: Any) -> Any:
        here, there = ops.narrow(t, 0, 0, 199), ops.narrow(t, 0, 1, 199)
        bend, slope = there - here * here, 1 - here
        return ops.sum(100 * bend * bend + slope * slope)

    def step() -> tuple[Any, Sequence[Any]]:
        return rosenbrock(x), [lib.hessian(rosenbrock, x, lib.vectorizes)]

    return step


WORKLOADS: dict[str, Callable[[Library], Step]] = {
    "mlp": mlp,
    "block": block,
    "logreg": logreg,
    "softmax": softmax,
    "chain": chain,
    "lenet": lenet,
    "scalars": scalars,
    "hess200": hess200,
}
