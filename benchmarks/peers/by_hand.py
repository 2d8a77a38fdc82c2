"""The workloads as somebody writes them in NumPy, with derivatives worked out on paper.

What is fast is done: buffers that are used again, elementwise work in blocks that stay in the
cache, batched walks. Each function gives a step, which gives the loss and its gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erf, expit

from benchmarks.functions import Function, names_of
from benchmarks.workloads import WORKLOADS

Array = Any
Hand = Callable[[list[Array]], Callable[[], tuple[Any, list[Array]]]]
BLOCK = 1 << 16
"""Elements of a block of elementwise work."""


def _classes(logits: Array, labels: Array) -> tuple[Any, Array]:
    """Cross entropy, and its gradient by the logits."""
    rows = np.arange(len(labels))
    shifted = logits - logits.max(1, keepdims=True)
    powers = np.exp(shifted)
    total = powers.sum(1, keepdims=True)
    loss = (np.log(total[:, 0]) - shifted[rows, labels]).mean()
    powers /= total
    powers[rows, labels] -= 1
    powers /= len(labels)
    return loss, powers


def mlp(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    x, y, w1, b1, w2, b2 = given
    hidden = np.empty((len(x), len(w1)), x.dtype)

    def step() -> tuple[Any, list[Array]]:
        np.matmul(x, w1.T, out=hidden)
        hidden.__iadd__(b1)
        np.maximum(hidden, 0, out=hidden)
        loss, g = _classes(hidden @ w2.T + b2, y)
        inner = g @ w2
        inner *= hidden > 0
        return loss, [inner.T @ x, inner.sum(0), g.T @ hidden, g.sum(0)]

    return step


def logreg(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    x, y, w, b = given

    def step() -> tuple[Any, list[Array]]:
        z = x @ w + b
        loss = (np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))).mean()
        g = (expit(z) - y) / np.float32(len(y))
        return loss, [g @ x, g.sum(keepdims=True)]

    return step


def softmax(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    (x,) = given
    rows = BLOCK // x.shape[1]
    logs, made = (np.empty((rows, x.shape[1]), x.dtype) for _ in range(2))
    out = np.empty_like(x)

    def step() -> tuple[Any, list[Array]]:
        loss = 0.0
        for start in range(0, len(x), rows):
            part = x[start : start + rows]
            np.subtract(part, part.max(1, keepdims=True), out=logs)
            np.exp(logs, out=made)
            total = made.sum(1, keepdims=True)
            np.subtract(logs, np.log(total), out=logs)
            np.divide(made, total, out=made)
            mean = np.einsum("ij,ij->i", logs, made)[:, None]
            loss += float(mean.sum())
            np.subtract(logs, mean, out=logs)
            np.multiply(made, logs, out=out[start : start + rows])
        return loss, [out]

    return step


def chain(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    (x,) = given
    scale, cube, out = np.float32(0.7978845608028654), np.float32(0.044715), np.empty_like(x)
    at, inner, waves, slopes, other = (np.empty(BLOCK, x.dtype) for _ in range(5))

    def gelu(n: int) -> None:
        """One link on a block: the value in place, and its slope times those before."""
        t, u, w, s, v = at[:n], inner[:n], waves[:n], slopes[:n], other[:n]
        np.multiply(t, t, out=u)
        np.multiply(u, cube, out=v)
        np.add(v, 1, out=w)
        np.multiply(w, t, out=w)
        np.multiply(w, scale, out=w)
        np.tanh(w, out=w)
        np.multiply(v, 3, out=v)  # 1 + 3 c t², by the scale: the slope of what tanh is of
        np.add(v, 1, out=v)
        np.multiply(v, scale, out=v)
        np.multiply(w, w, out=u)
        np.subtract(1, u, out=u)
        np.multiply(v, u, out=v)
        np.multiply(v, t, out=v)
        np.add(w, 1, out=w)
        np.add(v, w, out=v)
        np.multiply(v, 0.5, out=v)
        np.multiply(s, v, out=s)
        np.multiply(t, w, out=t)
        np.multiply(t, 0.5, out=t)

    def step() -> tuple[Any, list[Array]]:
        loss = 0.0
        for start in range(0, len(x), BLOCK):
            part = x[start : start + BLOCK]
            at[: len(part)] = part
            slopes[: len(part)] = 1
            for _ in range(5):
                gelu(len(part))
            loss += float(at[: len(part)].sum())
            out[start : start + BLOCK] = slopes[: len(part)]
        return loss, [out]

    return step


def _normalised(x: Array, weight: Array, bias: Array) -> tuple[Array, Array, Array]:
    """Layer norm; what it scales, and by what that was divided."""
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(np.einsum("ij,ij->i", centred, centred)[:, None] / x.shape[-1] + 1e-5)
    centred *= inverse.astype(x.dtype)
    return centred * weight + bias, centred, inverse.astype(x.dtype)


def _normalised_back(g: Array, centred: Array, inverse: Array, weight: Array) -> tuple[Array, ...]:
    by_weight, by_bias = np.einsum("ij,ij->j", g, centred), g.sum(0)
    g = g * weight
    along = np.einsum("ij,ij->i", g, centred)[:, None] / g.shape[-1]
    g -= g.mean(-1, keepdims=True)
    g -= centred * along
    g *= inverse
    return g, by_weight, by_bias


def block(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    x, wq, wk, wv, wo, w1, b1, w2, b2, g1, h1, g2, h2 = given
    batch, length, width = x.shape
    heads = 4
    size, flat = width // heads, x.reshape(-1, width)
    scale = np.float32(size**-0.5)

    def split(t: Array) -> Array:
        return np.ascontiguousarray(t.reshape(batch, length, heads, size).swapaxes(1, 2))

    def joined(t: Array) -> Array:
        return t.swapaxes(1, 2).reshape(-1, width)

    def step() -> tuple[Any, list[Array]]:
        first, c1, i1 = _normalised(flat, g1, h1)
        q, k, v = (split(first @ w.T) for w in (wq, wk, wv))
        q *= scale
        mixing = q @ k.swapaxes(2, 3)
        mixing -= mixing.max(-1, keepdims=True)
        np.exp(mixing, out=mixing)
        mixing /= mixing.sum(-1, keepdims=True)
        mixed = joined(mixing @ v)
        middle = flat + mixed @ wo.T
        second, c2, i2 = _normalised(middle, g2, h2)
        inner = second @ w1.T
        inner += b1
        normal = inner * np.float32(0.5**0.5)
        normal = erf(normal, out=normal)
        normal += 1
        normal *= 0.5
        active = inner * normal
        out = middle + active @ w2.T
        out += b2
        loss = np.vdot(out, out) / out.size

        g = out * np.float32(2 / out.size)
        by_w2, by_b2 = g.T @ active, g.sum(0)
        slope = np.multiply(inner, inner)
        slope *= -0.5
        np.exp(slope, out=slope)
        slope *= np.float32((2 * np.pi) ** -0.5)
        slope *= inner
        slope += normal
        slope *= g @ w2
        by_w1, by_b1 = slope.T @ second, slope.sum(0)
        back, by_g2, by_h2 = _normalised_back(slope @ w1, c2, i2, g2)
        g += back
        by_wo = g.T @ mixed
        gm = split(g @ wo)
        gv = mixing.swapaxes(2, 3) @ gm
        gs = gm @ v.swapaxes(2, 3)
        gs -= np.einsum("bhij,bhij->bhi", gs, mixing)[..., None]
        gs *= mixing
        gq, gk = gs @ k, gs.swapaxes(2, 3) @ q
        gq *= scale
        parts = [joined(t) for t in (gq, gk, gv)]
        by_q, by_k, by_v = (t.T @ first for t in parts)
        back = parts[0] @ wq + parts[1] @ wk + parts[2] @ wv
        _, by_g1, by_h1 = _normalised_back(back, c1, i1, g1)
        return loss, [by_q, by_k, by_v, by_wo, by_w1, by_b1, by_w2, by_b2,
                      by_g1, by_h1, by_g2, by_h2]  # fmt: skip

    return step


def _columns(x: Array, kernel: Array) -> Array:
    """Windows as rows of a matrix: (images × places, channels × window)."""
    seen = sliding_window_view(x, kernel.shape[2:], (2, 3)).transpose(0, 2, 3, 1, 4, 5)
    return seen.reshape(-1, kernel[0].size)


def _pooled(x: Array) -> tuple[Array, Array]:
    """The largest of each two by two, and where it is."""
    n, c, h, w = x.shape
    split = x.reshape(n, c, h // 2, 2, w // 2, 2)
    found = split.max((3, 5))
    return found, split == found[:, :, :, None, :, None]


def _unpooled(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    return (mask * g[:, :, :, None, :, None]).reshape(shape)


def lenet(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    x, y, k1, c1, k2, c2, w1, b1, w2, b2 = given

    def convolved(x: Array, kernel: Array, bias: Array) -> tuple[Array, Array]:
        n, size = len(x), x.shape[2] - kernel.shape[2] + 1
        columns = _columns(x, kernel)
        rows = columns @ kernel.reshape(len(kernel), -1).T
        rows += bias
        np.maximum(rows, 0, out=rows)
        made = rows.reshape(n, size, size, len(kernel)).transpose(0, 3, 1, 2)
        return np.ascontiguousarray(made), columns

    def step() -> tuple[Any, list[Array]]:
        a1, first = convolved(x, k1, c1)
        p1, m1 = _pooled(a1)
        a2, second = convolved(p1, k2, c2)
        p2, m2 = _pooled(a2)
        flat = p2.reshape(len(x), -1)
        hidden = np.maximum(flat @ w1.T + b1, 0)
        loss, g = _classes(hidden @ w2.T + b2, y)
        by_w2, by_b2 = g.T @ hidden, g.sum(0)
        g = (g @ w2) * (hidden > 0)
        by_w1, by_b1 = g.T @ flat, g.sum(0)
        g = _unpooled((g @ w1).reshape(p2.shape), m2, a2.shape) * (a2 > 0)
        rows = g.transpose(0, 2, 3, 1).reshape(-1, len(k2))
        by_k2, by_c2 = (rows.T @ second).reshape(k2.shape), rows.sum(0)
        windows = (rows @ k2.reshape(len(k2), -1)).reshape(
            *g.shape[:1], *g.shape[2:], *k2.shape[1:]
        )
        back, size = np.zeros_like(p1), g.shape[2]
        for i in range(k2.shape[2]):
            for j in range(k2.shape[3]):
                part = windows[..., i, j].transpose(0, 3, 1, 2)
                back[:, :, i : i + size, j : j + size] += part
        g = _unpooled(back, m1, a1.shape) * (a1 > 0)
        rows = g.transpose(0, 2, 3, 1).reshape(-1, len(k1))
        by_k1, by_c1 = (rows.T @ first).reshape(k1.shape), rows.sum(0)
        return loss, [by_k1, by_c1, by_k2, by_c2, by_w1, by_b1, by_w2, by_b2]

    return step


def scalars(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    x, factor = given[0][()], given[1][()]
    add = np.float32(0.001)

    def step() -> tuple[Any, list[Array]]:
        t, values = x, []
        for _ in range(500):
            values.append(t)
            t = t * factor + add
        g, by_factor = np.float32(1), np.float32(0)
        for value in reversed(values):
            by_factor += g * value
            g = g * factor
        return t, [g, by_factor]

    return step


def hess200(given: list[Array]) -> Callable[[], tuple[Any, list[Array]]]:
    (x,) = given
    near = np.arange(len(x) - 1)

    def step() -> tuple[Any, list[Array]]:
        here, there = x[:-1], x[1:]
        bend, slope = there - here * here, 1 - here
        found = np.zeros((len(x), len(x)))
        found[near, near] = 1200 * here * here - 400 * there + 2
        found[near + 1, near + 1] += 200
        found[near, near + 1] = found[near + 1, near] = -400 * here
        return (100 * bend * bend + slope * slope).sum(), [found]

    return step


HANDS: dict[str, Hand] = {
    f.__name__: f for f in (mlp, block, logreg, softmax, chain, lenet, scalars, hess200)
}


def _convolved(x: Array, weight: Array) -> Array:
    found = _columns(x, weight) @ weight.reshape(len(weight), -1).T
    size = [n - k + 1 for n, k in zip(x.shape[2:], weight.shape[2:], strict=True)]
    return found.reshape(len(x), *size, len(weight)).transpose(0, 3, 1, 2)


def prepare(workload: str) -> Callable[[], tuple[Any, list[Array]]]:
    """One step of a workload by hand."""
    from scipy import special

    function = Function(WORKLOADS[workload], names_of(np, special, _convolved))
    return HANDS[workload](function.arrays)
