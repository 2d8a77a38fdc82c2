"""Samples of reductions, running results, order statistics, counts."""

from __future__ import annotations

import numpy as np
from tests.engine.samples import Call, Draw

Rng = np.random.Generator


def apart(rng: Rng, *shape: int) -> np.ndarray:
    """Numbers none of which is near another or near 0, in random order."""
    count = int(np.prod(shape))
    steps = np.arange(1, count + 1) * rng.choice([-1, 1], count)
    return rng.permutation(steps).reshape(shape) * (2.0 / max(count, 1))


def over(*options: dict[str, object], shape: tuple[int, ...] = (3, 4)) -> Draw:
    """A tensor and a 0-d one, reduced in these ways."""
    return lambda rng: [((apart(rng, *shape),), dict(o)) for o in options]


def by_dims(**options: object) -> Draw:
    """All of the axes, some, one kept, and the axes of a tensor that has none."""
    ways: list[dict[str, object]] = [
        {},
        {"dim": (0,)},
        {"dim": (0, 2), "keepdim": True},
        {"dim": -1},
    ]
    whole = over(*[w | options for w in ways], shape=(2, 3, 2))
    return lambda rng: [*whole(rng), ((apart(rng),), dict(options))]


def by_dim(**options: object) -> Draw:
    """One axis, dropped and kept, and that of a tensor that has none."""
    ways = [{"dim": 0}, {"dim": -1, "keepdim": True}]
    found = over(*[w | options for w in ways])
    return lambda rng: [*found(rng), ((apart(rng),), {"dim": 0} | options)]


def along(**options: object) -> Draw:
    """One axis that stays."""
    found = over({"dim": 0} | options, {"dim": -1} | options)
    return lambda rng: [*found(rng), ((apart(rng),), {"dim": 0} | options)]


def each(*draws: Draw) -> Draw:
    """Several samples of one op."""
    return lambda rng: [call for draw in draws for call in draw(rng)]


def _extremes(rng: Rng) -> list[Call]:
    pair: Call = ((apart(rng, 2, 3), apart(rng, 2, 3) + 0.1), {})
    return [((apart(rng, 2, 3),), {}), *by_dim()(rng), pair]


def _zeros_among(rng: Rng) -> list[Call]:
    one, two = apart(rng, 3, 4), apart(rng, 3, 4)
    one[0, 1] = two[1, 0] = two[1, 2] = 0
    return [((x,), {"dim": 1}) for x in (one, two)]


def _zeros_among_all(rng: Rng) -> list[Call]:
    x = apart(rng, 2, 3)
    x[1, 1] = 0
    return [((x,), {}), *_zeros_among(rng)]


def _quantile(rng: Rng) -> list[Call]:
    x, q = apart(rng, 4, 3), np.array([0.2, 0.65])
    ways = [{"interpolation": way} for way in ("linear", "lower", "higher", "midpoint", "nearest")]
    return [((x, 0.3, 0), dict(way)) for way in ways] + [
        ((x, q), {"dim": 1, "keepdim": True}),
        ((x, 0.6), {}),
    ]


def _searched(rng: Rng) -> list[Call]:
    edges, values = np.array([-1, 2, 5, 9]), rng.integers(-3, 12, (2, 3))
    rows = np.sort(rng.integers(0, 9, (2, 5)))
    return [
        ((edges, values), {}),
        ((edges, values), {"right": True, "out_int32": True}),
        ((rows, values), {"side": "right"}),
    ]


def _bucketized(rng: Rng) -> list[Call]:
    return [((rng.integers(-3, 12, (2, 3)), np.array([-1, 2, 5, 9])), {"right": True})]


def _repeating(rng: Rng) -> list[Call]:
    x = rng.integers(0, 3, (3, 4))
    ways: list[dict[str, object]] = [{}, {"return_inverse": True, "return_counts": True}]
    return [((x,), w | d) for w in ways for d in ({}, {"dim": 1})]


def _bincount(rng: Rng) -> list[Call]:
    x = rng.integers(0, 5, 7)
    return [((x,), {}), ((x, rng.integers(1, 4, 7)), {"minlength": 8})]


SAMPLES: dict[str, Draw] = {
    "sum": by_dims(),
    "mean": by_dims(),
    "nansum": by_dims(),
    "nanmean": by_dims(),
    "prod": each(over({}), by_dim(), _zeros_among_all),
    "any": by_dims(),
    "all": by_dims(),
    "count_nonzero": over({}, {"dim": 0}, {"dim": (0, 1)}),
    "var": each(by_dims(), by_dims(correction=0), over({"unbiased": False})),
    "std": each(over({}, {"dim": 0}, {"dim": 1, "keepdim": True, "correction": 0})),
    "var_mean": over({}, {"dim": 0}, {"dim": 1, "keepdim": True, "correction": 0}),
    "std_mean": over({}, {"dim": 0}, {"dim": 1, "keepdim": True, "correction": 0}),
    "logsumexp": over({"dim": 0}, {"dim": (0, 1), "keepdim": True}),
    "max": _extremes,
    "min": _extremes,
    "amax": by_dims(),
    "amin": by_dims(),
    "aminmax": over({}, {"dim": 0}, {"dim": 1, "keepdim": True}),
    "argmax": over({}, {"dim": 0}, {"dim": 1, "keepdim": True}),
    "argmin": over({}, {"dim": 0}, {"dim": 1, "keepdim": True}),
    "cumsum": along(),
    "cumprod": each(along(), _zeros_among),
    "cummax": along(),
    "cummin": along(),
    "logcumsumexp": along(),
    "sort": each(along(), along(descending=True), over({"dim": 0, "stable": True})),
    "msort": over({}),
    "argsort": each(along(), along(descending=True)),
    "topk": over({"k": 2}, {"k": 2, "dim": 0, "largest": False}),
    "kthvalue": over({"k": 2}, {"k": 1, "dim": 0, "keepdim": True}),
    "median": each(over({}), by_dim()),
    "nanmedian": each(over({}), by_dim()),
    "mode": by_dim(),
    "quantile": _quantile,
    "nanquantile": _quantile,
    "searchsorted": _searched,
    "bucketize": _bucketized,
    "unique": _repeating,
    "unique_consecutive": _repeating,
    "bincount": _bincount,
    "histc": lambda rng: [
        ((rng.integers(0, 9, 20).astype(float),), {"bins": 4, "min": 0, "max": 8})
    ],
    "linalg.vector_norm": each(
        by_dims(), *(over({"ord": p}) for p in (0, 1, 3, 0.5, np.inf, -np.inf, -1.5))
    ),
}
