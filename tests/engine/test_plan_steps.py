"""Kernels taken apart, and passes on the steps that come of it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.plan import Code, Plan, lowered, plan_of, scratch, simplified, sweep, trace
from gradwire_engine.plan.algebra import plainer, without_dead
from gradwire_engine.plan.code import CALL, CONTRACT, FOLD, FOLDS, FUSES, MAP, VIEW
from gradwire_engine.plan.functions import select
from gradwire_engine.plan.order import put_off
from gradwire_engine.plan.space import along, divided, extents, row_major, seen
from gradwire_engine.spec import Spec, float32, float64
from gradwire_engine.tensor import Tensor

VECTOR = Spec((6,), float32, "cpu")
Function = Callable[..., Sequence[Any]]


def code_of(function: Function, *specs: Spec) -> Code:
    return lowered(simplified(trace(function, specs)))


def names(code: Code) -> list[str]:
    return [step.name for step in code.steps]


def test_a_kernel_that_writes_into_its_own_arrays() -> None:
    code = code_of(lambda x: [resolve("nn.functional.gelu")(x, approximate="tanh")], VECTOR)
    assert {step.kind for step in code.steps} == {MAP}
    assert names(code).count("tanh") == 1


def test_a_kernel_of_rows() -> None:
    code = code_of(lambda x: [resolve("softmax")(x, 1)], Spec((8, 512), float32, "cpu"))
    kinds = [step.kind for step in code.steps if step.kind != VIEW]
    assert kinds == [FOLD, MAP, MAP, CONTRACT, MAP]


def test_what_two_kernels_do_alike_is_done_once() -> None:
    def both(x: Any) -> list[Any]:
        return [resolve("softmax")(x, 0), resolve("log_softmax")(x, 0)]

    code = code_of(both, VECTOR)
    assert (names(code).count("exp"), names(code).count("maximum.fold")) == (1, 1)


@pytest.mark.parametrize("name", ["sort", "cumsum", "flip"])
def test_a_kernel_that_no_probe_can_follow_is_one_step(name: str) -> None:
    arguments = {"flip": ((0,),)}.get(name, (0,))

    def function(x: Any) -> list[Any]:
        found = resolve(name)(x, *arguments)
        return [found[0] if name == "sort" else found]

    (step,) = code_of(function, VECTOR).steps
    assert (step.kind, step.name) == (CALL, name)


def test_the_steps_of_a_code() -> None:
    two, other = Spec((2, 3), float32, "cpu"), Spec((3, 4), float32, "cpu")
    code = code_of(lambda x, w: [resolve("sum")(x @ w * 2)], two, other)
    assert (code.inputs, code.outputs, code.constants) == ((0, 1), (5,), {3: 2})
    assert [(s.results, s.name, s.operands, dict(s.options)) for s in code.steps] == [
        ((2,), "matmul", (0, 1), {}),
        ((4,), "multiply", (2, 3), {}),
        ((5,), "add.fold", (4,), {"axis": (0, 1), "keepdims": False}),
    ]
    assert [code.phantoms[n].shape for n in (2, 4, 5)] == [(2, 4), (2, 4), ()]
    assert {code.phantoms[n].dtype for n in (2, 4, 5)} == {np.dtype("float32")}


def _cast(x: Any, dtype: Any) -> Any:
    return resolve("to")(x, dtype)


ALGEBRA: dict[str, tuple[Function, list[str]]] = {
    "times one": (lambda x: [resolve("exp")(x) * 1.0], ["exp"]),
    "one times": (lambda x: [1 * resolve("exp")(x)], ["exp"]),
    "by one": (lambda x: [resolve("exp")(x) / 1], ["exp"]),
    "less nothing": (lambda x: [resolve("exp")(x) - 0], ["exp"]),
    "negated twice": (lambda x: [resolve("neg")(-resolve("exp")(x))], ["exp"]),
    "plus a negative": (lambda x: [resolve("exp")(x) + -x], ["exp", "subtract"]),
    "a negative plus": (lambda x: [-x + resolve("exp")(x)], ["exp", "subtract"]),
    "less a negative": (lambda x: [resolve("exp")(x) - -x], ["exp", "add"]),
    "times ones": (lambda x: [x * resolve("expand")(resolve("ones")((1,)), (6,))], []),
    "widened and narrowed": (lambda x: [_cast(_cast(x, float64), float32)], []),
    "plus nothing, which turns -0 into 0": (lambda x: [x + 0], ["add"]),
    "less -0, which does too": (lambda x: [x - -0.0], ["subtract"]),
    "times minus one": (lambda x: [x * -1], ["multiply"]),
    "a shape that changes": (lambda x: [x * resolve("ones")((2, 6))], ["multiply"]),
    "a sum with a negative's product": (
        lambda x: [x + -x * 3], ["multiply", "subtract"],
    ),
    "a difference from one": (lambda x: [x - 2 * -x], ["multiply", "add"]),
    "a negative twice, taken off": (lambda x: [x * 3 - (-x + -x)], ["multiply", "add", "add"]),
    "a negative of such a product": (lambda x: [-(x * -x)], ["multiply"]),
    "a product that is read elsewhere, too": (
        lambda x: [(y := -x * 3) + x * y], ["negative", "multiply", "multiply", "add"],
    ),
    "a product less something": (
        lambda x: [-x * 3 - x], ["negative", "multiply", "subtract"],
    ),
    "a product and itself": (lambda x: [(y := -x * 3) + y], ["negative", "multiply", "add"]),
    "sums that cancel": (
        lambda x: [x * 2 - (-x + -(1 - x))],
        ["multiply", "negative", "subtract", "subtract", "subtract"],
    ),
    "what is the same then": (
        lambda x: [resolve("exp")(x * 1.0) * resolve("exp")(x)], ["exp", "multiply"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ALGEBRA)
def test_algebra(case: str) -> None:
    function, wanted = ALGEBRA[case]
    graph = simplified(trace(function, [VECTOR]))
    code = plainer(lowered(graph))
    assert [n for n in names(code) if n not in ("expand", "ones")] == wanted
    x = np.array([-0.0, 0.0, 1.5, -2, np.inf, np.nan], "float32")
    (found,) = Plan(graph).run([x])
    (eager,) = (y.array for y in function(resolve("clone")(Tensor.of(x))))
    np.testing.assert_array_equal(found, eager)
    numbers = ~np.isnan(eager)  # the sign of what is no number means nothing
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(eager[numbers]))


def test_what_nobody_reads_goes() -> None:
    code = code_of(lambda x: [resolve("exp")(x), resolve("sin")(x)], VECTOR)
    assert names(without_dead(code._replace(outputs=code.outputs[:1]))) == ["exp"]


def test_what_is_read_later_waits() -> None:
    """A mask of the forward pass that only the walk back asks for."""

    def layers(x: Any, w: Any) -> list[Any]:
        x.requires_grad_()
        y = resolve("sum")(resolve("nn.functional.relu")(x @ w) @ w)
        return [y, *grad([y], [x])]

    square = Spec((6, 6), float32, "cpu")
    code = code_of(layers, square, square)
    kinds = [s.name for s in put_off(code).steps]
    assert sorted(kinds) == sorted(names(code))
    x, w = (np.random.default_rng(2).standard_normal((6, 6)).astype("float32") for _ in "xw")
    eager = [y.array for y in layers(Tensor.of(x), Tensor.of(w))]
    for found, wanted in zip(plan_of(layers, [square, square]).run([x, w]), eager, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_select_by_bits_is_where() -> None:
    random = np.random.default_rng(1)
    for dtype in ("float32", "float64", "int64", "complex64", "bool"):
        a, b = (random.integers(0, 9, 5000).astype(dtype) for _ in "ab")
        mask = random.random(5000) < 0.5
        for one, other in ((a, b), (a.dtype.type(0), b), (a, b.dtype.type(1))):
            out = np.empty(5000, dtype)
            select(mask, one, other, out)
            np.testing.assert_array_equal(out, np.where(mask, one, other))


def test_regions_have_neither_products_nor_joins_nor_calls() -> None:
    assert {MAP, FOLD, CONTRACT, VIEW} == FUSES
    assert {FOLD, CONTRACT} == FOLDS


def test_a_space_is_cut_where_its_values_need_it() -> None:
    assert row_major((4, 1, 3)) == (3, 0, 1)
    rows = extents((4,), (3,))
    columns = extents((3,), (1,))
    assert divided([*rows, *columns], 12) == (4, 3)
    assert divided([(1, 6), (4, 12)], 12) is None  # they cross
    assert along((4,), (3,), (4, 3)) == (True, False)
    assert seen(lambda a: a.T, (4, 3), (3, 1), 12) == (1, 3)
    assert seen(lambda a: a[:2], (4, 3), (3, 1), 12) is None
    assert seen(lambda a: a[::-1], (4, 3), (3, 1), 12) is None
    assert seen(lambda a: a.T.reshape(12), (4, 3), (3, 1), 12) is None  # that would be a copy


def layered(x: Any, w: Any, v: Any) -> list[Any]:
    """A layer norm, two products and a softmax, with gradients."""
    for weight in (w, v):
        weight.requires_grad_()
    hidden = resolve("nn.functional.gelu")(resolve("nn.functional.layer_norm")(x, (256,)) @ w)
    loss = resolve("sum")(resolve("softmax")(hidden @ v, 1) * x)
    return [loss, *grad([loss], [w, v])]


MODELS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "layers": (layered, [(1024, 256), (256, 512), (512, 256)]),
    "a row at a time": (lambda x: [resolve("softmax")(x, 1) * 2], [(512, 1024)]),
    "a chain": (lambda x: [resolve("tanh")(x * x) * resolve("exp")(x)], [(1 << 20,)]),
}


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_holds_what_it_said(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its forecast is what it allocates at most, within a tenth."""
    function, shapes = MODELS[model]
    arrays = [np.random.default_rng(4).standard_normal(s).astype("float32") for s in shapes]
    monkeypatch.setattr(sweep, "threads", lambda: 1)
    plan = plan_of(function, [Spec(s, float32, "cpu") for s in shapes])
    monkeypatch.setattr(scratch, "_scratch", scratch.Scratch())
    tracemalloc.start()
    try:
        plan.run(arrays)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert plan.nbytes == pytest.approx(held, rel=0.1)
