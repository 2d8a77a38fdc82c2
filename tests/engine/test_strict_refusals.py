"""What the stand-in for CuPy refuses, and where it differs from NumPy, as CuPy does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.strict import Array, from_numpy, special, strided, to_numpy, xp

from gradwire_engine.arrays import backend
from gradwire_engine.errors import GradwireError

HOST = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def a() -> Any:
    return from_numpy(HOST)


Use = Callable[[Any], Any]

MIXED: dict[str, Use] = {
    "operator": lambda a: a + HOST,
    "reflected operator": lambda a: HOST + a,
    "in place": lambda a: a.__iadd__(HOST),
    "numpy in place": lambda a: HOST.copy().__iadd__(a),
    "comparison": lambda a: a < HOST,
    "equality": lambda a: a == HOST,
    "matmul": lambda a: a @ HOST.T,
    "reflected matmul": lambda a: HOST.T @ a,
    "ufunc": lambda a: xp.add(a, HOST),
    "ufunc of a list": lambda a: xp.add(a, [1.0, 2.0, 3.0]),
    "ufunc out": lambda a: xp.exp(a, out=HOST.copy()),
    "reduction": lambda a: xp.sum(HOST),
    "function": lambda a: xp.concatenate([a, HOST]),
    "function of a list": lambda a: xp.sum([1.0]),
    "function of a number": lambda a: xp.sum(1.0),
    "where": lambda a: xp.where(HOST > 0, a, 0.0),
    "special": lambda a: special.erf(HOST),
    "linalg": lambda a: xp.linalg.inv(HOST[:, :2]),
    "fft": lambda a: xp.fft.fft(HOST),
    "assignment": lambda a: a.__setitem__(0, HOST[0]),
    "fill": lambda a: a.fill(HOST),
    "a device array where the host reads": lambda a: xp.sum(a, axis=xp.asarray(0)),
    "a device array in range": lambda a: range(xp.asarray(3)),
}
IMPLICIT: dict[str, Use] = {
    "np.asarray": np.asarray,
    "np.array": np.array,
    "np.ufunc": np.exp,
    "np.ufunc with out": lambda a: np.add(1.0, 2.0, out=a),
    "np.sum": np.sum,
    "np.concatenate": lambda a: np.concatenate([a, a]),
    "np.mean": np.mean,
    "np.where": lambda a: np.where(a, 1, 2),
    "np.linalg.inv": lambda a: np.linalg.inv(a[:, :2]),
    "np.fft": np.fft.fft,
    "memory": memoryview,
    "hash": hash,
}
UNKNOWN: dict[str, Use] = {
    "ufunc where": lambda a: xp.exp(a, where=a > 0),
    "ufunc order": lambda a: xp.exp(a, order="C"),
    "sum initial": lambda a: xp.sum(a, initial=0.0),
    "sum where": lambda a: xp.sum(a, where=a > 0),
    "max initial": lambda a: xp.max(a, initial=0.0),
    "take mode": lambda a: xp.take(a, [0], mode="clip"),
    "eye device": lambda a: xp.eye(3, device="cpu"),
    "std correction": lambda a: xp.std(a, correction=1),
    "svd hermitian": lambda a: xp.linalg.svd(a, hermitian=True),
    "too many arguments": lambda a: xp.exp(a, a, a),
    "item with an index": lambda a: a.item(0),
    "astype casting": lambda a: a.astype(np.float32, casting="unsafe"),
    "generator": lambda a: xp.random.default_rng(1).uniform(loc=0.0),
}
_ABSENT = "vecdot matvec unstack einsum_path nditer block nanquantile spacing"
ABSENT: dict[str, Use] = {
    name: lambda a, name=name: getattr(xp, name)  # type: ignore[misc]
    for name in _ABSENT.split()
}
ABSENT |= {
    "linalg.vector_norm": lambda a: xp.linalg.vector_norm(a),
    "linalg.svdvals": lambda a: xp.linalg.svdvals(a),
    "linalg.multi_dot": lambda a: xp.linalg.multi_dot([a, a.T]),
    "fft.hfft2": lambda a: xp.fft.hfft2(a),
    "special.log_softplus": lambda a: special.owens_t(a, a),
    "method": lambda a: a.ctypes,
    "method itemset": lambda a: a.itemset,
    "method newbyteorder": lambda a: a.newbyteorder,
    "generator normal": lambda a: xp.random.default_rng(1).normal,
    "generator permutation": lambda a: xp.random.default_rng(1).permutation,
    "array interface": lambda a: a.__array_interface__,
}
MISSING: dict[str, Use] = {
    "maximum.reduce": lambda a: xp.maximum.reduce(a),
    "maximum.accumulate": lambda a: xp.maximum.accumulate(a),
    "logaddexp.reduce": lambda a: xp.logaddexp.reduce(a),
    "multiply.at": lambda a: xp.multiply.at(a, xp.asarray([0]), 2.0),
    "sort of a view": lambda a: a.T.sort(),
    "sort of bfloat16": lambda a: xp.sort(a.astype(ml_dtypes.bfloat16)),
    "argsort of bfloat16": lambda a: xp.argsort(a.astype(ml_dtypes.bfloat16)),
}
WRONG_TYPE: dict[str, Use] = {
    "clip of complex": lambda a: xp.clip(a.astype(np.complex64), 0, 1),
    "logical_and of complex": lambda a: xp.logical_and(a.astype(np.complex64), a),
    "floor of complex": lambda a: xp.floor(a.astype(np.complex64)),
    "negative of bool": lambda a: -(a > 0),
    "subtract of bools": lambda a: (a > 0) - (a > 0),
    "add.at of complex": lambda a: xp.add.at(a.astype(np.complex64), xp.asarray([0]), 1.0),
    "add.at of int8": lambda a: xp.add.at(a.astype(np.int8), xp.asarray([0]), 1),
    "add.at of bfloat16": lambda a: xp.add.at(a.astype(ml_dtypes.bfloat16), xp.asarray([0]), 1.0),
    "output cast": lambda a: xp.add(a, 1.5, out=a.astype(np.int64)),
    "in place cast": lambda a: a.astype(np.int64).__iadd__(1.5),
    "erf of complex": lambda a: special.erf(a.astype(np.complex64)),
    "bitwise of float": lambda a: a & a,
}


@pytest.mark.parametrize("name", MIXED)
def test_host_and_device_do_not_mix(name: str, a: Any) -> None:
    with pytest.raises(TypeError):
        MIXED[name](a)


@pytest.mark.parametrize("name", IMPLICIT)
def test_nothing_is_copied_to_the_host_unasked(name: str, a: Any) -> None:
    with pytest.raises(TypeError):
        IMPLICIT[name](a)


@pytest.mark.parametrize("name", UNKNOWN)
def test_arguments_that_cupy_lacks(name: str, a: Any) -> None:
    with pytest.raises(TypeError):
        UNKNOWN[name](a)


@pytest.mark.parametrize("name", ABSENT)
def test_names_that_cupy_lacks(name: str, a: Any) -> None:
    with pytest.raises(AttributeError):
        ABSENT[name](a)


@pytest.mark.parametrize("name", MISSING)
def test_what_cupy_has_not_implemented(name: str, a: Any) -> None:
    with pytest.raises(NotImplementedError):
        MISSING[name](a)


@pytest.mark.parametrize("name", WRONG_TYPE)
def test_dtypes_without_a_loop(name: str, a: Any) -> None:
    with pytest.raises(TypeError):
        WRONG_TYPE[name](a)


@pytest.mark.parametrize("dtype", ["O", "U3", "S1", "M8[s]", np.longdouble])
def test_dtypes_that_cupy_lacks(dtype: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_numpy(np.zeros(2, dtype))
    with pytest.raises((ValueError, TypeError)):
        xp.asarray(0.0).astype(dtype)


@pytest.mark.parametrize(
    "use",
    [
        lambda a: a[0, 0],
        lambda a: a.sum(),
        lambda a: xp.max(a),
        lambda a: xp.linalg.norm(a),
        lambda a: xp.exp(a[0, 0]),
        lambda a: a[0, 0] + a[0, 1],
        lambda a: a[0, 0] + 1,
        lambda a: xp.dot(a[0], a[0]),
        lambda a: next(iter(a[0])),
        lambda a: xp.allclose(a, a),
        lambda a: xp.random.default_rng(1).random(),
        lambda a: xp.count_nonzero(a),
    ],
)
def test_results_without_axes_stay_arrays(use: Use, a: Any) -> None:
    found = use(a)
    assert isinstance(found, Array)
    assert found.shape == ()


def test_a_view_shares_memory_an_integer_index_too(a: Any) -> None:
    a[1, 2][...] = 70.0
    a.T[0] = 80.0
    a.reshape(6)[1:2] = 90.0
    a.ravel()[4] = 50.0
    np.testing.assert_array_equal(to_numpy(a), [[80.0, 90.0, 2.0], [80.0, 50.0, 70.0]])


def test_copies_do_not_share_memory(a: Any) -> None:
    source = np.zeros(2)
    device = from_numpy(source)
    source[0] = 1.0
    to_numpy(device)[1] = 1.0
    copy.copy(device)[:] = 1.0
    copy.deepcopy(device)[:] = 1.0
    xp.array(device)[:] = 1.0
    np.testing.assert_array_equal(to_numpy(device), [0.0, 0.0])


def test_values_are_read_where_cupy_synchronises(a: Any) -> None:
    assert float(a[1, 2]) == 5.0
    assert int(a[1, 2]) == 5
    assert a[1, 2].item() == 5.0
    assert bool(a[1, 2] > 4)
    assert a.tolist() == HOST.tolist()
    assert len(a) == 2
    assert f"{a[1, 2]:.1f}" == "5.0"
    with pytest.raises(ValueError, match="ambiguous"):
        bool(a)


def test_python_numbers_are_weak_and_numpy_scalars_are_not(a: Any) -> None:
    half = a.astype(np.float16)
    assert (half * 2.5).dtype == np.float16
    assert (2 / half).dtype == np.float16
    assert (half * np.float32(2.5)).dtype == np.float32
    assert (a.astype(np.int8) + 1).dtype == np.int8
    assert xp.where(a > 0, half, 0.0).dtype == np.float16
    assert (a.astype(np.int8) * 1.5).dtype == np.float64
    assert (a.astype(np.float32) * 1j).dtype == np.complex64
    assert ((a > 0) + 1).dtype == np.int64


def test_bfloat16_falls_to_float32_where_cupy_has_no_loop(a: Any) -> None:
    brain = a.astype(ml_dtypes.bfloat16)
    assert (brain + brain).dtype == ml_dtypes.bfloat16
    assert xp.exp(brain).dtype == ml_dtypes.bfloat16
    assert (brain @ brain.T).dtype == ml_dtypes.bfloat16
    assert (brain + 1).dtype == ml_dtypes.bfloat16
    assert (brain + 1.0).dtype == np.float32
    assert xp.where(brain > 0, brain, brain).dtype == np.float32
    assert xp.clip(brain, 0, 1).dtype == np.float32
    assert xp.tril(brain).dtype == np.float32


def test_half_goes_to_double_in_special_functions(a: Any) -> None:
    assert special.erf(a.astype(np.float16)).dtype == np.float64
    assert special.ndtri(a.astype(np.float16)).dtype == np.float32


def test_indices_out_of_range_go_round_but_a_plain_integer_raises() -> None:
    v = from_numpy(np.arange(3))
    np.testing.assert_array_equal(to_numpy(v[[1, 3, -4]]), [1, 0, 2])
    np.testing.assert_array_equal(to_numpy(xp.take(v, xp.asarray([4]))), [1])
    np.testing.assert_array_equal(to_numpy(v[xp.asarray([5])]), [2])
    with pytest.raises(IndexError):
        v[3]
    with pytest.raises(IndexError):
        v[xp.asarray([0.5])]


def test_of_duplicate_indices_the_last_need_not_win() -> None:
    v = from_numpy(np.zeros(2))
    v[[0, 0, 1]] = from_numpy(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(to_numpy(v), [1.0, 3.0])


@pytest.mark.parametrize(
    "index", [np.s_[1], np.s_[..., 1], np.s_[None, 1:, ::-1], np.s_[[0, 1], 1], np.s_[:, [2, 0]]]
)
def test_reading_and_writing_by_index_is_numpys(index: Any, a: Any) -> None:
    host = HOST.copy()
    np.testing.assert_array_equal(to_numpy(a[index]), host[index])
    a[index] = -1.0
    host[index] = -1.0
    np.testing.assert_array_equal(to_numpy(a), host)


def test_masks(a: Any) -> None:
    mask = a > 2
    np.testing.assert_array_equal(to_numpy(a[mask]), [3.0, 4.0, 5.0])
    a[mask] = xp.asarray([7.0, 8.0, 9.0])
    np.testing.assert_array_equal(to_numpy(a), [[0, 1, 2], [7, 8, 9]])


def test_scattering_adds_every_duplicate() -> None:
    v = from_numpy(np.zeros(3, np.float32))
    xp.add.at(v, xp.asarray([0, 0, 2]), xp.asarray([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(to_numpy(v), np.array([3, 0, 4], np.float32))


def test_no_floating_point_warning_and_no_error_for_integers() -> None:
    zero: Any
    one: Any
    zero, one = from_numpy(np.zeros(2)), from_numpy(np.ones(2))
    np.testing.assert_array_equal(to_numpy(one / zero), [np.inf, np.inf])
    np.testing.assert_array_equal(to_numpy(xp.log(-one)), [np.nan, np.nan])
    np.testing.assert_array_equal(to_numpy(xp.asarray([2, -1, 1]) ** -1), [0, -1, 1])


@pytest.mark.parametrize("name", ["cholesky", "inv", "solve"])
def test_a_failed_factorisation_raises_nothing(name: str) -> None:
    singular = from_numpy(np.array([[1.0, 2.0], [2.0, 4.0]]) - 2 * np.eye(2) * (name == "cholesky"))
    args = (singular, singular) if name == "solve" else (singular,)
    assert bool(xp.isnan(getattr(xp.linalg, name)(*args)).all())


def test_matrices_of_the_wrong_shape_still_raise(a: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        xp.linalg.inv(a)
    with pytest.raises(ValueError, match="one matrix"):
        xp.scipy_linalg.lu_factor(from_numpy(np.zeros((2, 2, 2))))


def test_strided_views_from_the_first_byte(a: Any) -> None:
    view = strided(a, (2, 2), (24, 8), 8)
    np.testing.assert_array_equal(to_numpy(view), [[1.0, 2.0], [4.0, 5.0]])
    view[0, 0] = 9.0
    assert float(a[0, 1]) == 9.0


def test_the_engine_knows_it_as_a_device() -> None:
    strict = backend("strict")
    assert strict.name == "strict"
    assert isinstance(strict.from_numpy(HOST), Array)
    np.testing.assert_array_equal(strict.to_numpy(strict.from_numpy(HOST)), HOST)
    with pytest.raises(GradwireError, match="strictly"):
        backend("strictly")
