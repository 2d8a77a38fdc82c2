"""Sums that a plan has already: what is made of them is what it is op by op, but for rounding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.plan import lowered, plan_of, regions, simplified, trace
from gradwire_engine.plan.algebra import plainer
from gradwire_engine.plan.sums import fewer
from gradwire_engine.plan.sweep import Sweep
from gradwire_engine.spec import DType, Spec, float32, float64
from gradwire_engine.tensor import Tensor

exp, log, total, reshape = (resolve(name) for name in ("exp", "log", "sum", "reshape"))
softmax, log_softmax, amax = resolve("softmax"), resolve("log_softmax"), resolve("amax")
SQUARE = (6, 6)


def back(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The gradient of what a function's results sum up to."""

    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return grad([total(function(x))], [x])[0]

    return gradient


def by_hand(x: Any, along: int, summed: int) -> Any:
    """exp(x - max x - log s), of maxima and sums along axes that may differ."""
    shifted = x - amax(x, along, keepdim=True)
    return exp(shifted - log(total(exp(shifted), summed, keepdim=True)))


SAVING: dict[str, tuple[Callable[[Any], Any], dict[str, int]]] = {
    "the gradient of log_softmax": (back(lambda x: log_softmax(x, 1) * x), {"exp": 1}),
    "of entropy": (
        back(lambda x: log_softmax(x, 1) * softmax(x, 1)),
        {"exp": 1, "add.fold": 2, "divide": 2},
    ),
    "of three axes": (
        back(lambda x: log_softmax(reshape(x, (2, 3, 6)), 1) * softmax(reshape(x, (2, 3, 6)), 1)),
        {"exp": 1},
    ),
    "written out": (lambda x: by_hand(x, 0, 0), {"exp": 1, "divide": 1}),
    "rows before all": (
        lambda x: total(x * x) + total(total(x * x, 1, keepdim=True) ** 2),
        {"add.fold": 3},
    ),
}
"""Functions, and how often their plans call what."""
KEPT: dict[str, Callable[[Any], Any]] = {
    "sums along another axis than the maxima's": lambda x: by_hand(x, 0, 1),
    "sums turned round": lambda x: exp(
        (a := x - amax(x, 1, keepdim=True)) - log(resolve("t")(total(exp(a), 1, keepdim=True)))
    ),
    "sums from the last to the first": lambda x: exp(
        (a := x - amax(x, 1, keepdim=True))
        - log(resolve("flip")(total(exp(a), 1, keepdim=True), (0,)))
    ),
    "exponentials that overflow": lambda x: exp(x - log(total(exp(x), 1, keepdim=True))),
    "quotients that overflow": lambda x: total(exp(x) / total(exp(x), 1, keepdim=True), 1),
}
"""What looks alike and stays as it is, to the bit."""


def steps(function: Callable[[Any], Any], dtype: DType = float64) -> Counter[str]:
    graph = simplified(trace(lambda x: [function(x)], [Spec(SQUARE, dtype, "cpu")]))
    return Counter(step.name for step in fewer(plainer(lowered(graph))).steps)


def sides(function: Callable[[Any], Any], x: np.ndarray, dtype: DType) -> tuple[Any, Any]:
    """What its plan gives, and what it gives op by op."""
    plan = plan_of(lambda x: [function(x)], [Spec(x.shape, dtype, "cpu")])
    with np.errstate(all="ignore"):
        return plan.run([x])[0], function(Tensor.of(x.copy())).array


def edges(dtype: DType) -> list[np.ndarray]:
    """Ordinary numbers, far apart, as large as six can add up; infinities and what is no number."""
    numbers = np.random.default_rng(3).standard_normal(SQUARE)
    odd = numbers.copy()
    odd[0, 0], odd[1, 1], odd[2, 2], odd[3] = np.inf, -np.inf, np.nan, -np.inf
    largest = np.finfo(dtype.numpy).max
    made = numbers, 300 * numbers, np.sign(numbers) * 0.1 * largest, odd
    return [array.astype(dtype.numpy) for array in made]


@pytest.mark.parametrize("smallest", [1, 1 << 12])
@pytest.mark.parametrize("name", SAVING)
def test_what_is_saved_changes_rounding_alone(
    name: str, smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regions, "SMALLEST", smallest)
    function, wanted = SAVING[name]
    found = steps(function)
    assert {step: found[step] for step in wanted} == wanted
    for dtype, tolerance in ((float64, 1e-12), (float32, 1e-5)):
        for x in edges(dtype):
            ours, eager = sides(function, x, dtype)
            np.testing.assert_allclose(ours, eager, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", KEPT)
def test_what_looks_alike_stays(name: str) -> None:
    graph = simplified(trace(lambda x: [KEPT[name](x)], [Spec(SQUARE, float64, "cpu")]))
    code = plainer(lowered(graph))
    assert fewer(code) is code
    for x in edges(float64):
        np.testing.assert_array_equal(*sides(KEPT[name], x, float64))


def rows(x: Any) -> Any:
    return total(total(x, 1, keepdim=True) ** 2)


@pytest.mark.parametrize("first", [total, rows])
def test_sums_over_more_axes_are_of_sums_over_fewer(first: Callable[[Any], Any]) -> None:
    """Whichever stands first; the elements are gone over once."""
    second = rows if first is total else total
    graph = simplified(trace(lambda x: [first(x) + second(x)], [Spec(SQUARE, float64, "cpu")]))
    code = fewer(plainer(lowered(graph)))
    read = [code.phantoms[s.operands[0]].shape for s in code.steps if s.name == "add.fold"]
    assert sorted(read) == [(6, 1), (6, 1), SQUARE]


def products(x: Any, y: Any) -> list[Any]:
    return [total(x * y, 1)]


def products_that_are_wanted(x: Any, y: Any) -> list[Any]:
    product = x * y
    return [product, total(product, 1, keepdim=True)]


def products_of_columns(x: Any, y: Any) -> list[Any]:
    return [total(x * y, 0)]


def products_with_rows(x: Any, y: Any) -> list[Any]:
    return [total(x * resolve("select")(y, 0, 0), 1)]


@pytest.mark.parametrize("width", [128, 200, 8192])
@pytest.mark.parametrize("dtype", [float32, float64], ids=["float32", "float64"])
@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (products, 1),
        (products_that_are_wanted, 2),
        (products_of_columns, 2),
        (products_with_rows, 2),
    ],
)
def test_products_are_part_of_sums_along_rows(
    function: Callable[..., list[Any]], calls: int, dtype: DType, width: int
) -> None:
    """Where nobody else reads them."""
    spec = Spec((64, width), dtype, "cpu")
    plan = plan_of(function, [spec, spec])
    assert [len(unit.calls) for unit in plan.units if isinstance(unit, Sweep)] == [calls]
    random = np.random.default_rng(5)
    x, y = (random.standard_normal(spec.shape).astype(dtype.numpy) for _ in "xy")
    tolerance = 1e-12 if dtype is float64 else 1e-4
    for found, again, eager in zip(
        plan.run([x, y]), plan.run([x, y]), function(Tensor.of(x), Tensor.of(y)), strict=True
    ):
        np.testing.assert_array_equal(found, again)
        np.testing.assert_allclose(found, eager.array, rtol=tolerance, atol=tolerance)
