"""Samples of ops that read or write at places given by ints, masks and index tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.engine.samples import Call, Draw

Rng = np.random.Generator
PLACES = np.array([2, 0, 2])
"""With a repeat, so that gradients add up."""


def _getitem(rng: Rng) -> list[Call]:
    x = rng.standard_normal((3, 4, 5))
    mask, column = rng.standard_normal((3, 4)) > 0, np.array([[0], [2]])
    indices: list[Any] = [
        1, -1, slice(1, 3), slice(None, None, 2), None, ..., (), True, (0, slice(1, None), 2),
        (..., 0), (None, 1, ..., None), PLACES, (slice(None), PLACES),
        (PLACES, slice(None), PLACES),
        (column, PLACES), (0, PLACES), (PLACES, None, slice(1, 3)), mask,
        [0, 2], (slice(None), [0, -1]), ([0, 1], [1, 0]), np.array(1), (slice(None), mask[0]),
    ]  # fmt: skip
    return [((x, index), {}) for index in indices]


def _setitem(rng: Rng) -> list[Call]:
    """Into int tensors, which are no leaves that require grad: the write itself is tested apart."""
    value, mask = rng.uniform(1, 5, (3,)), np.array([True, False])
    target = np.arange(6).reshape(2, 3)
    indices: list[Any] = [0, slice(0, 1), (..., slice(None)), None]
    return [((target, index, value), {}) for index in indices] + [((target, mask, 1.0), {})]


def _along(*rest: Any) -> Draw:
    return lambda rng: [((rng.standard_normal((3, 4)), *rest), {})]


def _slices(rng: Rng) -> list[Call]:
    x = rng.standard_normal((3, 4))
    return [
        ((x, 0, PLACES, rng.standard_normal((3, 4))), {}),
        ((x, -1, PLACES, rng.standard_normal((3, 3))), {}),
    ]


def _index_add(rng: Rng) -> list[Call]:
    return [(args, {"alpha": 2}) for args, _ in _slices(rng)] + _slices(rng)


def _index_copy(rng: Rng) -> list[Call]:
    return [((rng.standard_normal((3, 4)), 0, PLACES[:2], rng.standard_normal((2, 4))), {})]


def _index_fill(rng: Rng) -> list[Call]:
    x = rng.standard_normal((3, 4))
    return [((x, 0, PLACES, 1), {}), ((x, 1, PLACES, rng.standard_normal(())), {})]


def _reduced(rng: Rng, names: tuple[str, ...]) -> list[tuple[str, bool]]:
    return [(name, inside) for name in names for inside in (True, False)]


def _index_reduce(rng: Rng) -> list[Call]:
    x, source = rng.uniform(0.5, 2, (3, 4)), rng.uniform(0.5, 2, (3, 4))
    names = ("prod", "mean", "amax", "amin")
    return [
        ((x, 0, PLACES, source, name), {"include_self": inside})
        for name, inside in _reduced(rng, names)
    ]


def _scatter_reduce(rng: Rng) -> list[Call]:
    x, source = rng.uniform(0.5, 2, (3, 4)), rng.uniform(0.5, 2, (3, 4))
    index = np.array([[0, 1, 2, 0], [0, 1, 1, 2]])
    names = ("sum", "prod", "mean", "amax", "amin")
    return [
        ((x, 0, index, source, name), {"include_self": inside})
        for name, inside in _reduced(rng, names)
    ]


def _index_put(rng: Rng) -> list[Call]:
    x, mask = rng.standard_normal((3, 4)), np.array([True, False, True])
    return [
        ((x, [PLACES[:2], PLACES[1:]], rng.standard_normal(2)), {}),
        ((x, [PLACES], rng.standard_normal((3, 4)), True), {}),
        ((x, [mask], rng.standard_normal(4)), {}),
        ((x, [None, PLACES[:2]], rng.standard_normal((3, 1))), {}),
    ]


def _scatter(rng: Rng) -> list[Call]:
    x, index = rng.standard_normal((3, 4)), np.array([[0, 2, 1], [2, 1, 0]])
    source = rng.standard_normal((2, 4))
    return [
        ((x, 0, index, source), {}),
        ((x, 0, index, 1), {}),
        ((x, 0, index), {"value": 2}),
        ((x, 0, index, source), {"reduce": "add"}),
        ((x, 0, index, source), {"reduce": "multiply"}),
    ]


def _scatter_add(rng: Rng) -> list[Call]:
    index = np.array([[0, 0, 1], [2, 0, 0]])
    return [((rng.standard_normal((3, 4)), 0, index, rng.standard_normal((2, 4))), {})]


def _gather(rng: Rng) -> list[Call]:
    index = np.array([[0, 0, 1], [2, 0, 0]])
    return [
        ((rng.standard_normal((3, 4)), 0, index), {}),
        ((rng.standard_normal((2, 4)), -1, index), {}),
        ((rng.standard_normal(()), 0, np.array(0)), {}),
    ]


def _take_along_dim(rng: Rng) -> list[Call]:
    x = rng.standard_normal((3, 4))
    return [((x, np.array([[1, 0, -1, 1]]), 0), {}), ((x, np.array([5, 5, 0])), {})]


def _put(rng: Rng) -> list[Call]:
    x, source = rng.standard_normal((3, 4)), rng.standard_normal(3)
    return [((x, np.array([3, 0, -1]), source), {}), ((x, np.array([3, 0, 3]), source, True), {})]


def _masked_scatter(rng: Rng) -> list[Call]:
    mask = np.array([True, False, True, True])
    return [((rng.standard_normal((2, 4)), mask, rng.standard_normal(7)), {})]


def _embedding(rng: Rng) -> list[Call]:
    """What padding and frequency do to the gradient is no derivative, unless they don't occur."""
    table, index = rng.standard_normal((4, 3)), np.array([[0, 2], [2, 2]])
    return [
        ((index, table), {}),
        ((index[0], table), {"padding_idx": -1, "scale_grad_by_freq": True}),
    ]


SAMPLES: dict[str, Draw] = {
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "detach_": lambda rng: [((np.arange(3),), {})],
    "index_select": lambda rng: _along(0, PLACES)(rng) + _along(-1, np.array(1))(rng),
    "index_add": _index_add,
    "index_copy": _index_copy,
    "index_fill": _index_fill,
    "index_put": _index_put,
    "index_reduce": _index_reduce,
    "gather": _gather,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "scatter_reduce": _scatter_reduce,
    "take": _along(np.array([[3, 3], [-1, 0]])),
    "put": _put,
    "take_along_dim": _take_along_dim,
    "masked_select": _along(np.array([True, False, True, True])),
    "masked_scatter": _masked_scatter,
    "nonzero": lambda rng: [
        ((rng.integers(0, 2, shape),), {"as_tuple": flag})
        for shape in ((3, 4), (3,), ())
        for flag in (False, True)
    ],
    "argwhere": lambda rng: [((rng.integers(0, 2, shape),), {}) for shape in ((3, 4), (3,), ())],
    "nn.functional.embedding": _embedding,
    "nn.functional.one_hot": lambda rng: [((PLACES,), {}), ((PLACES, 5), {})],
    "fill": lambda rng: [
        ((rng.standard_normal((2, 3)), value), {}) for value in (1, rng.standard_normal(()))
    ],
    "zero_": _along(),
    "copy_": lambda rng: [((rng.standard_normal((2, 3)), rng.standard_normal(3)), {})],
}
