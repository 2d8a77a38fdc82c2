"""Sums by BLAS, rows repeated before they are met, and what else goes another way than NumPy's."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.kernels import short_rows, sums
from gradwire_engine.ops import accumulate, softmax
from gradwire_engine.tensor import Tensor

SHAPES = [(8,), (3, 1), (5, 7), (2, 3, 4), (4, 1, 3, 2), (6, 0, 2), (3, sums.LONGEST + 1)]
KINDS = ["f4", "f8", "c8", "c16", "i8", "f2"]


def numbers(shape: tuple[int, ...], kind: str) -> np.ndarray:
    made = np.random.default_rng(0).standard_normal(shape) * 10
    return made.astype(kind) if kind[0] != "c" else (made + 1j * made[::-1]).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_over_any_axes_are_what_numpy_gives(shape: tuple[int, ...], kind: str) -> None:
    x = numbers(shape, kind)
    for count in range(len(shape) + 1):
        for axes in combinations(range(len(shape)), count):
            for keepdims in (False, True):
                for lying in (x, np.asfortranarray(x), x[::-1]):
                    found = sums.summed(lying, axes, keepdims)
                    wanted = lying.sum(axis=axes or None, keepdims=keepdims)
                    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
                    near = 1e-2 if kind == "f2" else 1e-5 if kind in ("f4", "c8") else 1e-12
                    np.testing.assert_allclose(found, wanted, rtol=near, atol=100 * near)


def test_rows_without_elements_come_to_0() -> None:
    rows = np.zeros((3, 0), np.float32)
    for found in (sums.row_sums(np, rows), sums.row_products(np, rows, rows)):
        assert found.tolist() == [[0]] * 3
    x = Tensor.of(rows, True)
    found = resolve("nn.functional.layer_norm")(x, (0,))
    (g,) = grad([resolve("sum")(found)], [x])
    assert found.shape == (3, 0)
    assert g is not None
    assert g.shape == (3, 0)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_stays_in_its_own_sum(odd: float) -> None:
    x = np.ones((3, 4, 5), np.float32)
    x[1, 2, 3] = odd
    for axes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2)):
        np.testing.assert_array_equal(sums.summed(x, axes), x.sum(axis=axes))


@pytest.mark.parametrize("op", ["sum", "mean", "softmax", "logsumexp"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 31, 63, 64, 100, 512])
def test_equal_rows_have_equal_results(op: str, size: int) -> None:
    row = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    alone = resolve(op)(Tensor.of(np.stack([row] * 2)), 1).numpy()[0]
    for count in (3, 5, 37, 100):
        found = resolve(op)(Tensor.of(np.stack([row] * count)), 1).numpy()
        for one in found:
            np.testing.assert_array_equal(one, alone)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_a_perfect_loss_is_plus_0(name: str, reduction: str) -> None:
    scores = np.array([[0.0 if name == "nll_loss" else 200.0, -1.0]], np.float32)
    function = resolve(f"nn.functional.{name}")
    found = function(Tensor.of(scores), Tensor.of(np.array([0])), reduction=reduction).numpy()
    assert found == 0
    assert not np.signbit(found)


@pytest.mark.parametrize(("shape", "axes"), [((5, 8), (1,)), ((300, 2), (0,)), ((3, 4, 5), (1, 2))])
def test_a_scan_adds_up_as_its_steps_do(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    import gradwire as torch
    from gradwire import control

    rng = np.random.default_rng(4)
    xs, start = (torch.tensor(rng.standard_normal(s)) for s in ((200, *shape), shape))

    def step(carry: Any, x: Any) -> Any:
        kept = torch.sin(x * carry)
        return carry * 0.9 + x * 0.01, (torch.sum(kept, axes), torch.sum(kept))

    carry, each = start, []
    for x in xs.unbind(0):
        carry, found = step(carry, x)
        each.append(found)
    _, (parts, whole) = control.scan(step, start, xs)
    assert parts.tolist() == torch.stack([one for one, _ in each]).tolist()
    assert whole.tolist() == torch.stack([one for _, one in each]).tolist()


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_rows_are_repeated_as_broadcasting_has_it(wanted: list[int], data: st.DataObject) -> None:
    shape = tuple(n if data.draw(st.booleans()) else 1 for n in wanted)
    shape = shape[data.draw(st.integers(0, len(shape) - 1)) :]
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    way = short_rows.repeated.__wrapped__(shape, tuple(wanted))
    if way is not None:
        np.testing.assert_array_equal(way(x), np.broadcast_to(x, wanted))


@pytest.mark.parametrize("op", ["sub", "mul", "div", "maximum", "atan2", "lt"])
@pytest.mark.parametrize(
    "shapes", [((500, 1, 2), (8, 2)), ((8, 2), (500, 1, 2)), ((300, 1, 3), (300, 4, 3))]
)
def test_short_rows_beside_others_are_what_numpy_gives(op: str, shapes: Any) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0.5, 1.5, shape) for shape in shapes)
    function = {"sub": np.subtract, "mul": np.multiply, "div": np.divide, "lt": np.less}.get(op)
    function = function or {"maximum": np.maximum, "atan2": np.arctan2}[op]
    for _ in range(2):  # worked out, and found again
        found = resolve(op)(Tensor.of(x), Tensor.of(y)).numpy()
        np.testing.assert_array_equal(found, function(x, y))
    a, b = Tensor.of(x, True), Tensor.of(y, True)
    if op != "lt":
        total = resolve("sum")(resolve(op)(a, b))
        one, other = (g.numpy() for g in grad([total], [a, b]) if g is not None)
        wide, far = (np.broadcast_to(v, np.broadcast_shapes(*shapes)).copy() for v in (x, y))
        c, d = Tensor.of(wide, True), Tensor.of(far, True)
        whole = grad([resolve("sum")(resolve(op)(c, d))], [c, d])
        for narrow, full in zip((one, other), whole, strict=True):
            assert full is not None
            axes = tuple(
                i - full.ndim
                for i in range(full.ndim)
                if i < full.ndim - narrow.ndim or narrow.shape[i - full.ndim] != full.shape[i]
            )
            summed = full.numpy().sum(axis=axes, keepdims=True).reshape(narrow.shape)
            np.testing.assert_allclose(narrow, summed, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("public", [True, False], ids=["matrix", "its function"])
def test_rows_are_added_at_places_that_repeat(
    kind: type, dtype: type, public: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if public:
        monkeypatch.setattr(accumulate, "_add_columns", lambda: None)
    else:
        assert accumulate._add_columns() is not None
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((40, 3)).astype(dtype)
    places = rng.integers(0, 7, 40).astype(kind)
    found = accumulate.summed_rows(np_with_sparse(), places, rows[:, ::-1], 9)
    wanted = np.zeros((9, 3), dtype)
    np.add.at(wanted, places, rows[:, ::-1])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def np_with_sparse() -> Any:
    from gradwire_engine.arrays import backend

    return backend("cpu").xp


@pytest.mark.parametrize("largest", [1.0, softmax.FAR - 1, softmax.FAR + 1, 300.0, np.inf, np.nan])
def test_softmax_of_many_rows_is_that_of_each(largest: float) -> None:
    x = np.random.default_rng(3).standard_normal((40, 200)).astype(np.float32)
    x[7, 3] = largest
    x[9, 4] = -largest
    with np.errstate(all="ignore"):
        for name in ("softmax", "log_softmax"):
            whole = resolve(name)(Tensor.of(x), 1).numpy()
            each = [resolve(name)(Tensor.of(row), 0).numpy() for row in x]
            np.testing.assert_allclose(whole, np.stack(each), rtol=2e-6, atol=1e-6)
