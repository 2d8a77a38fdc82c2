"""Large matrices go through LAPACK's factors, which the way back uses again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.kernels.blas_threads import of_lapack
from gradwire_engine.kernels.large_matrices import LARGE
from gradwire_engine.plan import plan_of
from gradwire_engine.spec import Spec, dtype_of
from gradwire_engine.tensor import Tensor

Host = np.ndarray
solve = resolve("linalg.solve")


def drawn(*shape: int, dtype: str) -> Host:
    rng = np.random.default_rng(3)
    real, imaginary = rng.standard_normal((2, *shape))
    return (real + 1j * imaginary if dtype.startswith("complex") else real).astype(dtype)


def pulled(A: Any, B: Any, g: Any, **options: Any) -> list[Any]:
    out = solve(A, B, **options)
    return [out, *grad([out], [A, B], [g])]


def leaf(x: Host) -> Tensor:
    return Tensor.of(x, requires_grad=True)


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("left", [True, False])
def test_a_large_system_and_its_gradients(dtype: str, left: bool) -> None:
    n = LARGE + 3
    A, B = drawn(n, n, dtype=dtype), drawn(*((n, 2) if left else (2, n)), dtype=dtype)
    g = drawn(*B.shape, dtype=dtype)
    made = [x.numpy() for x in pulled(leaf(A), leaf(B), Tensor.of(g), left=left)]
    inverse = np.linalg.inv(A)
    turned = inverse.conj().T
    out = inverse @ B if left else B @ inverse
    to_b = turned @ g if left else g @ turned
    to_a = -to_b @ out.conj().T if left else -out.conj().T @ to_b
    for mine, wanted in zip(made, (out, to_a, to_b), strict=True):
        close = 1e-3 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(mine, wanted, rtol=close, atol=close * np.abs(wanted).max())


def test_the_plan_of_a_large_system_gives_the_same() -> None:
    A, B, g = (drawn(LARGE, n, dtype="float64") for n in (LARGE, 2, 2))
    specs = [Spec(x.shape, dtype_of(x.dtype), "cpu") for x in (A, B, g)]
    plan = plan_of(lambda a, b, c: pulled(a.requires_grad_(), b.requires_grad_(), c), specs)
    made = pulled(leaf(A), leaf(B), Tensor.of(g))
    for planned, eager in zip(plan.run([A, B, g]), made, strict=True):
        np.testing.assert_array_equal(planned, eager.numpy())


def test_it_differentiates_again() -> None:
    A, B = leaf(drawn(LARGE, LARGE, dtype="float64")), leaf(drawn(LARGE, 1, dtype="float64"))
    out = solve(A, B)
    (slope,) = grad([resolve("sum")(out * out)], [B], create_graph=True)
    (again,) = grad([resolve("sum")(slope)], [B])
    inverse = np.linalg.inv(A.numpy())
    np.testing.assert_allclose(again.numpy()[:, 0], 2 * inverse.T @ inverse.sum(1), rtol=1e-6)


def test_a_large_singular_matrix_is_refused() -> None:
    with pytest.raises(GradwireError, match="singular"):
        solve(Tensor.of(np.zeros((LARGE, LARGE))), Tensor.of(np.ones((LARGE, 1))))


def test_calls_that_want_one_thread_may_overlap() -> None:
    found = of_lapack()
    if found is None:
        pytest.skip("SciPy has no threads of its own here")
    before = found.threads()
    with found.alone():
        with found.alone():
            assert found.threads() == 1
        assert found.threads() == 1
    assert found.threads() == before
