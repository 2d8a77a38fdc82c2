"""What holds for every op of the catalogue, tried on its samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.libraries import OTHERS, assert_as_on_numpy
from tests.engine.samples import of_elementwise, samples_of
from tests.engine.samples.bags import NORMALIZED
from tests.engine.samples.linalg import HERMITIAN
from tests.engine.trial import NO_SLOPES_IN_HALVES, Host, Trial, cast, cotangents, host, like, on

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.op import Primitive
from gradwire_engine.spec import (
    DTYPES,
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int64,
    uint8,
)
from gradwire_engine.tensor import Tensor

STEP = 1e-5
"""Of the central differences: their error is about STEP² · f''' and ε / STEP."""

every_op = pytest.mark.parametrize("name", sorted(CATALOGUE))
sampled_op = pytest.mark.parametrize("name", sorted(filter(samples_of, CATALOGUE)))


@every_op
def test_there_are_samples(name: str) -> None:
    assert samples_of(name), f"write samples of {name} in tests/engine/samples"


def trials(name: str) -> list[Trial]:
    return [Trial(name, call) for call in samples_of(name)]


def hermitian(matrices: list[Host]) -> list[Host]:
    """The Hermitian part of each matrix."""
    return [(m + m.conj().swapaxes(-1, -2)) / 2 for m in matrices]


def complex_points(trial: Trial) -> list[Host] | None:
    """The sample moved off the real line; None if the op takes only real operands."""
    rng = np.random.default_rng(3)
    points = [p + 1j * rng.uniform(-0.4, 0.4, p.shape) for p in trial.points]
    points = hermitian(points) if trial.name in HERMITIAN else points
    try:
        trial.run(trial.tensors(points, requires_grad=False))
    except GradwireError as refusal:
        if refusal.code != "dtype_mismatch":
            raise
        return None
    return points


def product(values: list[Tensor], weights: list[Tensor | None]) -> float:
    """The real part of the inner product: what a real loss of these values would be."""
    return sum(
        float(np.vdot(host(w), host(v)).real) for v, w in zip(values, weights, strict=True) if w
    )


def moved(points: list[Host], directions: list[Host], step: float) -> list[Host]:
    return [p + step * d for p, d in zip(points, directions, strict=True)]


def directions_for(points: list[Host], seed: int) -> list[Host]:
    rng = np.random.default_rng(seed)
    return [
        cast(like(rng, p.shape), complex128 if p.dtype.kind == "c" else float64) for p in points
    ]


def agree(found: float, wanted: float, scale: float) -> None:
    assert abs(found - wanted) <= 2e-6 * (1 + abs(scale)), (found, wanted)


def exact(outputs: list[Tensor]) -> list[Tensor]:
    """The results that can be differentiated, and are precise enough for differences.

    None where one is not finite, as the variance of one number: there is nothing near it.
    """
    found = [y for y in outputs if y.requires_grad and y.dtype in (float64, complex128)]
    return found if all(np.isfinite(host(y)).all() for y in found) else []


def check_derivatives(trial: Trial, points: list[Host]) -> None:
    """The gradient against differences of values, its gradient against differences of gradients."""
    v, w = directions_for(points, 1), directions_for(points, 2)
    if trial.name in HERMITIAN:
        v, w = hermitian(v), hermitian(w)
    if trial.name in NORMALIZED:
        v = [d - (np.exp(p) * d).sum(-1, keepdims=True) for p, d in zip(points, v, strict=True)]

    def loss(at: list[Host]) -> float:
        outputs = exact(trial.run(trial.tensors(at)))
        return product(outputs, cotangents(outputs))

    def slope(at: list[Host]) -> tuple[float, list[Tensor], list[Tensor]]:
        leaves = trial.tensors(at)
        outputs = [y for y in trial.run(leaves) if y.requires_grad]
        found = grad(
            outputs, leaves, cotangents(outputs), create_graph=True, materialize_grads=True
        )
        grads = [g for g in found if g is not None]
        along = [Tensor.of(np.array(d)) for d in v]
        return product(grads, list(along)), grads, leaves

    if not exact(trial.run(trial.tensors(points))):
        return
    first, grads, leaves = slope(points)
    ahead, behind = loss(moved(points, v, STEP)), loss(moved(points, v, -STEP))
    agree(first, (ahead - behind) / (2 * STEP), first)
    curved = [(g, Tensor.of(np.array(d))) for g, d in zip(grads, v, strict=True) if g.requires_grad]
    ahead, behind = (slope(moved(points, w, s))[0] for s in (STEP, -STEP))
    second = 0.0
    if curved:
        bent = grad([g for g, _ in curved], leaves, [d for _, d in curved], materialize_grads=True)
        second = product([b for b in bent if b is not None], [Tensor.of(np.array(d)) for d in w])
    agree(second, (ahead - behind) / (2 * STEP), second)


OF_WHOLE_FACTORS = ("cholesky_inverse", "cholesky_solve")
"""Ops that read one triangle of a factor and derive by all of it, as torch: in test_ops_linalg."""


@sampled_op
def test_rules_agree_with_differences_to_second_order(name: str) -> None:
    if name in OF_WHOLE_FACTORS:
        return
    for trial in trials(name):
        check_derivatives(trial, trial.points)
        points = complex_points(trial)
        if points is not None:
            check_derivatives(trial, points)


@sampled_op
def test_the_raw_walk_equals_the_recorded_one(name: str) -> None:
    for trial in trials(name):
        for points in (trial.points, complex_points(trial)):
            if points is None:
                continue
            _, raw = trial.value_and_grads(points)
            _, recorded = trial.value_and_grads(points, create_graph=True)
            for a, b in zip(raw, recorded, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


BY_STRIDES = ("as_strided", "view", "view_as", "view_as_complex")
"""Ops whose result depends on how the tensor lies in memory, or which refuse what lies askew."""


@sampled_op
def test_operands_may_lie_in_any_order_and_are_left_alone(name: str) -> None:
    for trial in trials(name):
        if name in BY_STRIDES:
            continue
        askew = [np.array(p, order="F") for p in trial.points]
        leaves = trial.tensors(askew)
        outputs = [host(y) for y in trial.run(leaves)]
        for leaf, point in zip(leaves, trial.points, strict=True):
            assert np.array_equal(host(leaf), point, equal_nan=True), "an operand was written"
        for y, exact in zip(outputs, trial.run(trial.tensors(trial.points)), strict=True):
            np.testing.assert_allclose(y, host(exact), rtol=1e-12, atol=1e-13)


def outcome(trial: Trial, points: list[Host], device: str) -> Any:
    """The specs that a call gives, or the code of its refusal."""
    try:
        outputs = trial.run(trial.tensors(points, device, requires_grad=False), device)
    except GradwireError as refusal:
        return refusal.code
    if device != "meta":
        for y in outputs:
            assert (y.array.shape, y.array.dtype) == (y.shape, y.dtype.numpy)
    return [(y.shape, y.dtype) for y in outputs]


@sampled_op
def test_the_inferred_spec_is_the_real_one(name: str) -> None:
    for trial in trials(name):
        for dtype in DTYPES.values():
            points = [cast(p, dtype) for p in trial.points]
            inferred = outcome(trial, points, "meta")
            real = outcome(trial, points, "cpu")
            told_by_data = inferred == "data_dependent_shape" or real == "numerical_error"
            assert inferred == real or told_by_data, dtype
        assert outcome(trial, trial.points, "cpu") != "dtype_mismatch"


def is_random(name: str) -> bool:
    return any(o.random for o in CATALOGUE[name].overloads)


@pytest.mark.parametrize("library", OTHERS)
@sampled_op
def test_other_libraries_give_the_same(name: str, library: str) -> None:
    for trial in trials(name):
        for points in (trial.points, complex_points(trial)):
            if points is None:
                continue
            ours, others = trial.value_and_grads(points), trial.value_and_grads(points, library)
            check_same(name, library, ours, others, 1e-12, 1e-14)


def check_same(name: str, library: str, ours: Any, others: Any, rtol: float, atol: float) -> None:
    """Values and gradients agree; of random ops on a GPU, which draws its own, their dtypes."""
    for a, b in zip(ours[0] + ours[1], others[0] + others[1], strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if library == "strict" or not is_random(name):
            assert_as_on_numpy(library, widened(b), widened(a), rtol, atol)


def refusal(trial: Trial, points: list[Host], device: str) -> str:
    """The code of the error that a call or its walk raises; empty if none."""
    try:
        trial.value_and_grads(points, device)
    except GradwireError as found:
        return found.code
    return ""


def widened(array: Host) -> Host:
    """bfloat16, which NumPy's comparisons don't know, as float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


@pytest.mark.parametrize("library", OTHERS)
@pytest.mark.parametrize("dtype", [float32, complex64, float16, bfloat16, int64], ids=str)
@sampled_op
def test_other_libraries_give_the_same_in_other_dtypes(
    name: str, dtype: DType, library: str
) -> None:
    """CuPy lacks some functions for some dtypes only; what is refused is refused on both."""
    tolerance = {float32: 1e-5, complex64: 1e-5, float16: 3e-3, bfloat16: 2e-2, int64: 0}[dtype]
    for trial in [t for t in trials(name) if t.points]:
        points = [cast(p, dtype) for p in trial.points]
        refused = refusal(trial, points, "cpu")
        assert refusal(trial, points, library) == refused
        if not refused:
            ours, others = trial.value_and_grads(points), trial.value_and_grads(points, library)
            check_same(name, library, ours, others, tolerance, 10 * tolerance)


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.half], ids=str)
@sampled_op
def test_halves_are_as_precise_as_they_can_be(name: str, dtype: DType) -> None:
    """Compared with float64 on the same numbers; saved results are rounded once more."""
    if is_random(name):
        pytest.skip("random numbers differ from dtype to dtype")
    tolerance = {float16: 2.0**-8, bfloat16: 2.0**-5}[dtype]  # four times their epsilon
    for trial in trials(name):
        halves = [cast(p, dtype) for p in trial.points]
        if outcome(trial, halves, "cpu") == "dtype_mismatch":
            continue
        values, grads = trial.value_and_grads(halves)
        exact_values, exact_grads = trial.value_and_grads([cast(p, float64) for p in halves])
        exact_grads = [] if name in NO_SLOPES_IN_HALVES else exact_grads
        for got, exact in zip(values + grads, exact_values + exact_grads, strict=True):
            if got.dtype.kind not in "biu":
                wide = got.astype(complex if got.dtype.kind == "c" else float)
                atol = tolerance * np.abs(exact).max(initial=0)
                np.testing.assert_allclose(wide, exact, rtol=tolerance, atol=atol)


NO_HALVES = (
    "special.erfcx", "special.log_ndtr", "special.modified_bessel_i0", "special.modified_bessel_i1",
    "special.modified_bessel_k0", "special.modified_bessel_k1", "special.ndtri",
    "special.scaled_modified_bessel_k0", "special.scaled_modified_bessel_k1",
    "special.spherical_bessel_j0",
)  # fmt: skip
"""Of real functions, those that torch lacks kernels for halves of."""


def says(overload: Any, dtype: DType) -> bool:
    """Whether the op takes the dtype; hardtanh's default limits don't fit unsigned integers, and
    bools are clamped by one limit, where these samples have two.
    """
    refused = overload.name == "nn.functional.hardtanh" and dtype is uint8
    refused = refused or (overload.name == "clamp" and dtype is bool_)
    refused = refused or (overload.name in NO_HALVES and dtype.half)
    return dtype.category in overload.takes and not refused


@sampled_op
def test_an_elementwise_op_takes_what_it_says(name: str) -> None:
    """And its kernel keeps float32: one that gives float64 has worked at twice the cost."""
    for overload in CATALOGUE[name].overloads:
        for args, _ in of_elementwise(overload, np.random.default_rng(5)):
            for dtype in DTYPES.values():
                operands = [cast(a, dtype) for a in args]
                try:
                    overload(*[on("cpu", a) for a in operands])
                except GradwireError as refusal:
                    refused = refusal.code == "dtype_mismatch"
                    if refusal.code != "numerical_error" and (not refused or says(overload, dtype)):
                        raise
                    continue
                assert says(overload, dtype), dtype
                if dtype in (float32, complex64):
                    kept = np.asarray(overload(*operands)).dtype
                    assert kept not in (np.float64, np.complex128)


@every_op
def test_the_catalogue_says_what_the_op_is(name: str) -> None:
    for overload in CATALOGUE[name].overloads:
        assert overload.doc.endswith("."), overload.doc
        if isinstance(overload, Primitive) and overload.differentiable:
            assert CATALOGUE[name].formula, "it has rules, but no formula that says them"


@pytest.mark.parametrize("name", ["torch.relu", "torch.nn.functional.relu", "F.relu"])
def test_a_name_as_python_writes_it_is_told_from_a_misspelt_one(name: str) -> None:
    with pytest.raises(GradwireError) as refused:
        resolve(name)
    assert refused.value.hint == "did you mean relu?"


def test_another_name_of_a_dtype_is_told() -> None:
    with pytest.raises(TypeError, match="got 'float': write 'float32'"):
        resolve("ones")((2,), dtype="float")
