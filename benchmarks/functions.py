"""Torch's names for what workloads do, over any array library that is like NumPy.

So that a workload, written once over a `Library`, is a function of arrays: for libraries that
differentiate functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

Step = Callable[[], tuple[Any, Sequence[Any]]]


def names_of(xp: Any, special: Any, conv2d: Callable[[Any, Any], Any]) -> SimpleNamespace:
    """The ops over a library: its NumPy, its scipy.special, its convolution without padding."""
    return SimpleNamespace(
        mul=lambda a, b: a * b,
        add=lambda a, b: a + b,
        matmul=xp.matmul,
        tanh=xp.tanh,
        sum=xp.sum,
        mean=xp.mean,
        reshape=xp.reshape,
        transpose=xp.swapaxes,
        narrow=lambda x, axis, start, length: x[start : start + length],  # noqa: ARG005 - 0
        nn=SimpleNamespace(functional=_functional(xp, special, conv2d)),
    )


def _functional(xp: Any, special: Any, conv2d: Callable[[Any, Any], Any]) -> SimpleNamespace:
    def linear(x: Any, weight: Any, bias: Any = None) -> Any:
        # as a product of two matrices: of stacks, autograd's derivative is ten times slower
        rows = xp.matmul(xp.reshape(x, (-1, x.shape[-1])), weight.T)
        found = xp.reshape(rows, (*x.shape[:-1], weight.shape[0]))
        return found if bias is None else found + bias

    def log_softmax(x: Any, dim: int) -> Any:
        return x - special.logsumexp(x, axis=dim, keepdims=True)

    def softmax(x: Any, dim: int) -> Any:
        parts = xp.exp(x - xp.max(x, axis=dim, keepdims=True))
        return parts / xp.sum(parts, axis=dim, keepdims=True)

    def cross_entropy(x: Any, labels: Any) -> Any:
        return -xp.mean(log_softmax(x, 1)[np.arange(len(labels)), labels])

    def with_logits(x: Any, y: Any) -> Any:
        return xp.mean(xp.maximum(x, 0) - x * y + xp.log1p(xp.exp(-xp.abs(x))))

    def layer_norm(x: Any, shape: Any, weight: Any, bias: Any) -> Any:  # noqa: ARG001 - the last
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        variance = xp.mean(centred * centred, axis=-1, keepdims=True)
        return centred / xp.sqrt(variance + 1e-5) * weight + bias

    def max_pool2d(x: Any, size: int) -> Any:
        images, channels, height, width = x.shape
        split = (images, channels, height // size, size, width // size, size)
        return xp.max(xp.reshape(x, split), axis=(3, 5))

    return SimpleNamespace(
        linear=linear,
        relu=lambda x: xp.maximum(x, 0),
        gelu=lambda x: 0.5 * x * (1 + special.erf(x * 0.5**0.5)),
        softmax=softmax,
        log_softmax=log_softmax,
        cross_entropy=cross_entropy,
        binary_cross_entropy_with_logits=with_logits,
        layer_norm=layer_norm,
        conv2d=lambda x, weight, bias: conv2d(x, weight) + xp.reshape(bias, (-1, 1, 1)),
        max_pool2d=max_pool2d,
    )


class Noting:
    """A library that notes down what a workload makes, and what it differentiates by."""

    vectorizes = True

    def __init__(self, ops: Any, known: Sequence[Any] = ()) -> None:
        self.ops = ops
        self.made: list[np.ndarray[Any, Any]] = []
        self.moving: list[int] = []
        self._known = known
        self.curved: Callable[[Any], Any] | None = None

    def tensor(self, array: np.ndarray[Any, Any], requires_grad: bool = False) -> Any:
        place = len(self.made)
        self.made.append(array)
        self.moving += [place] * requires_grad
        return self._known[place] if self._known else array

    def grad(self, output: Any, inputs: Sequence[Any]) -> Sequence[Any]:  # noqa: ARG002
        return ()

    def hessian(self, function: Callable[[Any], Any], x: Any, vectorize: bool) -> Any:  # noqa: ARG002
        self.curved = function
        return ()


class Function:
    """A workload as a function of arrays. arrays: at which; moving: by which it is differentiated.

    curved: the function of the first whose Hessian is asked for, if one is.
    """

    def __init__(self, workload: Callable[[Any], Step], ops: Any) -> None:
        noting = Noting(ops)
        workload(noting)()
        self._workload, self._ops = workload, ops
        self.arrays, self.moving, self.curved = noting.made, noting.moving, noting.curved

    def __call__(self, *arrays: Any) -> Any:
        return self._workload(Noting(self._ops, arrays))()[0]
