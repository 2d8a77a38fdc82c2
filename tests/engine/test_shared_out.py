"""Elementwise functions on large arrays by all threads give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.samples import samples_of
from tests.engine.trial import Trial, cast, host

from gradwire_engine import binding
from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.kernels import row_blocks, shared
from gradwire_engine.op import Primitive
from gradwire_engine.spec import DTYPES, DType
from gradwire_engine.tensor import Tensor

SIZE = shared.LARGE + 3


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two threads, whatever the machine has; how many parts each call was shared out in."""
    calls: list[int] = []

    def share_out(works: Any) -> list[Any]:
        calls.append(len(works))
        return row_blocks.share_out(works[:1]) + [work() for work in works[1:]]

    monkeypatch.setattr(shared, "threads", lambda: 2)
    monkeypatch.setattr(shared, "share_out", share_out)
    return calls


def operands() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(SIZE).astype(np.float32)
    return {
        "an array": x[::-1].copy(),
        "a constant": np.broadcast_to(np.float32(3), SIZE),
        "a scalar array": np.array(2.5, np.float32),
        "a wider scalar": np.float64(0.1),
        "a float": 0.1,
        "an int": 3,
        "wider": rng.standard_normal(SIZE),
        "complex": x * (1 + 2j),
    }


@pytest.mark.parametrize("kind", operands())
@pytest.mark.parametrize("function", [np.multiply, np.add, np.maximum], ids=lambda f: f.__name__)
def test_it_is_what_numpy_gives(function: np.ufunc, kind: str, two_threads: list[int]) -> None:
    x, other = operands()["wider"].astype(np.float32), operands()[kind]
    found = shared.spread_out(function, x, other)
    np.testing.assert_array_equal(found, function(x, other), strict=True)
    assert two_threads == [2]


def test_what_does_not_lie_alike_is_done_at_once(two_threads: list[int]) -> None:
    x = np.ones((2, SIZE), np.float32)
    for other in (np.ones(SIZE, np.float32), np.ones((SIZE, 2), np.float32).T):
        np.testing.assert_array_equal(shared.spread_out(np.add, x, other), np.full((2, SIZE), 2.0))
    shared.spread_out(np.add, x[:, :10], x[:, :10])
    assert two_threads == []


def test_ops_and_rules_share_out_what_is_large(two_threads: list[int]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(SIZE).astype(np.float32) for _ in range(2))
    x, y = Tensor.of(a, True), Tensor.of(b, True)
    made = resolve("mul")(resolve("mul")(x, y), x)
    assert two_threads == [2, 2]
    gradients = grad([made], [x, y], [Tensor.of(np.ones(SIZE, np.float32))])
    assert len(two_threads) == 2 + 5  # four products and a sum
    for found, wanted in zip(gradients, (2 * a * b, a * a), strict=True):
        assert found is not None
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


ELEMENTWISE = [
    name
    for name, op in sorted(CATALOGUE.items())
    if any(isinstance(o, Primitive) and o.family == "elementwise" for o in op.overloads)
]
ROWS = 7
"""Times that a sample is repeated, so that no call of its shapes is known from other tests."""


def results(trial: Trial, dtype: DType) -> list[Any]:
    """What an op gives for a sample in a dtype; nothing where it refuses that."""
    shape = (ROWS, *np.broadcast_shapes(*[p.shape for p in trial.points]))
    wide = [cast(p, dtype) for p in trial.points]
    points = [np.broadcast_to(p, shape) if p.ndim else p for p in wide]
    try:
        return [host(y) for y in trial.run(trial.tensors(points, requires_grad=False))]
    except GradwireError as refusal:
        if refusal.code not in ("dtype_mismatch", "numerical_error"):
            raise
        return []


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_elementwise_op_shared_out_is_what_it_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (shared, binding):
        monkeypatch.setattr(module, "LARGE", 1)
    trials = [Trial(name, call) for call in samples_of(name)]
    cases = [(t, d) for t in trials for d in DTYPES.values()]
    found = [results(t, d) for t, d in cases]
    monkeypatch.setattr(shared, "threads", lambda: 1)
    for (trial, dtype), parts in zip(cases, found, strict=True):
        for a, b in zip(parts, results(trial, dtype), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
