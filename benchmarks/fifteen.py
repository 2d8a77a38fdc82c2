"""Fifteen losses as users of torch write them, each a function of the tensors it is learnt by.

A program takes the module that is called torch, and gives the function and its parameters. Op by op
a step is the loss and its gradients; compiled, one call of `compile(func.grad_and_value(…))`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, NamedTuple


class Loss(NamedTuple):
    """A function of parameters that gives one number, and the parameters that it is learnt by."""

    function: Callable[..., Any]
    parameters: Sequence[Any]


Program = Callable[[Any], Loss]


def mlp(torch: Any) -> Loss:
    """64 images of 784 pixels, 128 hidden units, 10 classes."""
    functional = torch.nn.functional
    x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))

    def loss(w: Any, b: Any, v: Any, c: Any) -> Any:
        hidden = functional.relu(functional.linear(x, w, b))
        return functional.cross_entropy(functional.linear(hidden, v, c), y)

    return Loss(loss, _normal(torch, (128, 784), (128,), (10, 128), (10,)))


def gelu_chain(torch: Any) -> Loss:
    """GELU by tanh five times on 10,000 elements, as one writes the formula."""

    def loss(x: Any) -> Any:
        for _ in range(5):
            x = 0.5 * x * (1 + torch.tanh(sqrt(2 / torch.pi) * (x + 0.044715 * x**3)))
        return x.sum()

    return Loss(loss, [torch.randn(10_000)])


def block(torch: Any) -> Loss:
    """A transformer block with 4 heads on 4×32×64, written out."""
    functional = torch.nn.functional
    x = torch.randn(4, 32, 64)

    def loss(q: Any, k: Any, v: Any, o: Any, w: Any, b: Any, u: Any, c: Any, g: Any, h: Any) -> Any:
        normed = functional.layer_norm(x, (64,), g, h)
        heads = [(normed @ m).view(4, 32, 4, 16).transpose(1, 2) for m in (q, k, v)]
        scores = heads[0] @ heads[1].transpose(-2, -1) / 4.0
        mixed = (scores.softmax(-1) @ heads[2]).transpose(1, 2).reshape(4, 32, 64)
        middle = x + mixed @ o
        return (middle + functional.gelu(middle @ w + b) @ u + c).pow(2).mean()

    shapes = [(64, 64)] * 4 + [(64, 128), (128,), (128, 64), (64,), (64,), (64,)]
    return Loss(loss, _normal(torch, *shapes))


def conv_net(torch: Any) -> Loss:
    """Two convolutions with pools and a dense layer on 16 images of 16×16."""
    functional = torch.nn.functional
    x, y = torch.randn(16, 1, 16, 16), torch.randint(0, 10, (16,))

    def loss(k: Any, b: Any, m: Any, c: Any, w: Any, d: Any) -> Any:
        hidden = functional.max_pool2d(functional.relu(functional.conv2d(x, k, b, padding=1)), 2)
        hidden = functional.max_pool2d(functional.relu(functional.conv2d(hidden, m, c)), 2)
        return functional.cross_entropy(functional.linear(hidden.flatten(1), w, d), y)

    return Loss(loss, _normal(torch, (4, 1, 3, 3), (4,), (8, 4, 3, 3), (8,), (10, 72), (10,)))


def logistic_regression(torch: Any) -> Loss:
    """1,000 rows of 20 features, with a penalty."""
    x, y = torch.randn(1000, 20), torch.randint(0, 2, (1000,)).float()

    def loss(w: Any, b: Any) -> Any:
        logits = x @ w + b
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
        return entropy + 0.01 * (w * w).sum()

    return Loss(loss, _normal(torch, (20,), ()))


def softmax(torch: Any) -> Loss:
    """The entropy of 64 rows of 512."""

    def loss(x: Any) -> Any:
        return -(torch.log_softmax(x, dim=-1) * torch.softmax(x, dim=-1)).sum(-1).mean()

    return Loss(loss, [torch.randn(64, 512)])


def scalar_loop(torch: Any) -> Loss:
    """s = sin(s) * a a hundred times, on one number."""

    def loss(s: Any, a: Any) -> Any:
        for _ in range(100):
            s = torch.sin(s) * a
        return s

    return Loss(loss, [torch.tensor(0.5), torch.tensor(1.01)])


def n_body(torch: Any) -> Loss:
    """The energy of 32 bodies that pull at each other."""
    masses = torch.rand(32) + 0.5
    upper = torch.triu(torch.ones(32, 32), 1)

    def loss(x: Any) -> Any:
        apart = x[:, None, :] - x[None, :, :]
        near = (apart.pow(2).sum(-1) + 0.01).sqrt()
        return -(upper * masses[:, None] * masses[None, :] / near).sum()

    return Loss(loss, [torch.randn(32, 3)])


def mixture(torch: Any) -> Loss:
    """The log likelihood of 500 points under 8 Gaussians."""
    x = torch.randn(500, 2)

    def loss(means: Any, log_scales: Any, logits: Any) -> Any:
        z = (x[:, None, :] - means) * torch.exp(-log_scales)
        parts = -0.5 * (z * z).sum(-1) - log_scales.sum(-1) + torch.log_softmax(logits, 0)
        return -torch.logsumexp(parts, dim=1).mean()

    return Loss(loss, _normal(torch, (8, 2), (8, 2), (8,)))


def black_scholes(torch: Any) -> Loss:
    """The prices of 1,000 calls."""
    strikes = torch.rand(1000) * 50 + 75

    def loss(spot: Any, volatility: Any, rate: Any) -> Any:
        years = 0.5
        spread = volatility * sqrt(years)
        d = (torch.log(spot / strikes) + (rate + volatility**2 / 2) * years) / spread
        normal = [0.5 * (1 + torch.erf(z / sqrt(2))) for z in (d, d - spread)]
        return (spot * normal[0] - strikes * torch.exp(-rate * years) * normal[1]).mean()

    return Loss(loss, [torch.tensor(100.0), torch.tensor(0.2), torch.tensor(0.03)])


def gru_by_hand(torch: Any) -> Loss:
    """Ten steps of a gated unit of 32 on a batch of 16, its gates written out."""
    x = torch.randn(10, 16, 8)

    def loss(wz: Any, uz: Any, wr: Any, ur: Any, wn: Any, un: Any) -> Any:
        h = torch.zeros(16, 32)
        for t in range(10):
            z = torch.sigmoid(x[t] @ wz + h @ uz)
            r = torch.sigmoid(x[t] @ wr + h @ ur)
            n = torch.tanh(x[t] @ wn + (r * h) @ un)
            h = (1 - z) * n + z * h
        return h.pow(2).mean()

    return Loss(loss, _normal(torch, *[(8, 32), (32, 32)] * 3))


def rk4_by_hand(torch: Any) -> Loss:
    """Twenty steps of Runge and Kutta for a pendulum of 64 starts."""
    start = torch.randn(64)

    def loss(length: Any, damping: Any) -> Any:
        def slope(angle: Any, speed: Any) -> Any:
            return speed, -9.81 / length * torch.sin(angle) - damping * speed

        angle, speed, h = start, torch.zeros(64), 0.05
        for _ in range(20):
            a, p = slope(angle, speed)
            b, q = slope(angle + h / 2 * a, speed + h / 2 * p)
            c, r = slope(angle + h / 2 * b, speed + h / 2 * q)
            d, s = slope(angle + h * c, speed + h * r)
            angle = angle + h / 6 * (a + 2 * b + 2 * c + d)
            speed = speed + h / 6 * (p + 2 * q + 2 * r + s)
        return angle.pow(2).mean()

    return Loss(loss, [torch.tensor(1.5), torch.tensor(0.1)])


def siren(torch: Any) -> Loss:
    """A network of sines, 2-64-64-1, at 256 places."""
    places, wanted = torch.rand(256, 2), torch.rand(256, 1)

    def loss(w: Any, b: Any, v: Any, c: Any, u: Any, d: Any) -> Any:
        hidden = torch.sin(30 * (places @ w + b))
        hidden = torch.sin(30 * (hidden @ v + c))
        return (hidden @ u + d - wanted).pow(2).mean()

    return Loss(loss, _normal(torch, (2, 64), (64,), (64, 64), (64,), (64, 1), (1,)))


def embedding_pairs(torch: Any) -> Loss:
    """Words that go together, and five for each that don't: 128 pairs of 1,000 words by 32."""
    words, near = torch.randint(0, 1000, (128,)), torch.randint(0, 1000, (128,))
    far = torch.randint(0, 1000, (128, 5))

    def loss(inner: Any, outer: Any) -> Any:
        functional = torch.nn.functional
        v = functional.embedding(words, inner)
        good = (v * functional.embedding(near, outer)).sum(-1)
        bad = (functional.embedding(far, outer) @ v[:, :, None]).squeeze(-1)
        return -(functional.logsigmoid(good).mean() + functional.logsigmoid(-bad).mean())

    return Loss(loss, _normal(torch, (1000, 32), (1000, 32)))


def log_determinant(torch: Any) -> Loss:
    """The log likelihood of a covariance of 32 by its factor."""
    scatter = torch.eye(32) + 0.1 * torch.ones(32, 32)

    def loss(factor: Any) -> Any:
        precision = factor @ factor.T + torch.eye(32)
        return (precision * scatter).sum() - torch.linalg.slogdet(precision)[1]

    return Loss(loss, _normal(torch, (32, 32)))


def _normal(torch: Any, *shapes: tuple[int, ...]) -> list[Any]:
    return [torch.randn(shape) * 0.1 for shape in shapes]


FIFTEEN: dict[str, Program] = {
    "MLP": mlp,
    "GELU chain": gelu_chain,
    "transformer block": block,
    "conv net": conv_net,
    "logistic regression": logistic_regression,
    "softmax": softmax,
    "scalar loop": scalar_loop,
    "n-body": n_body,
    "mixture of Gaussians": mixture,
    "Black-Scholes": black_scholes,
    "GRU by hand": gru_by_hand,
    "RK4 by hand": rk4_by_hand,
    "SIREN": siren,
    "embedding pairs": embedding_pairs,
    "slogdet": log_determinant,
}
