"""What works by blocks and by bits on large arrays gives what it gives on small ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.samples import of_elementwise
from tests.engine.trial import REFUSED, Host

from gradwire_engine.arrays import backend
from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.kernels.select import SMALL, chosen
from gradwire_engine.kernels.sweeps import LARGE
from gradwire_engine.op import Primitive
from gradwire_engine.spec import FLOAT
from gradwire_engine.tensor import Tensor

xp = backend("cpu").xp
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 3e38, 1e-40]
SIZE = LARGE + 1000
STEP = 1 << 15

OVERLOADS = [
    pytest.param(overload, id=f"{name}{i}")
    for name, op in sorted(CATALOGUE.items())
    for i, overload in enumerate(op.overloads)
    if isinstance(overload, Primitive) and FLOAT in overload.takes
    if of_elementwise(overload, np.random.default_rng(0))
]


def value_and_grads(overload: Primitive, points: list[Host], g: Host) -> list[Host]:
    """A result in float32, and the gradients by all operands where there are any."""
    leaves = [Tensor.of(p.copy(), requires_grad=overload.name not in REFUSED) for p in points]
    y = overload(*leaves)
    if not y.requires_grad:
        return [y.numpy()]
    found = grad([y], leaves, [Tensor.of(g.astype(y.numpy().dtype))], materialize_grads=True)
    return [y.numpy(), *(x.numpy() for x in found if x is not None)]


@pytest.mark.parametrize("overload", OVERLOADS)
def test_a_large_array_is_its_parts(overload: Primitive) -> None:
    rng = np.random.default_rng(1)
    operands = len([p for p in overload.signature.parameters if p.kind == "tensor"])
    points = [rng.uniform(*overload.domain, SIZE).astype(np.float32) for _ in range(operands)]
    g = rng.standard_normal(SIZE).astype(np.float32)
    whole = value_and_grads(overload, points, g)
    parts = [
        value_and_grads(overload, [p[i : i + STEP] for p in points], g[i : i + STEP])
        for i in range(0, SIZE, STEP)
    ]
    for got, wanted in zip(whole, map(np.concatenate, zip(*parts, strict=True)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)


@given(
    st.sampled_from(["float16", "float32", "float64", "complex64", "int8", "int64", "bool"]),
    st.sampled_from([(), (2 * SMALL,), (1,), (3, SMALL), (3, 1)]),
    st.sampled_from(["array", "number", "zero", "scalar", "other dtype", "row"]),
    st.booleans(),
)
def test_chosen_is_where(dtype: str, mask_shape: tuple[int, ...], kind: str, first: bool) -> None:
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        array = rng.choice(SPECIAL, (3, SMALL) if mask_shape != (2 * SMALL,) else mask_shape)
        array = np.nan_to_num(array).astype(dtype) if dtype[0] in "ib" else array.astype(dtype)
    others = {
        "array": array[::-1].copy(),
        "number": 1,
        "zero": 0,
        "scalar": np.float64(0.5),
        "other dtype": array.astype("complex128"),
        "row": array.reshape(-1)[: array.shape[-1]],
    }
    mask = np.asarray(rng.integers(0, 2, mask_shape)).astype(bool)
    pair = (array, others[kind]) if first else (others[kind], array)
    got, wanted = chosen(xp, mask, *pair), np.where(mask, *pair)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)
    if wanted.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def test_an_expanded_cotangent_is_swept_as_one_number() -> None:
    x = np.random.default_rng(2).standard_normal(SIZE).astype(np.float32)
    gelu, total = CATALOGUE["nn.functional.gelu"], CATALOGUE["sum"]
    leaf = Tensor.of(x, requires_grad=True)
    (got,) = grad([total(gelu(leaf))], [leaf])
    (wanted,) = grad([gelu(leaf)], [leaf], [Tensor.of(np.ones_like(x))])
    assert got is not None
    assert wanted is not None
    np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def test_a_transposed_array_is_not_taken_for_a_row_major_one() -> None:
    x = np.random.default_rng(3).standard_normal((600, 500)).astype(np.float32)
    silu = CATALOGUE["nn.functional.silu"]
    turned = silu(CATALOGUE["t"](Tensor.of(x)))
    np.testing.assert_allclose(turned.numpy().T, silu(Tensor.of(x)).numpy(), rtol=1e-6)
