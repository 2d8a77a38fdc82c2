"""What kernels give at the edges of numbers and of shapes: as torch, or a clear refusal."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.tensor import Tensor

attend = resolve("nn.functional.scaled_dot_product_attention")


def leaf(array: Any) -> Any:
    return Tensor.of(np.array(array, "float64"), requires_grad=True)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_without_features_weighs_all_alike(causal: bool) -> None:
    query, key, value = leaf(np.ones((1, 2, 0))), leaf(np.ones((1, 3, 0))), leaf(np.ones((1, 3, 2)))
    found = attend(query, key, value, is_causal=causal)
    assert found.numpy().tolist() == [[[1, 1], [1, 1]]]
    grads = [g.numpy() for g in grad([resolve("sum")(found)], [query, key, value]) if g is not None]
    assert [g.shape for g in grads] == [(1, 2, 0), (1, 3, 0), (1, 3, 2)]
    np.testing.assert_allclose(grads[2][0, :, 0], [1.5, 0.5, 0] if causal else [2 / 3] * 3)


def test_attention_whose_scores_are_all_minus_infinity_is_zero() -> None:
    query = leaf([[[inf, inf], [1.0, 0.0]]])
    key, value = leaf(-np.ones((1, 3, 2))), leaf(np.ones((1, 3, 2)))
    found = attend(query, key, value)
    np.testing.assert_allclose(found.numpy(), [[[0, 0], [1, 1]]])
    (g,) = grad([resolve("sum")(found)], [value], create_graph=True)
    assert g is not None
    np.testing.assert_allclose(g.numpy(), np.full((1, 3, 2), 1 / 3))


@pytest.mark.parametrize("size", [3, 70])
@pytest.mark.parametrize("name", ["linalg.svd", "linalg.svdvals", "linalg.matrix_rank"])
def test_singular_values_of_nan_are_a_numerical_error(name: str, size: int) -> None:
    a = np.eye(size)
    a[1, 1] = nan
    with pytest.raises(GradwireError) as refused:
        resolve(name)(Tensor.of(a))
    assert refused.value.code == "numerical_error"
    assert "rank_of" not in refused.value.detail


@pytest.mark.parametrize("size", [3, 70])
@pytest.mark.parametrize("name", ["linalg.lu", "linalg.lu_factor", "linalg.lu_factor_ex"])
def test_factors_of_nan_are_nan(name: str, size: int) -> None:
    a = np.eye(size)
    a[1, 1] = nan
    assert any(np.isnan(part.numpy()).any() for part in resolve(name)(Tensor.of(a)))


def test_polygamma_at_infinity() -> None:
    at = Tensor.of(np.array([inf, -inf]))
    np.testing.assert_array_equal(resolve("polygamma")(1, at).numpy(), [0, nan])
    np.testing.assert_array_equal(resolve("polygamma")(3, at).numpy(), [nan, inf])


FAR = {
    ("zeros", False): [0, 0, 0, 0],
    ("border", False): [9, 8.5713, 6, 15],
    ("border", True): [9, 7.7148, 6, 15],
    ("reflection", False): [7.5, 10.0713, 6, 7.5],
}
"""By padding and align_corners: what torch reads at the places of the test."""


@pytest.mark.parametrize(("padding", "corners"), FAR)
def test_images_read_far_outside(padding: str, corners: bool) -> None:
    image = Tensor.of(np.arange(16.0).reshape(1, 1, 4, 4))
    places = leaf([[[[1e10, 0.0], [-1e10, 0.3], [-1e30, 0.0], [3e9, 3e9]]]])
    read = resolve("nn.functional.grid_sample")
    found = read(image, places, mode="bicubic", padding_mode=padding, align_corners=corners)
    np.testing.assert_allclose(found.numpy().ravel(), FAR[padding, corners], atol=1e-3)
    (g,) = grad([resolve("sum")(found)], [places])
    assert g is not None
    assert np.isfinite(g.numpy()).all()
