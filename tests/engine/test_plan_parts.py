"""The parts of a plan: what reads what, which ops are where, and that what they take adds up."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.test_plan import graphs_of, sampled_op
from tests.engine.test_plan_regions import with_gradient

from gradwire_engine.catalogue import resolve
from gradwire_engine.plan import Plan, plan_of, regions, simplified, trace
from gradwire_engine.plan.compiled.llvm import available
from gradwire_engine.plan.figures import flops, moved
from gradwire_engine.plan.parts import Part, parts_of, parts_op_by_op
from gradwire_engine.spec import Spec, float32

WIDE, NARROW = Spec((128, 784), float32, "cpu"), Spec((784, 256), float32, "cpu")
ROW = Spec((256,), float32, "cpu")


def coherent(parts: list[Part], plan: Plan) -> None:
    """Parts read what is there before them, give all results, and count nothing twice."""
    there = {*plan.code.inputs, *plan.code.constants}
    for part in parts:
        assert part.ops
        assert there.issuperset(part.reads)
        assert there.isdisjoint(part.makes)
        assert len(part.outputs) == len(part.makes)
        assert min(part.flops, part.moved) >= 0
        assert part.how in ("region", "compiled", "call", "view")
        assert part.shape is None or part.how in ("region", "compiled")
        if part.how == "view":
            assert part.moved == 0
        there.update(part.makes)
    assert there.issuperset(plan.code.outputs)
    done = {name for part in parts for name in part.ops}
    possible = sum(flops(line) for line in plan.graph.lines if line.op.name in done)
    assert sum(part.flops for part in parts) <= possible


@sampled_op
def test_the_parts_of_every_op_are_coherent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With regions of whatever size, too."""
    for smallest in (regions.SMALLEST, 1):
        monkeypatch.setattr(regions, "SMALLEST", smallest)
        for _, _, graph in graphs_of(name):
            plan = Plan(simplified(graph))
            coherent(parts_of(plan), plan)


def test_a_layer() -> None:
    """A product, and what follows it as one region."""

    def layer(x: Any, w: Any, b: Any) -> list[Any]:
        return [resolve("sum")(resolve("tanh")(x @ w + b) * 2, 1)]

    plan = plan_of(layer, [WIDE, NARROW, ROW])
    product, region = parts_of(plan)
    x, w, b = plan.code.inputs
    assert product.ops == ("matmul",)
    assert (product.how, product.shape, product.reads) == ("call", None, (x, w))
    assert product.flops == 2 * 128 * 784 * 256
    assert product.moved == 4 * (128 * 784 + 784 * 256 + 128 * 256)
    assert product.outputs == (Spec((128, 256), float32, "cpu"),)
    assert region.ops == ("add", "tanh", "mul", "sum")
    assert region.how == ("compiled" if available() else "region")
    assert region.shape == (128, 256)
    assert set(region.reads) == {b, *product.makes}
    assert region.makes == plan.code.outputs
    assert region.flops == 4 * 128 * 256
    assert region.moved == 4 * (128 * 256 + 256 + 128)


def test_forward_and_backward_share_a_region() -> None:
    plan = plan_of(with_gradient(lambda x: resolve("tanh")(x * x)), [WIDE])
    fused = [part for part in parts_of(plan) if part.shape is not None]
    assert len(fused) == 1
    assert {"mul", "tanh", "sum", "tanh_backward"} <= set(fused[0].ops)
    assert sum(part.flops for part in parts_of(plan)) == plan.flops


def test_many_numbers_are_one_part() -> None:
    def chained(x: Any) -> list[Any]:
        for _ in range(100):
            x = resolve("sin")(x) * 1.5
        return [x]

    plan = plan_of(chained, [Spec((), float32, "cpu")])
    parts = parts_of(plan)
    if available():
        assert [(part.how, len(part.ops)) for part in parts] == [("compiled", 200)]
    assert sum(part.flops for part in parts) == 200


def test_op_by_op() -> None:
    specs = [WIDE, Spec((10, 784), float32, "cpu")]
    graph = trace(lambda x, w: [resolve("exp")(x @ resolve("t")(w))], specs)
    parts = parts_op_by_op(graph)
    assert [part.ops for part in parts] == [("t",), ("matmul",), ("exp",)]
    assert [part.how for part in parts] == ["view", "call", "call"]
    assert [(p.flops, p.moved) for p in parts] == [(flops(x), moved(x)) for x in graph.lines]
    assert parts[1].reads == (graph.inputs[0], *parts[0].makes)
