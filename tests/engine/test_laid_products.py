"""Products that are only copied into another order of axes are written in that order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.plan import Plan, plan_of
from gradwire_engine.plan.functions import copied
from gradwire_engine.spec import Spec, dtype_of
from gradwire_engine.tensor import Tensor

ops = resolve


def points(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def agreeing(function: Callable[..., Sequence[Any]], *arrays: np.ndarray) -> Plan:
    """The function's plan, which gives what the function gives op by op, row-major."""
    plan = plan_of(function, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays])
    eager = [t.array for t in function(*map(Tensor.of, arrays))]
    for found, wanted in zip(plan.run(arrays), eager, strict=True):
        assert found.shape == wanted.shape
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    return plan


def copies(plan: Plan) -> int:
    return sum(step.run is copied for step in plan.code.steps)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_every_order_of_the_axes_of_a_stack(order: tuple[int, ...]) -> None:
    """With rows and columns where BLAS can write them no copy is left; else one is."""
    a, b = points(3, 2, 5, 7), points(3, 2, 7, 6, seed=1)

    def function(a: Any, b: Any) -> list[Any]:
        return [ops("contiguous")(ops("permute")(ops("matmul")(a, b), order)) * 2.0]

    plan = agreeing(function, a, b)
    written = order[-1] in (2, 3)
    assert copies(plan) == (0 if written else 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(
    "shape", [(2, 3, 4, 5), (1, 3, 4, 5), (2, 1, 1, 5), (2, 3, 1, 1), (8, 4, 64, 32)]
)
def test_heads_joined_and_their_gradients(shape: tuple[int, ...], dtype: Any) -> None:
    batch, heads, length, width = shape
    q, k, v = (points(*shape, seed=i).astype(dtype) for i in range(3))
    w = points(heads * width, 6, seed=3).astype(dtype)

    def function(q: Any, k: Any, v: Any, w: Any) -> list[Any]:
        for tensor in (q, k, v, w):
            tensor.requires_grad_()
        mixed = ops("matmul")(ops("matmul")(q, ops("transpose")(k, 2, 3)), v)
        joined = ops("reshape")(ops("transpose")(mixed, 1, 2), (batch, length, heads * width))
        out = ops("matmul")(joined, w)
        total = ops("sum")(ops("abs")(out))
        return [joined, total, *grad([total], [q, k, v, w])]

    arrays = (q, k, v, w)
    if dtype is np.float32:
        plan = plan_of(function, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays])
        eager = [t.array for t in function(*map(Tensor.of, arrays))]
        for found, wanted in zip(plan.run(arrays), eager, strict=True):
            scale = np.abs(wanted).max(initial=1.0)
            np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-5, rtol=0)
    else:
        agreeing(function, *arrays)


def test_a_product_that_others_read_stays_as_it_is() -> None:
    a, b = points(3, 5, 7), points(3, 7, 6, seed=1)

    def read(a: Any, b: Any) -> list[Any]:
        c = ops("matmul")(a, b)
        return [ops("contiguous")(ops("transpose")(c, 1, 2)) * 2.0, c * 3.0]

    def given(a: Any, b: Any) -> list[Any]:
        c = ops("matmul")(a, b)
        return [c, ops("contiguous")(ops("transpose")(c, 1, 2))]

    def parted(a: Any, b: Any) -> list[Any]:
        c = ops("transpose")(ops("matmul")(a, b), 1, 2)
        return [ops("contiguous")(ops("slice")(c, 2, 1, 4)) + 1.0]

    for function in (read, given, parted):
        assert copies(agreeing(function, a, b)) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [((5, 7), (3, 7, 6)), ((2, 5, 7), (3, 2, 7, 6)), ((1, 2, 5, 7), (3, 2, 7, 6)),
     ((3, 2, 5, 7), (7, 6)), ((3, 1, 5, 7), (1, 2, 7, 6)), ((5, 7), (7, 6))],
)  # fmt: skip
def test_operands_that_are_broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    def function(a: Any, b: Any) -> list[Any]:
        c = ops("matmul")(a, b)
        order = (*range(1, c.ndim - 1), 0, c.ndim - 1) if c.ndim > 2 else (1, 0)
        return [ops("contiguous")(ops("permute")(c, order)) * 2.0]

    one = len(first) > 2 == len(second)  # done as one matrix times another, whose rows are split
    assert copies(agreeing(function, points(*first), points(*second, seed=1))) == one


def test_vectors() -> None:
    def function(a: Any, b: Any) -> list[Any]:
        first, second = ops("matmul")(a, b), ops("matmul")(b, ops("sum")(b, (0, 1)))
        return [ops("contiguous")(ops("transpose")(c, -1, -2)) * 2.0 for c in (first, second)]

    assert copies(agreeing(function, points(5), points(3, 5, 6, seed=1))) == 2


def test_a_view_that_another_order_has_not_keeps_the_order() -> None:
    a, b, w = points(6, 20, 8), points(6, 8, 50, seed=1), points(50, 3, seed=2)

    def function(a: Any, b: Any, w: Any) -> list[Any]:
        c = ops("matmul")(a, b)
        turned = ops("contiguous")(ops("permute")(c, (0, 2, 1)))
        flat = ops("matmul")(ops("reshape")(c, (3, 40, 50)), w)
        return [turned + 1.0, flat]

    agreeing(function, a, b, w)


def test_many_products_one_after_the_other() -> None:
    def function(a: Any) -> list[Any]:
        for _ in range(600):
            a = ops("contiguous")(ops("permute")(ops("matmul")(a, a) * 0.1, (0, 2, 1)))
            a = ops("contiguous")(ops("permute")(ops("matmul")(a, a), (0, 2, 1)))
        return [a + 1.0]

    agreeing(function, points(2, 4, 4) * 0.3)


def test_two_orders_of_one_product() -> None:
    a, b = points(4, 5, 7), points(4, 7, 6, seed=1)

    def function(a: Any, b: Any) -> list[Any]:
        c = ops("matmul")(a, b)
        first = ops("contiguous")(ops("permute")(c, (1, 0, 2)))
        second = ops("contiguous")(ops("permute")(c, (0, 2, 1)))
        return [first + 1.0, second - 1.0]

    assert copies(agreeing(function, a, b)) == 1


def test_a_stack_without_elements() -> None:
    def function(a: Any, b: Any) -> list[Any]:
        return [ops("contiguous")(ops("transpose")(ops("matmul")(a, b), 0, 1)) * 2.0]

    agreeing(function, points(0, 5, 7), points(0, 7, 6))
    agreeing(function, points(3, 5, 0), points(3, 0, 6))
