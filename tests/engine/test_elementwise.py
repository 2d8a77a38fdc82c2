"""Elementwise ops where their meaning isn't obvious: torch's names, edges, dtypes and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.tensor import Tensor

inf, nan = np.inf, np.nan


def op(name: str, *args: Any, **kwargs: Any) -> Any:
    return resolve(name)(*args, **kwargs)


def leaf(*values: Any, dtype: str = "float64") -> Any:
    return Tensor.of(np.array(values, dtype), requires_grad=True)


def plain(*values: Any, dtype: str = "float64") -> Any:
    return Tensor.of(np.array(values, dtype))


def slopes(run: Callable[..., Tensor], *leaves: Tensor) -> list[list[Any]]:
    """The gradients of the result's sum."""
    y = run(*leaves)
    ones = Tensor.of(np.ones(y.shape, y.numpy().dtype))
    return [g.numpy().tolist() for g in grad([y], leaves, [ones]) if g is not None]


NAMES: dict[str, Callable[[Any, Any], Any]] = {
    "AddBackward0": lambda x, y: 2 + x,
    "SubBackward0": lambda x, y: x - 2,
    "RsubBackward1": lambda x, y: 2 - x,
    "RsubBackward0": lambda x, y: op("rsub", x, y),
    "MulBackward0": lambda x, y: 2 / x,
    "DivBackward0": lambda x, y: x / 2,
    "DivBackward2": lambda x, y: op("div", x, y, rounding_mode="floor"),
    "PowBackward0": lambda x, y: op("square", x),
    "PowBackward1": lambda x, y: op("float_power", x, y),
    "PowBackward2": lambda x, y: 2**x,
    "RemainderBackward0": lambda x, y: x % 2,
    "RemainderBackward1": lambda x, y: x % y,
    "ClampBackward1": lambda x, y: op("clip", x, 0, 1),
    "ClampBackward0": lambda x, y: op("clamp", x, y),
    "ClampMinBackward0": lambda x, y: op("clamp_min", x, 0),
    "ClampMaxBackward1": lambda x, y: op("clamp_max", x, y),
    "LerpBackward0": lambda x, y: op("lerp", x, y, 0.5),
    "LerpBackward1": lambda x, y: op("lerp", x, y, y),
    "Log1PBackward0": lambda x, y: op("log1p", x),
    "Logaddexp2Backward0": lambda x, y: op("logaddexp2", x, y),
    "XlogyBackward1": lambda x, y: op("xlogy", 2, x),
    "XlogyBackward2": lambda x, y: op("xlogy", x, 2),
    "Deg2RadBackward0": lambda x, y: op("deg2rad", x),
    "RoundBackward1": lambda x, y: op("round", x, decimals=1),
    "TruncBackward0": lambda x, y: op("fix", x),
    "MaskedFillBackward0": lambda x, y: op("masked_fill", x, x > 1, 1.0),
    "HardtanhBackward0": lambda x, y: op("relu6", x),
    "EluBackward0": lambda x, y: op("selu", x),
    "CeluBackward0": lambda x, y: op("celu", x),
    "LogSigmoidBackward0": lambda x, y: op("logsigmoid", x),
    "PreluKernelBackward0": lambda x, y: op("prelu", x, op("select", y, 0, 0)),
    "SpecialI0EBackward0": lambda x, y: op("special.i0e", x),
    "ToCopyBackward0": lambda x, y: op("half", x),
}
"""From torch's node names (2.13) to what makes such a node there."""


@pytest.mark.parametrize("name", NAMES)
def test_nodes_have_torchs_names(name: str) -> None:
    y = NAMES[name](leaf(0.3, 1.6), leaf(0.5, 0.7))
    assert y.grad_fn is not None
    assert y.grad_fn.name() == name


@pytest.mark.parametrize(
    ("run", "at", "wanted"),
    [
        (lambda x: op("relu", x), [-1, 0, 1, nan], [0, 0, 1, 1]),
        (lambda x: op("abs", x), [-2, 0, 3], [-1, 0, 1]),
        (lambda x: op("sqrt", x), [0], [inf]),
        (lambda x: x**0, [0, nan], [0, 0]),
        (lambda x: x**1, [0], [1]),
        (lambda x: op("clamp", x, -1, 1), [-1, 1, 2, nan], [1, 1, 0, 0]),
        (lambda x: op("hardtanh", x), [-1, 1, 0.5], [0, 0, 1]),
        (lambda x: op("hardswish", x), [-3, 3, 0], [0, 1, 0.5]),
        (lambda x: op("nan_to_num", x), [nan, inf, 1], [0, 0, 1]),
        (lambda x: op("floor", x), [1.5, inf], [0, 0]),
        (lambda x: op("sinc", x), [0], [0]),
        (lambda x: op("logit", x), [-0.5, 0.5], [nan, 4]),
        (lambda x: op("logit", x, eps=0.25), [0.1, 0.5], [0, 4]),
        (lambda x: op("softplus", x), [800, -800], [1, 0]),
        (lambda x: op("mish", x), [1e30], [1]),
        (lambda x: op("copysign", x, -1.0), [2, 0], [-1, 0]),
    ],
)
def test_slopes_at_edges(run: Callable[[Any], Any], at: list[Any], wanted: list[Any]) -> None:
    np.testing.assert_allclose(slopes(run, leaf(*at))[0], wanted, atol=1e-15)


def test_slopes_at_ties_and_origins() -> None:
    one = leaf(1.0), leaf(1.0)
    assert slopes(lambda x, y: op("maximum", x, y), *one) == [[0.5], [0.5]]
    assert slopes(lambda x, y: op("fmin", x, y), *one) == [[1], [0]]
    zero = leaf(0.0), leaf(0.0)
    assert slopes(lambda x, y: op("atan2", x, y), *zero) == [[0], [0]]
    assert slopes(lambda x, y: x**y, *zero) == [[0], [0]]
    np.testing.assert_array_equal(slopes(lambda x, y: op("xlogy", x, y), *zero), [[0], [nan]])
    infinite = leaf(inf), leaf(-inf)
    assert slopes(lambda x, y: op("logaddexp", x, y), *infinite) == [[1], [0]]


def test_a_masked_infinity_stays_out_of_the_gradient() -> None:
    x = leaf(0.0, 4.0)
    (g,) = slopes(lambda x: op("where", x > 0, op("log", x), 0), x)
    assert g[1] == 0.25
    (g,) = slopes(lambda x: op("masked_fill", x, x == 0, 1.0), x)
    assert g == [0, 1]


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda i, f: i / 2, "float32"),
        (lambda i, f: op("sin", i), "float32"),
        (lambda i, f: i + 1.5, "float32"),
        (lambda i, f: i * plain(2.0), "float64"),
        (lambda i, f: f + Tensor.of(np.array(1.0)), "float32"),
        (lambda i, f: f * 1j, "complex64"),
        (lambda i, f: i // 2, "int64"),
        (lambda i, f: op("div", i, 2, rounding_mode="trunc"), "int64"),
        (lambda i, f: i**0.5, "float32"),
        (lambda i, f: op("float_power", f, 2), "float64"),
        (lambda i, f: i == i, "bool"),
        (lambda i, f: op("where", i > 0, i, 1.5), "float32"),
        (lambda i, f: op("clamp", i, 0.5), "float32"),
        (lambda i, f: op("abs", f * 1j), "float32"),
        (lambda i, f: op("angle", i), "float32"),
        (lambda i, f: op("complex", f, f), "complex64"),
    ],
)
def test_dtypes_of_results(make: Callable[[Any, Any], Any], dtype: str) -> None:
    assert make(plain(1, 2, dtype="int64"), plain(1, 2, dtype="float32")).dtype.name == dtype


ints, bools, cplx = (plain(1, 0, dtype=d) for d in ("int64", "bool", "complex64"))
floats = plain(1, 2)
REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("dtype_mismatch", lambda: -bools),
    ("dtype_mismatch", lambda: bools - bools),
    ("dtype_mismatch", lambda: op("positive", bools)),
    ("dtype_mismatch", lambda: op("floor", cplx)),
    ("dtype_mismatch", lambda: cplx < cplx),
    ("dtype_mismatch", lambda: op("bitwise_and", floats, floats)),
    ("dtype_mismatch", lambda: op("bitwise_left_shift", bools, bools)),
    ("dtype_mismatch", lambda: op("add", ints, ints, alpha=0.5)),
    ("dtype_mismatch", lambda: op("addcdiv", ints, ints, ints)),
    ("dtype_mismatch", lambda: op("where", ints, ints, ints)),
    ("dtype_mismatch", lambda: op("masked_fill", ints, ints, 1)),
    ("dtype_mismatch", lambda: op("masked_fill", ints, bools, 1j)),
    ("dtype_mismatch", lambda: op("complex", floats, plain(1, 2, dtype="float32"))),
    ("dtype_mismatch", lambda: op("imag", floats)),
    ("dtype_mismatch", lambda: op("view_as_real", floats)),
    ("dtype_mismatch", lambda: op("frexp", ints)),
    ("dtype_mismatch", lambda: op("relu6", bools)),
    ("shape_mismatch", lambda: floats + plain(1, 2, 3)),
    ("shape_mismatch", lambda: op("masked_fill", floats, bools, floats)),
    ("shape_mismatch", lambda: op("view_as_complex", plain(1, 2, 3))),
    ("shape_mismatch", lambda: op("prelu", floats, floats)),
    ("invalid_argument", lambda: op("clamp", floats)),
    ("invalid_argument", lambda: op("gelu", floats, approximate="sinh")),
    ("invalid_argument", lambda: op("hardtanh", floats, 1.0, -1.0)),
    ("invalid_argument", lambda: op("softshrink", floats, -1.0)),
    ("invalid_argument", lambda: op("celu", floats, 0.0)),
    ("invalid_argument", lambda: op("polygamma", -1, floats)),
    ("invalid_argument", lambda: op("mvlgamma", floats, 0)),
    ("invalid_argument", lambda: op("isclose", floats, floats, rtol=-1.0)),
    ("invalid_argument", lambda: op("div", floats, floats, rounding_mode="up")),
    ("invalid_argument", lambda: op("fmax", floats, 2)),
    ("invalid_argument", lambda: op("eq", 2, floats)),
    ("invalid_argument", lambda: op("maximum", 2, 3)),
    ("invalid_argument", lambda: op("threshold", floats, 1.0)),
    ("numerical_error", lambda: ints // ints),
    ("numerical_error", lambda: ints % 0),
    ("numerical_error", lambda: op("div", ints, ints, rounding_mode="trunc")),
    ("numerical_error", lambda: ints**-1),
    ("unsupported_device", lambda: op("to", floats, "meta")),
]


@pytest.mark.parametrize(("code", "run"), REFUSED)
def test_what_is_refused(code: str, run: Callable[[], Any]) -> None:
    with pytest.raises(GradwireError) as caught:
        run()
    assert caught.value.code == code
    assert caught.value.hint


def test_integer_powers_below_zero_are_torchs() -> None:
    base, exponent = plain(1, -1, -1, 2, 0, dtype="int64"), plain(-3, -3, -2, -1, -1, dtype="int64")
    assert (base**exponent).numpy().tolist() == [1, -1, 1, 0, 0]


def test_an_integer_alpha_wraps_around() -> None:
    bytes_ = plain(1, 2, dtype="uint8")
    assert op("add", bytes_, bytes_, alpha=-3).numpy().tolist() == [254, 252]


def test_parts_of_a_complex_tensor_are_views() -> None:
    z = plain(1 + 2j, 3 - 1j, dtype="complex128")
    pairs = op("view_as_real", z)
    assert np.shares_memory(op("imag", z).numpy(), z.numpy())
    assert np.shares_memory(pairs.numpy(), z.numpy())
    assert op("view_as_complex", pairs).numpy().tolist() == z.numpy().tolist()


def test_conversions_give_the_tensor_itself_where_nothing_changes() -> None:
    assert op("double", floats) is floats
    assert op("to", floats, "float64") is floats
    assert op("to", floats, "cpu") is floats
    assert op("to", floats, "float64", copy=True) is not floats
    assert op("conj", floats) is floats


def test_a_gradient_with_no_slope_of_its_own_still_has_a_graph() -> None:
    """As in torch: the second derivative of relu is zero, not an error."""
    x = leaf(1.0, -1.0)
    (g,) = grad([op("sum", op("relu", x))], [x], create_graph=True)
    assert g is not None
    assert slopes(lambda x: g, x) == [[0, 0]]
