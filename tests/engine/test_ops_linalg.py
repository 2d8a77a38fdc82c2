"""Linear algebra where samples can't show it: phases, singular matrices, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import local
from gradwire_engine.tensor import Tensor

Host = np.ndarray
RNG = np.random.default_rng(11)


def drawn(*shape: int, complex_: bool) -> Host:
    real, imaginary = RNG.uniform(-1, 1, (2, *shape))
    return np.asarray(real + 1j * imaginary if complex_ else real)


def leaf(array: Host) -> Any:
    return Tensor.of(np.array(array), True, local.state.device)


def total(x: Any) -> Any:
    return resolve("sum")(resolve("real")(x))


def slope(loss: Callable[[Any], Any], at: Host, along: Host) -> tuple[float, float]:
    """The derivative along a direction: by the rule, and by a central difference."""
    x = leaf(at)
    (g,) = grad([loss(x)], [x])
    assert g is not None
    ruled = float(np.vdot(g.numpy(), along).real)
    step = 1e-6
    ahead, behind = (float(loss(leaf(at + s * along)).numpy()) for s in (step, -step))
    return ruled, (ahead - behind) / (2 * step)


def sizes(vectors: Any, weights: Host) -> Any:
    """A weighted sum of squared sizes: it doesn't depend on the vectors' phases."""
    size = resolve("abs")(vectors)
    return total(size * size * Tensor.of(weights))


@pytest.mark.parametrize("complex_", [False, True])
def test_eigenvectors_of_hermitian_matrices_differentiate_up_to_their_phase(complex_: bool) -> None:
    a, way = (drawn(4, 4, complex_=complex_) for _ in range(2))
    a, way = a + a.conj().T, way + way.conj().T
    weights = RNG.uniform(size=(4, 4))

    def loss(x: Any) -> Any:
        values, vectors = resolve("linalg.eigh")(x)
        return sizes(vectors, weights) + total(values * values)

    ruled, differed = slope(loss, a, way)
    assert ruled == pytest.approx(differed, rel=1e-6)


@pytest.mark.parametrize("complex_", [False, True])
def test_eigenvectors_of_any_matrix_differentiate_up_to_their_phase(complex_: bool) -> None:
    a, way = drawn(4, 4, complex_=complex_), drawn(4, 4, complex_=complex_)
    weights = RNG.uniform(size=(4, 4))

    def loss(x: Any) -> Any:
        values, vectors = resolve("linalg.eig")(x)
        return sizes(vectors, weights) + total(values * values)

    ruled, differed = slope(loss, a, way)
    assert ruled == pytest.approx(differed, rel=1e-6)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
@pytest.mark.parametrize("full", [False, True])
def test_complex_singular_vectors_differentiate_up_to_their_phase(
    shape: tuple[int, int], full: bool
) -> None:
    a, way = drawn(*shape, complex_=True), drawn(*shape, complex_=True)
    left, right = RNG.uniform(size=(shape[0], 3)), RNG.uniform(size=(3, shape[1]))

    def loss(x: Any) -> Any:
        u, s, vh = resolve("linalg.svd")(x, full)
        narrow = resolve("narrow")
        return sizes(narrow(u, 1, 0, 3), left) + sizes(narrow(vh, 0, 0, 3), right) + total(s * s)

    ruled, differed = slope(loss, a, way)
    assert ruled == pytest.approx(differed, rel=1e-6)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("rank", [3, 2])
def test_the_determinant_of_a_singular_matrix_has_a_gradient(complex_: bool, rank: int) -> None:
    a = drawn(4, rank, complex_=complex_) @ drawn(rank, 4, complex_=complex_)
    a[3] = a[0]  # exactly singular, so that LU finds a zero pivot
    way = drawn(4, 4, complex_=complex_)
    ruled, differed = slope(lambda x: total(resolve("linalg.det")(x)), a, way)
    assert ruled == pytest.approx(differed, rel=1e-6, abs=1e-8)


@pytest.mark.usefixtures("each_library")
@pytest.mark.parametrize("name", ["linalg.inv", "inverse", "linalg.cholesky", "cholesky"])
def test_a_singular_matrix_is_a_numerical_error(name: str) -> None:
    with pytest.raises(GradwireError) as caught:
        resolve(name)(leaf(np.zeros((2, 2))))
    assert caught.value.code == "numerical_error"
    assert caught.value.detail.startswith(("linalg.inv: ", "linalg.cholesky: "))


@pytest.mark.usefixtures("each_library")
def test_a_singular_system_is_a_numerical_error() -> None:
    with pytest.raises(GradwireError) as caught:
        resolve("linalg.solve")(leaf(np.ones((2, 2))), leaf(np.ones(2)))
    assert caught.value.code == "numerical_error"


@pytest.mark.usefixtures("each_library")
def test_inv_ex_says_which_matrices_are_singular() -> None:
    stack = np.stack([np.eye(2), np.ones((2, 2))])
    inverse, info = resolve("linalg.inv_ex")(leaf(stack))
    assert info.numpy().tolist() == [0, 2]
    assert np.array_equal(inverse.numpy()[0], np.eye(2))


@pytest.mark.parametrize(
    "name",
    ["linalg.inv", "linalg.det", "linalg.eigh", "linalg.cholesky", "linalg.eig", "linalg.slogdet"],
)
@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
def test_what_is_not_square_is_a_shape_mismatch(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(GradwireError) as caught:
        resolve(name)(leaf(np.ones(shape)))
    assert caught.value.code == "shape_mismatch"
    assert str(list(shape)) in caught.value.detail


@pytest.mark.parametrize("dtype", ["int64", "float16", "bool"])
def test_linear_algebra_refuses_dtypes_that_lapack_lacks(dtype: str) -> None:
    with pytest.raises(GradwireError) as caught:
        resolve("linalg.inv")(Tensor.of(np.eye(2).astype(dtype)))
    assert caught.value.code == "dtype_mismatch"


def test_a_row_of_attention_with_nothing_to_look_at_is_zero_and_has_no_gradient() -> None:
    q, k, v = (leaf(RNG.uniform(size=(3, 4))) for _ in range(3))
    mask = Tensor.of(np.array([[True] * 3, [False] * 3, [True, False, True]]))
    out = resolve("nn.functional.scaled_dot_product_attention")(q, k, v, mask)
    assert np.array_equal(out.numpy()[1], np.zeros(4))
    found = grad([resolve("sum")(out * out)], [q, k, v])
    assert all(g is not None and np.isfinite(g.numpy()).all() for g in found)
    assert found[0] is not None and not found[0].numpy()[1].any()


def test_solving_with_the_gradient_of_a_solution_goes_on_to_any_order() -> None:
    a, b = leaf(RNG.uniform(size=(3, 3)) + 3 * np.eye(3)), leaf(RNG.uniform(size=3))
    y = resolve("sum")(resolve("linalg.solve")(a, b))
    for _ in range(3):
        (g,) = grad([y], [a], create_graph=True)
        assert g is not None
        y = resolve("sum")(resolve("square")(g))
    assert np.isfinite(y.numpy())


@pytest.mark.parametrize("pivots", [[1, 2, 9], [1, 2, 0], [-1, -2, 3], [1, 2, -3], [-9, -9, 3]])
def test_pivots_that_lead_out_of_the_matrix_are_refused(pivots: list[int]) -> None:
    factors, right = Tensor.of(np.eye(3)), Tensor.of(np.ones((3, 1)))
    with pytest.raises(GradwireError) as caught:
        resolve("linalg.ldl_solve")(factors, Tensor.of(np.array(pivots)), right)
    assert caught.value.code == "invalid_argument"


def test_a_singular_matrix_has_ldl_factors_only_where_info_goes_with_them() -> None:
    singular = Tensor.of(np.zeros((2, 2)))
    assert resolve("linalg.ldl_factor_ex")(singular).info.numpy() == 1
    for asked in (("linalg.ldl_factor", {}), ("linalg.ldl_factor_ex", {"check_errors": True})):
        with pytest.raises(GradwireError) as caught:
            resolve(asked[0])(singular, **asked[1])
        assert caught.value.code == "numerical_error"


@pytest.mark.parametrize("weights", [{"fweights": [1, -1]}, {"aweights": [-1.0, 1.0]}])
def test_weights_of_observations_cannot_be_negative(weights: dict[str, list[float]]) -> None:
    with pytest.raises(GradwireError) as caught:
        given = {name: Tensor.of(np.array(w)) for name, w in weights.items()}
        resolve("cov")(Tensor.of(np.ones((3, 2))), **given)
    assert caught.value.code == "invalid_argument"


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("complex_", [False, True])
def test_factors_are_read_and_derived_in_their_triangle(upper: bool, complex_: bool) -> None:
    cut = resolve("triu" if upper else "tril")
    factor = drawn(3, 3, complex_=complex_) * 0.3 + 2 * np.eye(3)
    factor[range(3), range(3)] = factor[range(3), range(3)].real
    whole, right = Tensor.of(factor), Tensor.of(drawn(3, 2, complex_=complex_))
    for name, before in (("cholesky_solve", (right,)), ("cholesky_inverse", ())):

        def run(L: Any, name: str = name, before: tuple[Any, ...] = before) -> Any:
            return resolve(name)(*before, cut(L), upper=upper)

        found = resolve(name)(*before, whole, upper=upper)
        np.testing.assert_allclose(found.numpy(), run(whole).numpy())
        along = drawn(3, 3, complex_=complex_)
        along[range(3), range(3)] = along[range(3), range(3)].real
        ruled, told = slope(lambda L, run=run: total(resolve("square")(run(L))), factor, along)
        assert ruled == pytest.approx(told, rel=1e-6)


@pytest.mark.parametrize("matrix", [[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[1, 2j], [2, 4j]]])
def test_a_determinant_has_derivatives_at_singular_matrices(matrix: list[list[complex]]) -> None:
    """It is a polynomial: of [[a, b], [c, d]] the gradient is conj([[d, -c], [-b, a]])."""
    values = np.array(matrix, "complex128" if np.iscomplexobj(matrix) else "float64")
    A = Tensor.of(values, requires_grad=True)
    (plain,) = grad([resolve("linalg.det")(A)], [A], [Tensor.of(values[0, 0] * 0 + 1)])
    (slope,) = grad(
        [resolve("linalg.det")(A)], [A], [Tensor.of(values[0, 0] * 0 + 1)], create_graph=True
    )
    (a, b), (c, d) = values
    wanted = np.conj([[d, -c], [-b, a]])
    np.testing.assert_allclose(plain.array, wanted, atol=1e-12)
    np.testing.assert_allclose(slope.array, wanted, atol=1e-12)
    weights = np.array([[1.0, 2], [3, 4]]).astype(values.dtype)
    (bend,) = grad([slope], [A], [Tensor.of(weights)])
    np.testing.assert_allclose(bend.array, [[4, -3], [-2, 1]], atol=1e-12)


@pytest.mark.parametrize("name", ["linalg.svd", "linalg.eigh", "linalg.eig"])
def test_a_loss_that_depends_on_a_phase_has_no_derivative(name: str) -> None:
    """Torch refuses it too, from a hundredth on; a tangent has some phase, as in torch."""
    a = drawn(3, 3, complex_=True)
    x = leaf(a + a.conj().T)
    vectors = resolve(name)(x)[0 if name == "linalg.svd" else 1]
    with pytest.raises(GradwireError, match="known up to a factor") as found:
        grad([total(vectors)], [x], retain_graph=True)
    assert isinstance(found.value, RuntimeError)
    turn = np.exp(1j * np.linspace(0, 0.004, 3))
    (slope,) = grad([vectors], [x], [Tensor.of(vectors.array * turn)])
    assert np.isfinite(slope.array).all()


def test_a_common_phase_of_left_and_right_vectors_does_not_count() -> None:
    x = leaf(drawn(3, 5, complex_=True))
    u, _, vh = resolve("linalg.svd")(x, False)
    (slope,) = grad([total(resolve("matmul")(u, vh))], [x])
    assert np.isfinite(slope.array).all()
    with pytest.raises(GradwireError, match="known up to a factor"):
        grad([total(resolve("linalg.svd")(x, False)[2])], [x])


def test_drivers_of_singular_values_are_those_of_cuda() -> None:
    for name in ("linalg.svd", "linalg.svdvals"):
        with pytest.raises(GradwireError, match="driver='gesvd'"):
            resolve(name)(leaf(np.eye(2)), driver="gesvd")
