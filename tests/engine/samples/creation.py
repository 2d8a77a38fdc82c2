"""Samples of ops that make tensors from nothing or at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.engine.samples import Draw

from gradwire_engine.spec import complex64, float64, int32, int64


def calls(*uses: tuple[Any, ...], **options: Any) -> Draw:
    """Calls without tensors."""
    return lambda rng: [(use, options) for use in uses]


def shaped(*rest: Any, **options: Any) -> Draw:
    """One tensor, whose elements don't count, with further arguments."""
    return lambda rng: [((rng.uniform(0.1, 0.9, (2, 3)), *rest), options)]


def _channels(shape: tuple[int, ...], **options: Any) -> Draw:
    return lambda rng: [((rng.standard_normal(shape),), {"p": 0.4, **options})]


def _normal(rng: np.random.Generator) -> list[Any]:
    """Of whole numbers: as torch's, its gradients are zero, not those of the numbers drawn."""
    mean, std = rng.integers(-5, 5, (2, 3)), rng.integers(1, 4, 3)
    return [((mean, std), {}), ((mean, 2), {}), ((0.0, 1.0, (2, 3)), {})]


_SIZES = ((2, 3),), ((),), ((0, 2),)

SAMPLES: dict[str, Draw] = {
    "tensor": calls(([1, 2, 3],), ([[1.5], [2]],), (True,), ([],), (1j,)),
    "zeros": lambda rng: [*calls(*_SIZES)(rng), *calls(((2,),), dtype=int64)(rng)],
    "ones": calls(*_SIZES),
    "empty": calls(*_SIZES),
    "full": calls(((2, 3), 1), ((2,), 1.5), ((), True), ((1,), 1j)),
    "eye": calls((3,), (2, 4), (0,)),
    "arange": lambda rng: [
        *calls((5,), (1, 7, 2), (5, 1, -1), (0.0, 1.0, 0.3))(rng),
        *calls((0.5, 3.9), dtype=int32)(rng),
    ],
    "linspace": lambda rng: [
        *calls((0, 1, 5), (3, 3, 1), (1, 0, 0))(rng),
        *calls((0, 9, 4), dtype=int64)(rng),
        *calls((0, 1j, 3))(rng),
        *calls((np.array(0), np.array(2), 3))(rng),
    ],
    "logspace": lambda rng: [
        *calls((0, 1, 5), (0, 3, 4, 2.0))(rng),
        *calls((0, 2, 3), dtype=float64)(rng),
        *calls((np.array(0), np.array(2), 3))(rng),
    ],
    "tril_indices": calls((3, 4), (4, 2, -1)),
    "triu_indices": calls((3, 4), (4, 2, 1)),
    "zeros_like": shaped(),
    "ones_like": shaped(dtype=int64),
    "empty_like": shaped(),
    "full_like": shaped(2),
    "numel": shaped(),
    "rand": calls(*_SIZES),
    "randn": lambda rng: [*calls(*_SIZES)(rng), *calls(((2,),), dtype=complex64)(rng)],
    "rand_like": shaped(dtype=float64),
    "randn_like": shaped(dtype=float64),
    "randint": calls((5, (2, 3)), (-2, 3, (4,))),
    "randint_like": shaped(1, 5),
    "randperm": calls((6,), (0,)),
    "normal": _normal,
    "bernoulli": lambda rng: [*shaped()(rng), *shaped(0.3)(rng)],
    "multinomial": lambda rng: [*shaped(2)(rng), *shaped(5, True)(rng)],
    "uniform_": shaped(-1.0, 1.0),
    "normal_": shaped(1.0, 2.0),
    "exponential_": shaped(2.0),
    "bernoulli_": shaped(0.3),
    "dropout": shaped(0.4, True),
    "nn.functional.dropout": lambda rng: [
        *shaped(0.4)(rng),
        *shaped(0.4, False)(rng),
        *shaped(1.0)(rng),
    ],
    "nn.functional.dropout1d": _channels((2, 3, 4)),
    "nn.functional.dropout2d": _channels((2, 3, 2, 2)),
    "nn.functional.dropout3d": _channels((3, 2, 2, 2)),
    "nn.functional.alpha_dropout": _channels((2, 3), training=True),
    "nn.functional.feature_alpha_dropout": _channels((2, 3, 2), training=True),
    "nn.functional.rrelu": lambda rng: [
        ((rng.uniform(-1, 1, (2, 3)),), {"training": flag}) for flag in (True, False)
    ],
}
