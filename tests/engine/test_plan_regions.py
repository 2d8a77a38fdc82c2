"""Regions of plans: what is fused, what isn't, and that a new op needs nothing to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from gradwire_engine.arrays import Array
from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.families import elementwise
from gradwire_engine.op import PRIMITIVES
from gradwire_engine.plan import Plan, UntraceableError, plan_of
from gradwire_engine.plan.parts import parts_of
from gradwire_engine.plan.sweep import Sweep
from gradwire_engine.rule import vjp
from gradwire_engine.spec import Spec, float32, float64
from gradwire_engine.tensor import Tensor

MATRIX = Spec((256, 128), float64, "cpu")


def regions_of(plan: Plan) -> list[list[str]]:
    """The names of the steps of each region."""
    return [[s.name for _, s in u.region.steps] for u in plan.units if isinstance(u, Sweep)]


def with_gradient(function: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """A function's value, added up, and its gradient."""

    def both(x: Any) -> list[Any]:
        x.requires_grad_()
        total = resolve("sum")(function(x))
        return [total, *grad([total], [x])]

    return both


def agree(plan: Plan, function: Callable[..., Sequence[Any]], *arrays: np.ndarray) -> None:
    """A plan gives what its function gives op by op."""
    eager = [y.array for y in function(*map(Tensor.of, arrays))]
    for found, wanted in zip(plan.run(arrays), eager, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


def points(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape)


def test_forward_and_backward_are_one_sweep() -> None:
    both = with_gradient(lambda x: resolve("tanh")(x * x) * 3.0)
    plan = plan_of(both, [MATRIX])
    assert len(regions_of(plan)) == 1
    assert len(plan.units) == 1 + sum(not isinstance(u, Sweep) for u in plan.units)
    agree(plan, both, points(256, 128))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_are_folded_and_spread_within_a_region(name: str) -> None:
    both = with_gradient(lambda x: resolve(name)(x, 1) * x)
    plan = plan_of(both, [MATRIX])
    assert len(regions_of(plan)) == 1
    agree(plan, both, points(256, 128))


def test_what_waits_for_all_rows_is_another_region() -> None:
    def centred(x: Any) -> Any:
        away = x - resolve("mean")(x, 0, True)
        return [away * away]

    plan = plan_of(centred, [MATRIX])
    assert len(regions_of(plan)) == 2
    agree(plan, centred, points(256, 128))


def test_products_stand_between_regions() -> None:
    def layers(x: Any, w: Any) -> list[Any]:
        return [resolve("tanh")(resolve("exp")(x * 2) @ w + 1)]

    plan = plan_of(layers, [MATRIX, Spec((128, 64), float64, "cpu")])
    kinds = ["region" if isinstance(u, Sweep) else u.name for u in plan.units]
    assert kinds == ["region", "matmul", "region"]
    agree(plan, layers, points(256, 128), points(128, 64))


def test_values_seen_in_other_shapes_and_orders() -> None:
    def turned(x: Any) -> list[Any]:
        seen = resolve("reshape")(x * 2, (4, 64, 128))
        return [resolve("transpose")(seen + 1, 0, 2) * 3, resolve("sum")(seen, (1,))]

    agree(plan_of(turned, [MATRIX]), turned, points(256, 128))


def test_an_outer_product_of_a_value_with_itself() -> None:
    def outer(x: Any) -> list[Any]:
        y = resolve("exp")(x)
        return [resolve("reshape")(y, (-1, 1)) * y]

    x = points(5000)[:5000] / 10
    small = plan_of(outer, [Spec((5000,), float64, "cpu")])
    agree(small, outer, x)


@pytest.fixture
def softbend() -> Iterator[Any]:
    """An elementwise op, declared as any other is; gone after the test."""

    @elementwise(vjp(input=lambda g, input: g * input / resolve("sqrt")(input * input + 1)))
    def softbend(xp: Any, input: Array) -> Array:
        """√(x² + 1)."""
        out = xp.multiply(input, input)
        out += 1
        return xp.sqrt(out, out=out)

    yield softbend
    for name in ("softbend", "softbend_"):
        CATALOGUE.pop(name, None)
        PRIMITIVES.pop(name, None)


def test_an_op_that_is_added_is_fused(softbend: Any) -> None:
    both = with_gradient(lambda x: softbend(x) * resolve("exp")(x))
    plan = plan_of(both, [MATRIX])
    (steps,) = regions_of(plan)
    assert steps.count("sqrt") == 1  # in the kernel and in its rule, and done once
    assert "exp" in steps
    agree(plan, both, points(256, 128))


def test_a_gradient_through_a_region_is_the_same_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = with_gradient(lambda x: resolve("softmax")(x, 1) * resolve("sin")(x))
    found = []
    for count in (1, 3):
        monkeypatch.setattr("gradwire_engine.plan.sweep.threads", lambda count=count: count)
        plan = plan_of(both, [Spec((4096, 128), float32, "cpu")])
        found.append(plan.run([points(4096, 128).astype("float32")]))
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)


def test_a_plan_says_what_it_does() -> None:
    plan = plan_of(lambda x: [resolve("exp")(x) * 2], [MATRIX])
    (part,) = parts_of(plan)
    assert (part.how, part.shape, part.ops) == ("region", (32768,), ("exp", "mul"))
    (unit,) = plan.units
    assert isinstance(unit, Sweep)
    assert unit.height == 32768
    steps = [(s.results, s.name, s.operands) for _, s in unit.region.steps]
    assert steps == [((1,), "exp", (0,)), ((3,), "multiply", (1, 2))]
    assert plan.code.constants == {2: 2}


def test_where_there_can_be_no_plan_that_is_said() -> None:
    with pytest.raises(UntraceableError):
        plan_of(lambda x: [resolve("rand")((3,)) * x], [MATRIX])
