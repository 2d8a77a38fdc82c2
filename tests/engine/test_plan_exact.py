"""What plans leave out changes no bit: casts there and back, and neutral numbers, as op by op."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.plan import plan_of, regions
from gradwire_engine.spec import DTYPES, DType, Spec
from gradwire_engine.tensor import Tensor

PLANNED = {name: dtype for name, dtype in DTYPES.items() if not dtype.half}
"""What plans are made for."""
EDGES = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]


def numbers(dtype: DType, finite: bool = False) -> np.ndarray:
    """What is at the edges of a dtype. finite: what an int can be made of, too."""
    kind = dtype.numpy.kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        limits = np.iinfo(dtype.numpy)
        odd = [n for n in (2**24 + 1, 2**53 + 1) if n < limits.max]
        return np.array([0, 1, limits.min, limits.max, *odd], dtype.numpy)
    if finite:
        return np.array([0, 1.25, 2.5, 100], dtype.numpy)
    if kind == "f":
        return np.array(EDGES, dtype.numpy)
    return np.array([complex(a, b) for a, b in product(EDGES, EDGES)], dtype.numpy)


def bits(array: np.ndarray) -> bytes:
    """The elements' bits; all that are no number are one."""
    parts = array.view(array.real.dtype).copy() if array.dtype.kind == "c" else array.copy()
    if parts.dtype.kind == "f":
        parts[np.isnan(parts)] = np.nan
    return parts.tobytes()


def agree(function: Callable[[Any], Any], x: np.ndarray, dtype: DType) -> None:
    """Its plan gives what a function gives op by op, to the bit."""
    plan = plan_of(lambda x: [function(x)], [Spec(x.shape, dtype, "cpu")])
    with np.errstate(all="ignore"):
        eager, (found,) = function(Tensor.of(x.copy())).array, plan.run([x])
    assert (found.dtype, bits(found)) == (eager.dtype, bits(eager))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("there", PLANNED)
@pytest.mark.parametrize("start", PLANNED)
def test_there_and_back(start: str, there: str) -> None:
    to, one, other = resolve("to"), PLANNED[start], PLANNED[there]
    whole = other.numpy.kind in "iu"
    agree(lambda x: to(to(x, other), one), numbers(one, whole), one)


NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "x * 1": lambda x: x * 1,
    "1 * x": lambda x: 1 * x,
    "x * 1.0": lambda x: x * 1.0,
    "x / 1": lambda x: x / 1,
    "x + 0": lambda x: x + 0,
    "0 + x": lambda x: 0 + x,
    "x - 0": lambda x: x - 0,
    "0 - x": lambda x: 0 - x,
    "x + -0.0": lambda x: x + -0.0,
    "x - -0.0": lambda x: x - -0.0,
    "-(-x)": lambda x: resolve("neg")(-x),
    "x + -x": lambda x: x + -x,
    "-x + 1": lambda x: -x + 1,
    "1 - -x": lambda x: 1 - -x,
    "x * ones": lambda x: x * resolve("ones_like")(x),
    "x / ones": lambda x: x / resolve("ones_like")(x),
    "x - zeros": lambda x: x - resolve("zeros_like")(x),
    "x + zeros": lambda x: x + resolve("zeros_like")(x),
    "x - uint8": lambda x: x + -resolve("to")(x * 0 + 1, DTYPES["uint8"]),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("case", NEUTRAL)
@pytest.mark.parametrize("name", [n for n in PLANNED if n != "bool"])
def test_what_changes_nothing(name: str, case: str) -> None:
    dtype = PLANNED[name]
    whole = "uint8" in case and not name.startswith(("int", "uint"))
    agree(NEUTRAL[case], numbers(dtype, whole), dtype)


@pytest.mark.parametrize("case", NEUTRAL)
def test_what_changes_nothing_may_lie_otherwise(case: str) -> None:
    t, matmul = resolve("t"), resolve("matmul")
    x = np.arange(9.0).reshape(3, 3)
    agree(lambda x: NEUTRAL[case](t(x)), x, DTYPES["float64"])
    agree(lambda x: t(NEUTRAL[case](t(x))), x, DTYPES["float64"])
    agree(lambda x: matmul(x, NEUTRAL[case](t(x))), x, DTYPES["float64"])


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "products": lambda x: (x * 0.1 + 3) * 7 - 1e300,
    "quotients": lambda x: (x / 3 - 0.1) / (2 - x),
    "complex": lambda x: (x * (0.1 + 2j) - 1j) * 0.3,
    "powers": lambda x: 0.1 ** (x * 2) + x**2 + x**0.5,
    "compared": lambda x: (x * 3 > 0.1) * (x / 3 <= 1),
    "chosen": lambda x: resolve("where")(x > 0.1, x * 0.1, 3) + 0.7,
    "clamped": lambda x: resolve("clamp")(x * 0.7, -0.1, 3) * 0.1,
    "rectified": lambda x: (
        resolve("nn.functional.relu")(x * 3) * 0.1 + resolve("nn.functional.relu6")(-x)
    ),
    "clamped twice": lambda x: resolve("clamp")(resolve("clamp")(-x, -1, 2), 0, 1),
    "negated": lambda x: x * 0.5 + -x * 0.7 - (-x - x) * 0.1,
    "wrapped around": lambda x: (x + 3) * 7 - x,
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize("name", PLANNED)
def test_numbers_are_what_they_are_op_by_op(
    name: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regions, "SMALLEST", 1)
    dtype = PLANNED[name]
    try:
        NUMBERS[case](Tensor.of(numbers(dtype)))
    except GradwireError:  # no order of complex numbers, no difference of bools: no plan either
        with pytest.raises(GradwireError):
            plan_of(lambda x: [NUMBERS[case](x)], [Spec((2,), dtype, "cpu")])
    else:
        agree(NUMBERS[case], numbers(dtype), dtype)


TURNED: dict[str, Callable[[Any], Any]] = {
    "flip": lambda x: resolve("flip")(resolve("t")(x), (0,)),
    "inverse": resolve("linalg.inv"),
    "sort": lambda x: resolve("sort")(resolve("t")(x))[0],
}


@pytest.mark.parametrize("name", TURNED)
def test_a_kernel_that_is_one_step_lies_as_op_by_op(name: str) -> None:
    t, reshape = resolve("t"), resolve("reshape")
    x = np.arange(9.0).reshape(3, 3) ** 2 + 5 * np.eye(3)
    agree(lambda x: reshape(t(TURNED[name](x)), (9,)), x, DTYPES["float64"])
    agree(TURNED[name], x, DTYPES["float64"])


SINGLE: dict[str, Callable[[Any], Any]] = {
    "cat": lambda x: resolve("narrow")(resolve("cat")([x, x], 2), 2, 1, 2),
    "placed": lambda x: resolve("narrow")(resolve("cat")([x, x * 2, x], 0), 0, 1, 2),
    "sum": lambda x: resolve("sum")(resolve("cat")([x, x], 2), 0, keepdim=True),
    "matmul": lambda x: resolve("matmul")(x, x),
}


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("name", SINGLE)
def test_what_a_step_makes_lies_as_was_traced(name: str, order: tuple[int, ...]) -> None:
    permute, reshape = resolve("permute"), resolve("reshape")

    def function(x: Any, turned: tuple[int, ...]) -> Any:
        found = permute(SINGLE[name](permute(x, order)), turned)
        return reshape(found, (found.shape[0] * found.shape[1], found.shape[2]))

    for turned in permutations(range(3)):
        agree(partial(function, turned=turned), np.arange(8.0).reshape(2, 2, 2), DTYPES["float64"])


def test_a_constant_that_is_turned_stays_so() -> None:
    t, reshape, arange = resolve("t"), resolve("reshape"), resolve("arange")
    x = np.arange(9.0).reshape(3, 3)
    agree(lambda x: reshape(t(t(reshape(arange(9.0), (3, 3))) * 2 + x), (9,)), x, DTYPES["float64"])
