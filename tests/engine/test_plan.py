"""Plans: what was traced gives what runs op by op gives, for every op of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tests.engine.samples import samples_of
from tests.engine.trial import REFUSED, Host, Trial, cotangents, host

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.plan import Graph, Plan, UntraceableError, regions, simplified, sweep, trace
from gradwire_engine.spec import Spec, dtype_of, float32, float64
from gradwire_engine.tensor import Tensor

sampled_op = pytest.mark.parametrize("name", sorted(filter(samples_of, CATALOGUE.keys() - REFUSED)))


def spec_of(array: Host) -> Spec:
    return Spec(array.shape, dtype_of(array.dtype), "cpu")


def value_and_grads(trial: Trial, leaves: Sequence[Tensor]) -> list[Tensor]:
    """Results, and gradients of their product with fixed cotangents where there are any."""
    for leaf in leaves:
        leaf.requires_grad_()
    outputs = trial.run(leaves, leaves[0].device)
    rooted = [y for y in outputs if y.requires_grad]
    if not rooted:
        return outputs
    found = grad(rooted, leaves, cotangents(rooted), materialize_grads=True)
    return [*outputs, *(g for g in found if g is not None)]


def reason_not_to(op: Any) -> bool:
    """Whether an op's results can't be known to a trace."""
    return op.data_dependent or any(o.random for o in op.overloads)


BY_ELEMENTS = {
    "__getitem__", "__setitem__", "atleast_1d", "index_put", "narrow", "tensor_split",
}  # fmt: skip
"""Ops that can't be traced, or not with all of their samples, though nothing declares it."""


def traced(name: str, function: Any, points: Sequence[Host]) -> Graph | None:
    """The graph of a function of an op; None where the op is one of those that have none."""
    allowed = reason_not_to(CATALOGUE[name]) or name in BY_ELEMENTS
    try:
        return trace(function, [*map(spec_of, points)])
    except (UntraceableError, GradwireError):
        if not allowed:
            raise
        return None


def graphs_of(name: str) -> Iterator[tuple[Any, list[Host], Graph]]:
    """Of each sample that can be traced: results and gradients as a function, points, the graph."""
    for call in samples_of(name):
        trial = Trial(name, call)

        def both(*leaves: Tensor, trial: Trial = trial) -> list[Tensor]:
            return value_and_grads(trial, leaves)

        points = [np.ascontiguousarray(p) if p.ndim else p for p in trial.points]
        graph = traced(name, both, points) if points else None
        if graph is not None:
            yield both, points, graph


@sampled_op
def test_planned_is_eager(name: str) -> None:
    for both, points, graph in graphs_of(name):
        eager = [host(y) for y in both(*map(Tensor.of, points))]
        for plan in (Plan(graph), Plan(simplified(graph))):
            runs = [[x.copy() for x in plan.run(points)] for _ in range(3)]
            for run in runs:  # the third one is on kernels called directly
                check(run, eager)
                for first, again in zip(runs[0], run, strict=True):
                    np.testing.assert_array_equal(first, again)  # to the last bit


@sampled_op
def test_fused_is_eager(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with regions however small, several blocks of them, and rows shared out."""
    monkeypatch.setattr(regions, "SMALLEST", 1)
    monkeypatch.setattr(sweep, "SHARED", 2)
    monkeypatch.setattr(sweep, "BLOCK", 3)
    monkeypatch.setattr(sweep, "threads", lambda: 2)
    for both, points, graph in graphs_of(name):
        plan = Plan(simplified(graph))
        found = [x.copy() for x in plan.run(points)]
        check(found, [host(y) for y in both(*map(Tensor.of, points))])
        for first, again in zip(found, plan.run(points), strict=True):
            np.testing.assert_array_equal(first, again)  # to the last bit


def check(planned: Sequence[Host], eager: Sequence[Host]) -> None:
    assert len(planned) == len(eager)
    for a, b in zip(planned, eager, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert a.flags.c_contiguous
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * max(1.0, _size(b)))


def _size(array: Host) -> float:
    """The largest of the finite elements: sums round by that."""
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max(initial=0.0))


def curvature(x: Any) -> list[Any]:
    """A function whose gradient is differentiated again."""
    x.requires_grad_()
    y = resolve("sum")(resolve("sin")(x * x) * 3.0)
    (first,) = grad([y], [x], create_graph=True)
    assert first is not None
    return [y, first, *grad([resolve("sum")(first)], [x], allow_unused=False)]


def test_derivatives_of_derivatives() -> None:
    x = np.linspace(-1, 1, 5)
    plan = Plan(simplified(trace(curvature, [spec_of(x)])))
    check(plan.run([x]), [host(y) for y in curvature(Tensor.of(x))])


def gradient(x: Any) -> list[Any]:
    x.requires_grad_()
    y = resolve("sum")(x * x)
    return [y, *grad([y], [x])]


def test_the_lines_of_a_graph() -> None:
    graph = simplified(trace(gradient, [Spec((3,), float32, "cpu")]))
    assert (graph.inputs, graph.outputs) == ((0,), (2, 8))
    said = [(n.results, str(n.specs[0]), n.op.name, n.operands, n.nbytes) for n in graph.lines]
    assert said == [
        ((1,), "float32[3]", "mul", (0, 0), 12),
        ((2,), "float32[]", "sum", (1,), 4),
        ((8,), "float32[3]", "add", (0, 0), 12),
    ]
    assert graph.lines[1].arguments[1:] == (None, False, None)  # dim, keepdim, dtype
    assert graph.lines[2].arguments[2:] == (1,)  # alpha


def lines(function: Any, *specs: Spec) -> list[str]:
    """The names of the ops that are left of a function."""
    return [line.op.name for line in simplified(trace(function, specs)).lines]


VECTOR = Spec((3,), float32, "cpu")


def test_what_nobody_uses_is_not_done() -> None:
    assert lines(lambda x: [x * 2, resolve("exp")(x)][:1], VECTOR) == ["mul"]


def test_what_is_asked_twice_is_done_once() -> None:
    exp = resolve("exp")
    assert lines(lambda x: [exp(x) + exp(x)], VECTOR) == ["exp", "add"]
    assert lines(lambda x: [x * 2, x * 2], VECTOR) == ["mul"]


def test_numbers_that_compare_equal_are_told_apart() -> None:
    for other in (True, 1.0):
        ints = Spec((2,), dtype_of(np.dtype("int64")), "cpu")
        found = trace(lambda x, o=other: [x + 1, x + o], [ints])
        one, two = Plan(simplified(found)).run([np.array([1, 2])])
        assert (one.dtype, two.dtype) == (np.int64, np.int64 if other is True else np.float32)
    zeros = trace(lambda x: [x * 0.0, x * -0.0], [VECTOR])
    plus, minus = Plan(simplified(zeros)).run([np.ones(3, "float32")])
    assert not np.signbit(plus).any()
    assert np.signbit(minus).all()


def test_constants_are_worked_out_beforehand() -> None:
    ones = resolve("ones")
    assert lines(lambda x: [x * resolve("exp")(ones((3,)) * 2)], VECTOR) == ["mul"]
    large = lines(lambda x: [x + resolve("sum")(ones((10_000,)) * 2)], VECTOR)
    assert large == ["ones", "mul", "sum", "add"]


def test_a_factor_of_one_goes_only_where_nothing_else_changes() -> None:
    ones = resolve("ones")
    assert lines(lambda x: [x * ones((3,))], VECTOR) == []
    assert lines(lambda x: [x * ones((2, 3))], VECTOR) == ["mul"]
    assert lines(lambda x: [x * ones((3,))], Spec((), float32, "cpu")) == ["mul"]
    assert lines(lambda x: [x * ones((3,))], Spec((3,), dtype_of(np.dtype("c8")), "cpu")) == ["mul"]


def test_results_are_the_callers_not_the_plans() -> None:
    plan = Plan(simplified(trace(gradient, [VECTOR])))
    first = plan.run([np.ones(3, "float32")])
    plan.run([np.zeros(3, "float32")])
    np.testing.assert_array_equal(first[1], [2, 2, 2])


get, put, clone = (resolve(name) for name in ("__getitem__", "__setitem__", "clone"))
TAIL = (slice(1, None),)


def _part(x: Any) -> list[Any]:
    y = clone(x)
    put(y, TAIL, get(y, TAIL) * 2)
    return [y]


def _through_views(x: Any) -> list[Any]:
    """Base and views see what is written through either, and gradients arrive."""
    x.requires_grad_()
    y = clone(x)
    v = get(y, TAIL)
    w = get(v, 0)
    put(v, (1,), clone(w) * 3)
    put(y, (0,), clone(w) * clone(w))
    total = resolve("sum")(y * clone(w))
    return [y * 1, v * 1, w * 1, total, *grad([total], [x])]


def _of_an_input(x: Any) -> list[Any]:
    put(get(x, TAIL), (0,), 5.0)
    return [x * 1]


def _in_itself(x: Any) -> list[Any]:
    """What `y[1:] += 2 y[1:]` is."""
    y = clone(x)
    v = get(y, TAIL)
    v += v * 2
    put(y, TAIL, v)
    return [y]


def _turned(x: Any) -> list[Any]:
    y = resolve("t")(clone(resolve("reshape")(x, (2, 2))))
    put(y, (1, 0), 7.0)
    return [y * 1, resolve("reshape")(y, (4,))]


@pytest.mark.parametrize("function", [_part, _through_views, _of_an_input, _in_itself, _turned])
def test_writes_through_views(function: Any) -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    plan = Plan(simplified(trace(function, [spec_of(x)])))
    given = x.copy()
    for _ in range(2):
        check(plan.run([given]), [host(y) for y in function(Tensor.of(x.copy()))])
    np.testing.assert_array_equal(given, x)  # whoever asked keeps what he has


def test_a_run_can_be_ended_between_its_steps() -> None:
    calls: list[int] = []
    plan = Plan(simplified(trace(gradient, [VECTOR])))
    plan.run([np.ones(3, "float32")], lambda: calls.append(1))
    assert len(calls) == 3


@pytest.mark.parametrize("name", ["rand", "nonzero", "item", "float"])
def test_what_needs_elements_is_no_plan(name: str) -> None:
    attempts = {
        "rand": lambda x: [resolve("rand")((3,))],
        "nonzero": lambda x: [resolve("nonzero")(x)],
        "item": lambda x: [x * float(x.array)],
        "float": lambda x: [x * np.sum(x.array)],
    }
    with pytest.raises((UntraceableError, GradwireError)):
        trace(attempts[name], [VECTOR])
    assert trace(gradient, [VECTOR]).lines  # and a trace may run again


def test_nobody_can_ask_for_the_device_of_symbols() -> None:
    with pytest.raises(GradwireError) as refused:
        resolve("zeros")((3,), device="symbol")
    assert refused.value.code == "unsupported_device"


def test_a_graph_can_be_made_for_other_shapes_and_dtypes() -> None:
    for dtype, shape in ((float64, (2, 2)), (float32, ())):
        graph: Graph = trace(gradient, [Spec(shape, dtype, "cpu")])
        x = np.full(shape, 3.0, dtype.numpy)
        _, slope = Plan(simplified(graph)).run([x])
        np.testing.assert_array_equal(slope, 2 * x)
