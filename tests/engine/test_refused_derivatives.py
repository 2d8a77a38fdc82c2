"""What there is no derivative of: walks end there, or the call itself is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.calls import leaf, op, slopes, walk_back

from gradwire_engine import inplace
from gradwire_engine.backward import grad
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import no_grad
from gradwire_engine.tensor import Tensor


def test_a_walk_that_comes_to_what_has_no_derivative_is_refused() -> None:
    x, y = leaf([5.0, 7.0]), leaf([1.0, 2.0])
    whole = op("sum", op("add", op("floor_divide", x, 2), y))
    assert op("floor_divide", x, 2).grad_fn.name() == "NotImplemented"
    with pytest.raises(GradwireError, match="derivative of floor_divide is not implemented"):
        walk_back(whole)
    assert x.grad is None and y.grad is None
    assert slopes(whole, y) == [[1, 1]]


def complex_leaf(*values: complex) -> Tensor:
    return Tensor.of(np.array(values, "complex128"), requires_grad=True)


F = "nn.functional."
FIRST = np.array([0])
OF_REALS_ONLY: dict[str, Callable[[Any], Any]] = {
    "silu": lambda z: op(F + "silu", z),
    "nan_to_num": lambda z: op("nan_to_num", z),
    "select_scatter": lambda z: op("select_scatter", z, op("sum", z), 0, 0),
    "slice_scatter": lambda z: op("slice_scatter", z, z),
    "scatter_reduce": lambda z: op("scatter_reduce", z, 0, Tensor.of(FIRST), z, "sum"),
    "embedding": lambda z: op(F + "embedding", Tensor.of(FIRST), op("reshape", z, (-1, 1))),
    "bilinear": lambda z: op(F + "bilinear", z, z, op("reshape", op("outer", z, z), (1, 2, 2))),
    "normal": lambda z: op("normal", z, 1.0),
}


@pytest.mark.parametrize("name", OF_REALS_ONLY)
def test_complex_results_of_some_ops_are_not_recorded(name: str) -> None:
    z, call = complex_leaf(1 + 2j, 3 - 1j), OF_REALS_ONLY[name]
    for _ in range(3):  # the second call goes a shorter way
        with pytest.raises(RuntimeError, match=f"{name} does not support automatic different"):
            call(z)
        with no_grad():
            assert not call(z).requires_grad
        assert not call(z.detach()).requires_grad


@pytest.mark.parametrize(
    ("name", "rest"),
    [("silu_", ()), ("nan_to_num_", ()), ("scatter_reduce_", (0, FIRST, np.ones(1) + 0j, "sum"))],
)
def test_they_are_in_place(name: str, rest: tuple[Any, ...]) -> None:
    z = complex_leaf(1 + 2j, 3 - 1j)
    written = op("mul", z, 1)
    operands = [Tensor.of(x) if isinstance(x, np.ndarray) else x for x in rest]
    inplace.call(name, (written, *operands), {})
    assert written.requires_grad
    if name != "silu_":
        with pytest.raises(RuntimeError, match="does not support automatic different"):
            op(name.removesuffix("_"), z, *operands)


SETTLED: dict[str, Callable[[Any, Any], Any]] = {
    "nll_loss": lambda x, w: op(F + "nll_loss", x, Tensor.of(FIRST), w),
    "cross_entropy": lambda x, w: op(F + "cross_entropy", x, Tensor.of(FIRST), w),
    "binary_cross_entropy": lambda x, w: op(F + "binary_cross_entropy", x, x, w),
    "multi_margin_loss": lambda x, w: op(F + "multi_margin_loss", x, Tensor.of(FIRST), 1, 1.0, w),
    "soft_margin_loss": lambda x, w: op(F + "soft_margin_loss", x, op("reshape", w, (1, -1))),
    "batch_norm": lambda x, w: op(F + "batch_norm", x, w, w),
    "linalg.pinv": lambda x, w: op("linalg.pinv", x, rtol=op("select", w, 0, 0)),
}


@pytest.mark.parametrize("name", SETTLED)
def test_some_operands_may_not_require_grad(name: str) -> None:
    x, w, call = leaf([[0.5, 0.25]]), leaf([0.1, 0.2]), SETTLED[name]
    for _ in range(3):
        with pytest.raises(RuntimeError, match=f"{name} is not differentiable with respect to"):
            call(x, w)
        with no_grad():
            call(x, w)
        assert call(x, w.detach()).requires_grad


def test_weights_of_probabilities_may_require_grad() -> None:
    x, w = leaf([[0.5, 0.25]]), leaf([0.1, 0.2])
    assert slopes(op(F + "cross_entropy", x, leaf([[0.5, 0.5]], False), w), w)


def test_the_gradient_of_nll_loss_is_recorded_though_it_is_constant() -> None:
    x = leaf([[0.5, 0.25]])
    (g,) = grad([op(F + "nll_loss", x, Tensor.of(FIRST))], [x], create_graph=True)
    assert g.grad_fn is not None and g.grad_fn.name() == "NllLossBackwardBackward0"
    assert slopes(op("sum", op("mul", g, g)), x) == [[[0, 0]]]


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize("dtype", ["bool", "complex128"])
def test_medians_need_numbers_in_order(name: str, dtype: str) -> None:
    some, none = Tensor.of(np.ones(3, dtype)), Tensor.of(np.ones(0, dtype))
    for rest in ((), (0,)):
        with pytest.raises(NotImplementedError, match=f"{name}: not defined for {dtype}"):
            op(name, some, *rest)
    assert op(name, none).dtype.name == dtype
    with pytest.raises(IndexError, match="no element to reduce"):
        op(name, none, 0)
