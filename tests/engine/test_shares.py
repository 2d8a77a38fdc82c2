"""Work on many samples, shared out: the same results, whoever does which of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.kernels import row_blocks, shares
from gradwire_engine.kernels.blas_threads import of_products
from gradwire_engine.plan import plan_of
from gradwire_engine.plan.code import Step
from gradwire_engine.spec import Spec, dtype_of
from gradwire_engine.tensor import Tensor

F = "nn.functional."


def conv(x: Any, w: Any) -> Any:
    return resolve(F + "conv2d")(x, w, padding=1)


def conv_back(x: Any, w: Any) -> Any:
    return resolve(F + "conv_transpose2d")(x, w, stride=2)


def attend(x: Any, w: Any) -> Any:
    return resolve(F + "scaled_dot_product_attention")(x, w, x, is_causal=True)


CALLS = {
    "conv2d": (conv, (5, 3, 6, 6), (4, 3, 3, 3)),
    "conv_transpose2d": (conv_back, (5, 3, 4, 4), (3, 2, 3, 3)),
    "attention": (attend, (5, 2, 8, 4), (5, 2, 8, 4)),
    "matmul": (resolve("matmul"), (5, 2, 3, 4), (5, 2, 4, 3)),
}


def run(name: str) -> list[np.ndarray]:
    call, *shapes = CALLS[name]
    rng = np.random.default_rng(0)
    operands = [Tensor.of(rng.standard_normal(s), requires_grad=True) for s in shapes]
    out = call(*operands)
    pulled = grad([out], operands, [Tensor.of(rng.standard_normal(out.shape))])
    return [x.numpy() for x in (out, *pulled) if x is not None]


@pytest.mark.parametrize("name", CALLS)
def test_shares_give_what_the_whole_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(name)
    monkeypatch.setattr(shares, "WORTH", 0)
    monkeypatch.setattr(row_blocks, "threads", lambda: 2)
    monkeypatch.setattr(shares, "threads", lambda: 2)
    for shared, wanted in zip(run(name), whole, strict=True):
        np.testing.assert_allclose(shared, wanted, rtol=1e-12, atol=1e-12)


def test_a_share_shares_nothing_out_once_more() -> None:
    def inner() -> list[bool]:
        return row_blocks.share_out([row_blocks.alone, row_blocks.alone])

    assert row_blocks.share_out([inner, inner]) == [[True, True], [True, True]]
    assert row_blocks.alone() == (row_blocks.threads() == 1)


def test_products_have_their_threads_again_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = of_products()
    if pool is None:
        pytest.skip("NumPy has no BLAS of its own here")
    monkeypatch.setattr(row_blocks, "threads", lambda: 2)
    before = pool.threads()
    with pytest.raises(ZeroDivisionError):
        shares.by_samples(lambda x: 1 // 0, shares.WORTH, np.ones(2))
    assert pool.threads() == before


GRID = {"grid": (4, 5, 5, 2), "image": (4, 3, 6, 6)}


def sampled(needed: tuple[bool, bool], image: Any, grid: Any, g: Any) -> list[Any]:
    both = [x.requires_grad_() if n else x for n, x in zip(needed, (image, grid), strict=True)]
    out = resolve(F + "grid_sample")(*both, align_corners=False)
    return [out, *grad([out], [x for n, x in zip(needed, both, strict=True) if n], [g])]


@pytest.mark.parametrize("needed", [(True, True), (True, False), (False, True)])
def test_a_plan_keeps_the_kernel_of_a_rule(needed: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) for s in (GRID["image"], GRID["grid"], (4, 3, 5, 5))]
    specs = [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays]
    plan = plan_of(partial(sampled, needed), specs)
    assert "grid_gradients" in [unit.name for unit in plan.units if isinstance(unit, Step)]
    for planned, eager in zip(
        plan.run(arrays), sampled(needed, *map(Tensor.of, arrays)), strict=True
    ):
        np.testing.assert_array_equal(planned, eager.numpy())


def test_a_plan_that_differentiates_twice_goes_by_the_formula() -> None:
    def curved(image: Any, places: Any) -> list[Any]:
        image.requires_grad_()
        out = resolve(F + "grid_sample")(image, places.requires_grad_(), align_corners=False)
        first = grad([resolve("sum")(out * out)], [places], create_graph=True)
        return list(grad([resolve("sum")(first[0])], [image]))

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(GRID["image"]), rng.uniform(-1, 1, GRID["grid"])]
    plan = plan_of(curved, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays])
    (planned,), (eager,) = plan.run(arrays), curved(*map(Tensor.of, arrays))
    np.testing.assert_allclose(planned, eager.numpy(), rtol=1e-9, atol=1e-12)
