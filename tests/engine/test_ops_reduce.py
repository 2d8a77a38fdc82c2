"""Reductions, softmax, losses and norms where samples can't show it: ties, NaN, sizes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.kernels import row_blocks
from gradwire_engine.tensor import Tensor

NAN, INF = float("nan"), float("inf")
Host = np.ndarray


def leaf(values: Any, dtype: str = "float64") -> Any:
    return Tensor.of(np.array(values, dtype=dtype), requires_grad=True)


def ints(values: Any) -> Tensor:
    return Tensor.of(np.array(values, dtype="int64"))


def gradient(y: Any, x: Any) -> Host:
    (g,) = grad([resolve("sum")(y)], [x])
    assert g is not None
    return g.numpy()


def refusal(name: str, *args: Any, **kwargs: Any) -> GradwireError:
    with pytest.raises(GradwireError) as caught:
        resolve(name)(*args, **kwargs)
    assert caught.value.hint
    return caught.value


# ties and NaN, as in torch


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "median"])
def test_equal_extremes_share_the_gradient(name: str) -> None:
    x = leaf([2.0, 2.0])
    assert gradient(resolve(name)(x), x).tolist() == [0.5, 0.5]


def test_the_first_of_equal_extremes_along_an_axis_takes_the_gradient() -> None:
    x = leaf([[1.0, 3.0, 3.0]])
    values, indices = resolve("max")(x, 1)
    assert (values.numpy().tolist(), indices.numpy().tolist()) == ([3.0], [1])
    assert gradient(values, x).tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("name", ["max", "min", "median"])
def test_nan_wins_and_takes_the_gradient(name: str) -> None:
    x = leaf([1.0, NAN, 3.0])
    found = resolve(name)(x)
    assert np.isnan(found.numpy())
    assert gradient(found, x).tolist() == [0, 1, 0]
    values, indices = resolve(name)(x, 0)
    assert np.isnan(values.numpy())
    assert indices.numpy() == 1


def test_nan_sorts_last_and_first_when_descending() -> None:
    x = leaf([NAN, 1.0, 2.0])
    assert resolve("sort")(x)[1].numpy().tolist() == [1, 2, 0]
    assert resolve("sort")(x, 0, True)[1].numpy().tolist() == [0, 2, 1]


def test_what_ignores_nan() -> None:
    x = leaf([1.0, NAN, 4.0, 3.0])
    assert resolve("nansum")(x).numpy() == 8
    assert resolve("nanmean")(x).numpy() == pytest.approx(8 / 3)
    assert resolve("nanmedian")(x).numpy() == 3
    assert resolve("nanquantile")(x, 0.5).numpy() == 3
    assert gradient(resolve("nanmean")(x), x) == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])


def test_the_mode_is_the_smallest_of_the_most_frequent_and_its_last_place() -> None:
    values, places = resolve("mode")(leaf([[2.0, 1.0, 2.0, 1.0], [5.0, 4.0, 3.0, 6.0]]))
    assert values.numpy().tolist() == [1, 3]
    assert places.numpy().tolist() == [3, 2]


@pytest.mark.parametrize("zeros", [(), (1,), (0, 2)])
def test_products_differentiate_through_zeros(zeros: tuple[int, ...]) -> None:
    x = np.array([2.0, 3.0, 5.0])
    x[list(zeros)] = 0
    others = [np.prod(np.delete(x, i)) for i in range(3)]
    point = leaf(x)
    assert gradient(resolve("prod")(point), point) == pytest.approx(others)
    running = resolve("cumprod")(point, 0)
    assert gradient(resolve("narrow")(running, 0, 2, 1), point) == pytest.approx(others)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, INF])
def test_a_norm_of_zeros_has_the_gradient_zero(p: float) -> None:
    x = leaf([0.0, 0.0])
    found = gradient(resolve("linalg.vector_norm")(x, p), x)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments_of_nothing_are_nan(name: str) -> None:
    assert np.isnan(resolve(name)(leaf([])).numpy())


def test_a_variance_without_degrees_of_freedom_is_nan_or_infinite() -> None:
    assert np.isnan(resolve("var")(leaf([1.0])).numpy())
    assert resolve("var")(leaf([1.0, 2.0]), correction=2).numpy() == INF


# softmax and losses


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_large_scores_do_not_overflow(name: str) -> None:
    found = resolve(name)(leaf([1e4, 0.0], "float32"), 0).numpy()
    expected = {"softmax": [1, 0], "log_softmax": [0, -1e4]}[name]
    assert found.tolist() == expected


def test_bce_with_logits_keeps_small_losses_and_large_logits() -> None:
    x = leaf([40.0, -1000.0], "float32")
    target = Tensor.of(np.array([1, 0], "float32"))
    loss = resolve("binary_cross_entropy_with_logits")(x, target, reduction="none")
    assert loss.numpy() == pytest.approx([np.exp(-40.0), 0])
    assert np.isfinite(gradient(loss, x)).all()


def test_ignored_targets_count_for_nothing() -> None:
    x, target = leaf(np.arange(6.0).reshape(3, 2)), ints([1, -100, 0])
    kept = resolve("cross_entropy")(leaf([[0.0, 1.0], [4.0, 5.0]]), ints([1, 0]))
    loss = resolve("cross_entropy")(x, target)
    assert loss.numpy() == pytest.approx(kept.numpy())
    assert gradient(loss, x)[1].tolist() == [0, 0]


def test_a_mean_over_ignored_targets_only_is_nan() -> None:
    assert np.isnan(resolve("nll_loss")(leaf([[1.0, 2.0]]), ints([-100])).numpy())


@pytest.mark.parametrize("target", [2, -1])
def test_a_class_that_is_not_there_is_an_index_error(target: int) -> None:
    problem = refusal("cross_entropy", leaf([[1.0, 2.0]]), ints([target]))
    assert isinstance(problem, IndexError)
    assert f"target {target} is out of bounds for 2 classes" in problem.detail


def test_probabilities_beyond_the_unit_interval_are_refused() -> None:
    problem = refusal("binary_cross_entropy", leaf([1.5]), leaf([1.0]))
    assert "between 0 and 1" in problem.detail


def test_negative_variances_are_refused() -> None:
    problem = refusal("gaussian_nll_loss", leaf([1.0]), leaf([0.5]), leaf([-1.0]))
    assert isinstance(problem, ValueError)
    assert "negative" in problem.detail


@pytest.mark.parametrize("old", [(None, False, "none"), (False, None, "sum"), (True, True, "mean")])
def test_the_older_flags_mean_a_reduction(old: tuple[bool | None, bool | None, str]) -> None:
    x, y = leaf([1.0, 4.0]), leaf([0.0, 1.0])
    flags = {"size_average": old[0], "reduce": old[1]}
    found = resolve("mse_loss")(x, y, **flags)
    assert found.numpy().tolist() == resolve("mse_loss")(x, y, reduction=old[2]).numpy().tolist()


def test_an_unknown_reduction_names_the_known_ones() -> None:
    problem = refusal("l1_loss", leaf([1.0]), leaf([1.0]), reduction="average")
    assert isinstance(problem, ValueError)
    assert "'none', 'mean' and 'sum'" in str(problem.hint)


# large tensors are worked on in blocks, by several threads


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_make_no_difference(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x, w, c = rng.normal(size=(701, 300)), rng.normal(size=300), rng.normal(size=(701, 300))

    def run() -> list[Host]:
        a, b = leaf(x), leaf(w)
        found = [
            resolve("softmax")(a, 1),
            resolve("log_softmax")(a, 1),
            resolve("layer_norm")(a, (300,), b, b),
            resolve("rms_norm")(a, (300,), b),
        ]
        total = sum((resolve("sum")(y * Tensor.of(c)) for y in found[1:]), resolve("sum")(found[0]))
        return [*(y.numpy() for y in found), *(g.numpy() for g in grad([total], [a, b]) if g)]

    whole = run()
    monkeypatch.setattr(row_blocks, "BLOCK", 1 << 12)
    monkeypatch.setattr(row_blocks, "SHARED", 1 << 13)
    monkeypatch.setattr(row_blocks, "threads", lambda: threads)
    monkeypatch.setattr(row_blocks, "_pool", row_blocks._pool.__wrapped__)
    for one, other in zip(whole, run(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_an_error_in_a_block_of_another_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "SMALL", 1)
    monkeypatch.setattr(row_blocks, "SHARED", 1)
    monkeypatch.setattr(row_blocks, "threads", lambda: 2)
    monkeypatch.setattr(row_blocks, "_pool", row_blocks._pool.__wrapped__)

    def work(block: Host) -> None:
        if block[0, 0]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        row_blocks.each_block(work, np.array([[0.0], [1.0]]))


# errors


@pytest.mark.parametrize("name", ["max", "min", "amax", "argmax", "aminmax"])
def test_nothing_has_no_extreme(name: str) -> None:
    assert refusal(name, leaf([])).code == "invalid_argument"


@pytest.mark.parametrize("name", ["max", "median", "sort", "cummax", "topk"])
def test_complex_numbers_have_no_order(name: str) -> None:
    args = (2,) if name == "topk" else (0,)
    assert refusal(name, leaf([1, 1j], "complex128"), *args).code == "dtype_mismatch"


def test_the_mean_of_integers_asks_for_a_conversion() -> None:
    assert refusal("mean", ints([1, 2])).code == "dtype_mismatch"
    assert resolve("mean")(ints([1, 2]), dtype="float64").numpy() == 1.5


@pytest.mark.parametrize("k", [-1, 4])
def test_topk_of_more_than_there_is(k: int) -> None:
    assert "3 elements" in refusal("topk", leaf([1.0, 2.0, 3.0]), k).detail


def test_shapes_of_products_that_do_not_fit_are_named() -> None:
    problem = refusal("matmul", leaf(np.ones((2, 3))), leaf(np.ones((4, 5))))
    assert problem.code == "shape_mismatch"
    assert "(2, 3)" in problem.detail
    assert "(4, 5)" in problem.detail
    assert refusal("linear", leaf(np.ones((2, 3))), leaf(np.ones((4, 5)))).code == "shape_mismatch"


def test_products_do_not_promote() -> None:
    problem = refusal("mm", leaf(np.ones((2, 2))), leaf(np.ones((2, 2)), "float32"))
    assert problem.code == "dtype_mismatch"


@pytest.mark.parametrize(
    "equation", ["ij,jk", "ij->k", "ij->ii", "i1->i", "ijk->i", "...i...->i", "ij,->"]
)
def test_equations_that_make_no_sense(equation: str) -> None:
    assert refusal("einsum", equation, [leaf(np.ones((2, 2)))]).code == "invalid_argument"


def test_broadcast_views_are_multiplied_as_they_are_seen() -> None:
    """A gradient out of sum() has stride 0, which BLAS cannot read."""
    x, w = leaf(np.arange(6.0).reshape(2, 3)), leaf(np.arange(12.0).reshape(3, 4))
    to_x, to_w = grad([resolve("sum")(resolve("matmul")(x, w))], [x, w])
    assert to_x is not None
    assert to_w is not None
    assert to_x.numpy().tolist() == np.tile(w.numpy().sum(1), (2, 1)).tolist()
    assert to_w.numpy().tolist() == np.tile(x.numpy().sum(0)[:, None], (1, 4)).tolist()
