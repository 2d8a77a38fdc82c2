"""Samples of matrix products and what is made of them."""

from __future__ import annotations

import numpy as np
from tests.engine.samples import Call, Draw

Rng = np.random.Generator
Shape = tuple[int, ...]


def drawn(rng: Rng, *shape: int) -> np.ndarray:
    """Numbers between -1 and 1."""
    return rng.uniform(-1, 1, shape)


def operands(*shapes: Shape, **options: object) -> Draw:
    """One call with operands of these shapes."""
    return lambda rng: [(tuple(drawn(rng, *shape) for shape in shapes), options)]


def each(*draws: Draw) -> Draw:
    """Several samples of one op."""
    return lambda rng: [call for draw in draws for call in draw(rng)]


def scaled(*shapes: Shape) -> Draw:
    """Operands of a product that is added: as they are, weighted, and with the input ignored."""
    return each(
        operands(*shapes), operands(*shapes, beta=0.5, alpha=2.0), operands(*shapes, beta=0)
    )


def _einsum(rng: Rng) -> list[Call]:
    a, b, c = drawn(rng, 2, 3), drawn(rng, 3, 4), drawn(rng, 2, 3, 3)
    return [
        (("ij,jk->ik", [a, b]), {}),
        (("ij->ji", [a]), {}),
        (("bii->b", [c]), {}),
        (("ij,jk,ibj->kb", [a, b, c]), {}),
        (("...j,j", [c, b[:, 0]]), {}),
        (("i,j->ij", [a[0], b[0]]), {}),
    ]


def _tensordot(rng: Rng) -> list[Call]:
    a, b = drawn(rng, 2, 3, 4), drawn(rng, 3, 4, 2)
    return [((a, b), {}), ((a, b, ((0, 1), (2, 0))), {}), ((a, b, 0), {})]


def _multi_dot(rng: Rng) -> list[Call]:
    chain = [drawn(rng, 2, 3), drawn(rng, 3, 4), drawn(rng, 4, 2)]
    return [((chain,), {}), (([drawn(rng, 2), *chain],), {})]


def _cov(rng: Rng) -> list[Call]:
    x, counts = drawn(rng, 3, 4), np.array([1, 2, 1, 3])
    ways: list[dict[str, object]] = [
        {},
        {"correction": 0, "fweights": counts},
        {"aweights": counts / 2},
    ]
    return [((x[0],), {}), *(((x,), way) for way in ways)]


SAMPLES: dict[str, Draw] = {
    "matmul": each(
        operands((3,), (3,)),
        operands((2, 3), (3,)),
        operands((3,), (3, 2)),
        operands((2, 3), (3, 4)),
        operands((2, 3, 4), (4,)),
        operands((2, 3, 4), (4, 2)),
        operands((3,), (2, 3, 2)),
        operands((2, 3), (2, 3, 2)),
        operands((2, 1, 2, 3), (3, 3, 2)),
        operands((2, 0), (0, 3)),
    ),
    "mm": operands((2, 3), (3, 4)),
    "bmm": operands((2, 2, 3), (2, 3, 4)),
    "mv": operands((2, 3), (3,)),
    "dot": operands((3,), (3,)),
    "vdot": operands((3,), (3,)),
    "inner": each(operands((2, 3), (4, 3)), operands((3,), (3,)), operands((), (2,))),
    "outer": operands((2,), (3,)),
    "addmm": scaled((3,), (2, 4), (4, 3)),
    "addmv": scaled((2,), (2, 4), (4,)),
    "addr": each(operands((3,), (2,), (3,)), operands((2, 3), (2,), (3,), beta=0.5, alpha=2.0)),
    "baddbmm": scaled((2, 2, 3), (2, 2, 4), (2, 4, 3)),
    "addbmm": scaled((2, 3), (2, 2, 4), (2, 4, 3)),
    "nn.functional.linear": each(
        operands((4, 3), (2, 3)),
        operands((4, 3), (2, 3), (2,)),
        operands((2, 2, 3), (2, 3), (2,)),
        operands((3,), (2, 3)),
        operands((2, 3), (3,)),
    ),
    "nn.functional.bilinear": operands((4, 2), (4, 3), (2, 2, 3), (2,)),
    "einsum": _einsum,
    "tensordot": _tensordot,
    "kron": each(operands((2, 2), (2, 3)), operands((2,), (2, 2))),
    "trace": operands((3, 4)),
    "linalg.vecdot": each(operands((2, 3), (2, 3)), operands((3, 2), (3, 2), dim=0)),
    "linalg.cross": each(operands((2, 3), (2, 3)), operands((3, 2), (3, 2), dim=0)),
    "cross": each(operands((2, 3), (2, 3)), operands((3, 2), (3, 2), dim=0)),
    "linalg.multi_dot": _multi_dot,
    "cov": _cov,
    "corrcoef": operands((3, 5)),
}
