"""Samples of elementwise ops that their signature and domain don't give: options, compositions."""

from __future__ import annotations

import numpy as np
from tests.engine.samples import Call, Draw

from gradwire_engine.ops.convert import CONVERSIONS

Rng = np.random.Generator


def drawn(
    rng: Rng, low: float = -3, high: float = 3, shape: tuple[int, ...] = (2, 3)
) -> np.ndarray:
    """Numbers of an interval."""
    return rng.uniform(low, high, shape)


def alone(low: float = -3, high: float = 3, **options: object) -> Draw:
    """One operand, with these options."""
    return lambda rng: [((drawn(rng, low, high),), options)]


def pair(low: float = -3, high: float = 3, **options: object) -> Draw:
    """Two operands that broadcast, with these options."""
    return lambda rng: [((drawn(rng, low, high), drawn(rng, low, high, (3,))), options)]


def each(*draws: Draw) -> Draw:
    """Several samples of one op."""
    return lambda rng: [call for draw in draws for call in draw(rng)]


def _where(rng: Rng) -> list[Call]:
    condition = drawn(rng) > 0
    return [((condition, drawn(rng), drawn(rng, shape=(3,))), {})]


def _masked_fill(rng: Rng) -> list[Call]:
    mask = drawn(rng, shape=(3,)) > 0
    return [((drawn(rng), mask, 1.5), {}), ((drawn(rng), mask, drawn(rng, shape=())), {})]


def _lerp(rng: Rng) -> list[Call]:
    return [((drawn(rng), drawn(rng, shape=(3,)), weight), {}) for weight in (0.2, 0.8)]


def _clamp(rng: Rng) -> list[Call]:
    x, low = drawn(rng), drawn(rng, shape=(3,))
    return [((x, -0.5, 1.0), {}), ((x,), {"max": 0.5}), ((x,), {"min": low})]


def _prelu(rng: Rng) -> list[Call]:
    x = drawn(rng)
    return [((x, drawn(rng, shape=(n,))), {}) for n in (1, 3)]


def _complex_parts(rng: Rng) -> list[Call]:
    return [((drawn(rng) + 1j * drawn(rng),), {})]


def _shifts(rng: Rng) -> list[Call]:
    return [((rng.integers(0, 5, (2, 3)), rng.integers(0, 99, (3,))), {})]


def _orders(name: str, low: float, *orders: int) -> Draw:
    return lambda rng: [((drawn(rng, low, low + 2),), {name: n}) for n in orders]


def _to(rng: Rng) -> list[Call]:
    x = drawn(rng)
    return [((x, "float32"), {}), ((x,), {"dtype": "complex128"}), ((x, drawn(rng)), {})]


SAMPLES: dict[str, Draw] = {
    "clone": alone(),
    "conj": each(alone(), _complex_parts),
    "resolve_conj": each(alone(), _complex_parts),
    "conj_physical": each(alone(), _complex_parts),
    "positive": alone(),
    "square": alone(),
    "float_power": each(pair(0.3, 2.5), lambda rng: [((drawn(rng), 3), {})]),
    "pow": lambda rng: [((drawn(rng, 0.3, 2.5), n), {}) for n in (0, 1, 2, 3, -1, 0.5, 1.5, -2)],
    "add": pair(alpha=2.0),
    "sub": pair(alpha=-2.0),
    "rsub": pair(alpha=0.5),
    "div": each(pair(0.7, 3, rounding_mode="floor"), pair(0.7, 3, rounding_mode="trunc")),
    "addcmul": lambda rng: [((drawn(rng), drawn(rng), drawn(rng)), {"value": 0.5})],
    "addcdiv": lambda rng: [((drawn(rng), drawn(rng), drawn(rng, 0.5)), {"value": 0.5})],
    "lerp": _lerp,
    "where": _where,
    "masked_fill": _masked_fill,
    "clamp": _clamp,
    "round": alone(decimals=1),
    "real": each(alone(), _complex_parts),
    "imag": _complex_parts,
    "view_as_real": _complex_parts,
    "view_as_complex": lambda rng: [((drawn(rng, shape=(3, 2)),), {})],
    "logit": alone(0.3, 0.7, eps=0.1),
    "__rtruediv__": pair(0.5, 3),
    "__rmatmul__": lambda rng: [((drawn(rng, shape=(3,)), drawn(rng)), {})],
    "__rpow__": pair(0.5, 2),
    "__rmod__": pair(0.7, 3),
    "__rfloordiv__": lambda rng: [((rng.integers(1, 7, (2, 3)), rng.integers(1, 7, (3,))), {})],
    "__rlshift__": _shifts,
    "__rrshift__": _shifts,
    "allclose": pair(rtol=0.1),
    "equal": each(pair(), lambda rng: [((drawn(rng), drawn(rng)), {})]),
    "nan_to_num": alone(nan=1.0, posinf=2.0),
    "isclose": pair(rtol=0.1, equal_nan=True),
    "special.ndtr": alone(),
    "polygamma": _orders("n", 0.5, 0, 1, 2, 4),
    "mvlgamma": _orders("p", 2.5, 1, 3),
    "frexp": alone(0.6, 0.9),
    "to": _to,
    "type_as": pair(),
    **dict.fromkeys(CONVERSIONS, alone()),
    "nn.functional.threshold": lambda rng: [((drawn(rng), 0.5, 2.0), {})],
    "nn.functional.elu": each(alone(), alone(alpha=0.7)),
    "nn.functional.celu": each(alone(), alone(alpha=0.7)),
    "nn.functional.selu": alone(),
    "nn.functional.gelu": alone(approximate="tanh"),
    "nn.functional.softplus": alone(beta=0.5, threshold=2),
    "nn.functional.tanhshrink": alone(),
    "nn.functional.softsign": alone(0.2, 3),
    "nn.functional.prelu": _prelu,
}
