"""Samples of losses, softmax, normalisation and distances."""

from __future__ import annotations

import numpy as np
from tests.engine.samples import Call, Draw

Rng = np.random.Generator
REDUCTIONS = ("mean", "sum", "none")


def drawn(rng: Rng, *shape: int, low: float = -1.5, high: float = 1.5) -> np.ndarray:
    """Numbers of an interval."""
    return rng.uniform(low, high, shape)


def reduced(*ways: dict[str, object], low: float = -1.5, high: float = 1.5) -> Draw:
    """Input and target of equal shape, in every reduction and in these other ways."""

    def draw(rng: Rng) -> list[Call]:
        every = [{"reduction": r} for r in REDUCTIONS] + list(ways)
        pair = drawn(rng, 3, 4, low=low, high=high), drawn(rng, 3, 4, low=low, high=high)
        return [(pair, dict(way)) for way in every]

    return draw


def along(rng: Rng) -> list[Call]:
    """One axis that stays, the last, the first and that of a tensor that has none."""
    return [((drawn(rng, 2, 3, 4), dim), {}) for dim in (-1, 0, 1)] + [((drawn(rng), 0), {})]


def _classes(rng: Rng) -> list[Call]:
    target, weight = rng.integers(0, 4, 3), rng.integers(1, 4, 4)
    places = rng.integers(0, 4, (2, 3, 2))
    x, deep = drawn(rng, 3, 4), drawn(rng, 2, 4, 3, 2)
    calls: list[Call] = [((x, target), {"reduction": r}) for r in REDUCTIONS]
    calls += [((x, target, weight), {"reduction": r}) for r in ("mean", "none")]
    return [*calls, ((deep, places), {"ignore_index": 2}), ((x[0], np.array(1)), {})]


def _cross_entropy(rng: Rng) -> list[Call]:
    x, target = drawn(rng, 3, 4), rng.integers(0, 4, 3)
    share = rng.uniform(0.1, 1, (3, 4))
    calls: list[Call] = [((x, target), {"reduction": r}) for r in REDUCTIONS]
    calls += [((x, target), {"label_smoothing": 0.2, "reduction": r}) for r in REDUCTIONS]
    return [*calls, ((x, share), {}), ((x, share), {"label_smoothing": 0.1, "reduction": "none"})]


def _probabilities(rng: Rng) -> list[Call]:
    x, t = drawn(rng, 3, 4, low=0.2, high=0.8), drawn(rng, 3, 4, low=0.2, high=0.8)
    return [((x, t), {"reduction": r}) for r in REDUCTIONS]


def _logits(rng: Rng) -> list[Call]:
    x, t = drawn(rng, 3, 4), drawn(rng, 3, 4, low=0, high=1)
    weights = drawn(rng, 4, low=0.5, high=2)
    return [
        *(((x, t), {"reduction": r}) for r in REDUCTIONS),
        ((x, t), {"weight": weights}),
        ((x, t), {"pos_weight": weights, "reduction": "sum"}),
    ]


def _counts(rng: Rng) -> list[Call]:
    x, t = drawn(rng, 3, 4), rng.integers(0, 6, (3, 4))
    ways: list[dict[str, object]] = [{}, {"full": True}, {"reduction": "none"}]
    return [((x, t), dict(w)) for w in ways] + [((np.exp(x), t), {"log_input": False})]


def _gaussian(rng: Rng) -> list[Call]:
    x, t, var = drawn(rng, 3, 4), drawn(rng, 3, 4), drawn(rng, 3, 4, low=0.5, high=2)
    return [((x, t, var), {}), ((x, t, var[:, :1]), {"full": True, "reduction": "none"})]


def _signed(rng: Rng, *shape: int) -> np.ndarray:
    return rng.choice([-1, 1], shape)


def _hinge(rng: Rng) -> list[Call]:
    return [((drawn(rng, 3, 4), _signed(rng, 3, 4)), {"reduction": r}) for r in REDUCTIONS]


def _ranking(rng: Rng) -> list[Call]:
    pair = drawn(rng, 4), drawn(rng, 4)
    return [((*pair, _signed(rng, 4)), {"margin": 0.3})]


def _cosine(rng: Rng) -> list[Call]:
    pair = drawn(rng, 3, 4), drawn(rng, 3, 4)
    return [((*pair, _signed(rng, 3)), {"margin": 0.1, "reduction": r}) for r in REDUCTIONS]


def _triplet(rng: Rng) -> list[Call]:
    three = tuple(drawn(rng, 3, 4) for _ in range(3))
    return [(three, {}), (three, {"p": 3.0, "swap": True, "reduction": "none"})]


def _multi_margin(rng: Rng) -> list[Call]:
    x, target = drawn(rng, 3, 4), rng.integers(0, 4, 3)
    return [((x, target), {}), ((x, target), {"p": 2, "margin": 0.7, "reduction": "none"})]


def _multilabel(rng: Rng) -> list[Call]:
    return [((drawn(rng, 2, 4), np.array([[2, 0, -1, 1], [3, -1, 0, 0]])), {})]


def _last_axes(rng: Rng) -> list[Call]:
    x, w = drawn(rng, 3, 2, 4), drawn(rng, 2, 4)
    return [((x, (4,)), {}), ((x, (2, 4), w), {}), ((x, (2, 4)), {"weight": w, "eps": 1e-3})]


def _layer_norm(rng: Rng) -> list[Call]:
    x, w = drawn(rng, 3, 2, 4), drawn(rng, 2, 4)
    return [*_last_axes(rng), ((x, (2, 4), w, drawn(rng, 2, 4)), {})]


def _channels(rng: Rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return drawn(rng, 3, 4, 2), drawn(rng, 4), drawn(rng, 4)


def _batch_norm(rng: Rng) -> list[Call]:
    x, w, b = _channels(rng)
    ran = np.array([0.0, 1, 0, 1]), np.array([1.0, 2, 1, 2])
    return [
        ((x, None, None, w, b, True), {}),
        ((x, None, None), {"training": True}),
        ((x, *ran, w, b), {}),
    ]


def _group_norm(rng: Rng) -> list[Call]:
    x, w, b = _channels(rng)
    return [((x, 2), {}), ((x, 2, w, b), {})]


def _instance_norm(rng: Rng) -> list[Call]:
    _, w, b = _channels(rng)
    x = drawn(rng, 3, 4, 5)
    return [((x,), {}), ((x,), {"weight": w, "bias": b})]


def _similar(rng: Rng) -> list[Call]:
    return [((drawn(rng, 3, 4), drawn(rng, 3, 4)), {}), ((drawn(rng, 4), drawn(rng, 4), 0), {})]


def _norms(rng: Rng) -> list[Call]:
    x = drawn(rng, 3, 4)
    return [((x,), {}), ((x,), {"p": 3.0, "dim": 0})]


def _distances(rng: Rng) -> list[Call]:
    a, b = drawn(rng, 3, 2), drawn(rng, 4, 2)
    return [((a, b), {}), ((a, b), {"p": 3.0}), ((a, b), {"p": 1.0})]


def _pairs(rng: Rng) -> list[Call]:
    return [((drawn(rng, 3, 4), drawn(rng, 3, 4)), {"p": p}) for p in (2.0, 3.0)]


F = "nn.functional."
SAMPLES: dict[str, Draw] = {
    "softmax": along,
    "log_softmax": along,
    F + "softmax": along,
    F + "log_softmax": along,
    F + "softmin": along,
    F + "nll_loss": _classes,
    F + "cross_entropy": _cross_entropy,
    F + "binary_cross_entropy": _probabilities,
    F + "binary_cross_entropy_with_logits": _logits,
    F + "mse_loss": reduced(),
    F + "l1_loss": reduced(),
    F + "huber_loss": reduced({"delta": 0.5}),
    F + "smooth_l1_loss": reduced({"beta": 0.5}, {"beta": 0.0}),
    F + "kl_div": reduced({"log_target": True}, low=0.2, high=0.9),
    F + "poisson_nll_loss": _counts,
    F + "gaussian_nll_loss": _gaussian,
    F + "hinge_embedding_loss": _hinge,
    F + "margin_ranking_loss": _ranking,
    F + "soft_margin_loss": reduced(),
    F + "cosine_embedding_loss": _cosine,
    F + "triplet_margin_loss": _triplet,
    F + "triplet_margin_with_distance_loss": lambda rng: _triplet(rng)[:1],
    F + "multi_margin_loss": _multi_margin,
    F + "multilabel_margin_loss": _multilabel,
    F + "multilabel_soft_margin_loss": reduced(low=0.1, high=0.9),
    F + "layer_norm": _layer_norm,
    F + "rms_norm": _last_axes,
    F + "batch_norm": _batch_norm,
    F + "group_norm": _group_norm,
    F + "instance_norm": _instance_norm,
    F + "local_response_norm": lambda rng: [
        ((drawn(rng, 2, 5, 3), 3), {"alpha": 0.5}),
        ((drawn(rng, 2, 4, 2, 2), 2), {"beta": 0.5, "k": 2.0}),
    ],
    F + "cosine_similarity": _similar,
    F + "pairwise_distance": _pairs,
    F + "normalize": _norms,
    F + "pdist": lambda rng: [((drawn(rng, 4, 2),), {}), ((drawn(rng, 4, 2), 3.0), {})],
    "cdist": _distances,
    "dist": lambda rng: [((drawn(rng, 2, 3), drawn(rng, 3)), {"p": p}) for p in (2.0, 3.0, 1.0)],
    "renorm": lambda rng: [((drawn(rng, 3, 4), 2.0, 0, 0.8), {})],
}
