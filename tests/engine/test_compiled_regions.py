"""Regions compiled by LLVM give what NumPy's functions give, block by block: bit by bit but for the
order of sums. All other tests of plans run compiled too, where regions are large enough.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import resolve
from gradwire_engine.plan import Plan, plan_of
from gradwire_engine.plan.code import CALL, MAP, Code, Step
from gradwire_engine.plan.compiled import lanes, llvm
from gradwire_engine.plan.compiled.loops import inner_loop
from gradwire_engine.plan.compiled.native import Native
from gradwire_engine.plan.compiled.schedule import Lies
from gradwire_engine.plan.compiled.straight import LEAST, MOST, Straight
from gradwire_engine.plan.compiled.writer import Given
from gradwire_engine.plan.parts import parts_of
from gradwire_engine.plan.sweep import Sweep
from gradwire_engine.spec import Spec, dtype_of
from gradwire_engine.tensor import Tensor

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    3.25,
    -7.5,
    1e30,
    -1e30,
    1e-30,
    1e-42,
    np.inf,
    -np.inf,
    np.nan,
]
DTYPES = [np.float32, np.float64]
ops = resolve


def planned(function: Callable[..., Sequence[Any]], *arrays: np.ndarray) -> Plan:
    """A function's plan for arrays like these."""
    return plan_of(function, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays])


def sweeps(plan: Plan) -> list[Sweep]:
    return [unit for unit in plan.units if isinstance(unit, Sweep)]


def both(plan: Plan, *arrays: np.ndarray) -> tuple[list[Any], list[Any]]:
    """What a plan gives with its regions compiled, all of them, and with NumPy's functions."""
    natives = [(sweep, sweep.native) for sweep in sweeps(plan)]
    assert natives
    assert all(native is not None for _, native in natives)
    with np.errstate(all="ignore"):
        compiled = plan.run(arrays)
        for sweep, _ in natives:
            sweep.native = None
        plain = plan.run(arrays)
        for sweep, native in natives:
            sweep.native = native
    return compiled, plain


def same_bits(found: np.ndarray, wanted: np.ndarray) -> None:
    """The same to the last bit; of NaN that there is one."""
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    there = ~np.isnan(wanted)
    np.testing.assert_array_equal(found[there].view(np.uint8), wanted[there].view(np.uint8))


def agree(plan: Plan, *arrays: np.ndarray, rounding: float = 0.0) -> None:
    """Both give the same: bit by bit, or but for rounding."""
    for found, wanted in zip(*both(plan, *arrays), strict=True):
        if rounding:
            np.testing.assert_allclose(found, wanted, rtol=rounding, atol=rounding)
        else:
            same_bits(found, wanted)


def points(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Each special value beside each, and as many others as make a region of it."""
    a, b = (x.ravel() for x in np.meshgrid(SPECIAL, SPECIAL))
    rest = points(2, (1 << 16) - a.size + 7)
    return np.concatenate([a, rest[0]]).astype(dtype), np.concatenate([b, rest[1]]).astype(dtype)


BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "copysign", "atan2", "pow"]
UNARY = [
    "neg", "abs", "sqrt", "exp", "tanh", "log", "sigmoid", "relu", "gelu", "square", "reciprocal",
    "softplus", "erf", "expm1", "log1p", "sin", "hardtanh", "elu", "silu", "leaky_relu",
    "clamp_min",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands_bit_by_bit_at_special_values(name: str, dtype: Any) -> None:
    a, b = pairs(dtype)
    run = ops(name)
    plan = planned(lambda x, y: [run(x, y) * 1.0 + 0.0 * y, run(y, x)], a, b)
    agree(plan, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_forward_and_backward_bit_by_bit_at_special_values(name: str, dtype: Any) -> None:
    first, _ = pairs(dtype)
    run = partial(ops(name), min=0.25) if name == "clamp_min" else ops(name)

    def function(x: Any) -> list[Any]:
        x.requires_grad_()
        y = run(x) * 2.0
        return [y, *grad([y], [x], [y.detach()])]

    agree(planned(function, first), first)


@pytest.mark.parametrize("run", [*lanes.OF_NUMBERS, *lanes.OF_TRUTHS])
def test_an_instruction_is_what_its_ufunc_is(run: np.ufunc) -> None:
    """Each entry of the tables, on every pair of special values."""
    for dtype in [np.bool_] if run not in lanes.OF_NUMBERS else DTYPES:
        a, b = pairs(dtype)
        operands = (0, 1)[: run.nin]
        result = run.resolve_dtypes((*(x.dtype for x in (a, b)[: run.nin]), None))[-1]
        made = _alone(run, operands, [a, b][: run.nin], result)
        with np.errstate(all="ignore"):
            same_bits(made, run(*(a, b)[: run.nin]))


def _alone(
    run: np.ufunc, operands: tuple[int, ...], arrays: list[np.ndarray], result: np.dtype
) -> np.ndarray:
    """What one ufunc gives, compiled as the only step of a region."""
    out = np.empty(arrays[0].shape, result)
    number = len(operands)
    phantoms = dict(enumerate([*arrays, out]))
    step = Step(MAP, run, operands, (number,), (), run)
    code = Code(operands, {}, phantoms, (step,), (number,))
    lies = dict.fromkeys(phantoms, Lies.FULL)
    given = Given(code, [step], out.shape, lies, operands, (number,), ())
    Native(given).run([*arrays, out], [], 0, out.size)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(200_001,), (300, 257), (97, 1000), (64, 4096), (20, 9001), (70, 901)]
)
def test_norms_and_softmax_forward_and_backward(shape: tuple[int, ...], dtype: Any) -> None:
    """Folds along rows and over all of them, in widths that are no multiple of anything."""
    x, w = points(*shape, dtype=dtype), points(shape[-1], dtype=dtype, seed=1)

    def function(x: Any, w: Any) -> list[Any]:
        x.requires_grad_()
        w.requires_grad_()
        mean = ops("mean")(x, -1, True)
        spread = ops("sqrt")(ops("mean")((x - mean) * (x - mean), -1, True) + 1e-5)
        y = ops("softmax")((x - mean) / spread * w, -1)
        total = ops("sum")(ops("log_softmax")(x, -1) * y) + ops("sum")(y * y)
        return [total, ops("amax")(y, -1), *grad([total], [x, w])]

    plan = planned(function, x, w)
    close = 2e-5 if dtype is np.float32 else 1e-12
    for found, wanted in zip(*both(plan, x, w), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close)


def test_a_sum_is_as_exact_as_numpys() -> None:
    """Of a million ones and a third: lanes are put together as doubles, piece by piece."""
    x = np.full(1 << 20, 1 / 3, np.float32)
    plan = planned(lambda x: [ops("sum")(x * 1.5 + x * 0.5)], x)
    agree(plan, x, rounding=1e-6)
    exact = 2.0 * float(x[0]) * x.size
    assert abs(float(plan.run([x])[0]) - exact) <= 1e-6 * exact


@pytest.mark.parametrize("fold", ["amax", "amin", "sum"])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_nan_and_infinity_come_through_folds(fold: str, place: str) -> None:
    x = points(200, 513, dtype=np.float32)
    column = {"first": 0, "middle": 250, "last": 512}[place]
    x[3, column], x[5, column], x[7, column] = np.nan, np.inf, -np.inf
    plan = planned(lambda x: [ops(fold)(x * 2.0 + 1.0, 1), ops(fold)(x * 2.0 - 1.0)], x)
    assert all(sweep.native for sweep in sweeps(plan))
    for found, wanted in zip(*both(plan, x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def part(x: Any, row: int, column: int, step: int = 1) -> Any:
    rows = ops("slice")(x, 0, row, row + 390)
    return ops("slice")(rows, 1, column, column + 350 * step, step)


def test_arrays_with_gaps_between_rows() -> None:
    wide = points(600, 700)

    def function(x: Any) -> list[Any]:
        y = ops("tanh")(part(x, 10, 5) * part(x, 0, 0)) + part(x, 1, 1) * 0.5
        return [y, y * part(x, 200, 300)]

    agree(planned(function, wide), wide)


def peak_of(plan: Plan, *arrays: np.ndarray) -> int:
    """Bytes that a plan allocates at the peak of a run that is not its first."""
    plan.run(arrays)
    tracemalloc.start()
    try:
        plan.run(arrays)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_gaps_between_elements_are_left_to_numpy_and_cost_no_copy() -> None:
    wide = points(2000, 2000)

    def function(x: Any) -> list[Any]:
        thin = ops("slice")(x, 1, 0, 2000, 2)
        return [thin * thin * 0.5 + thin]

    plan = planned(function, wide)
    assert [sweep.native for sweep in sweeps(plan)] == [None]
    assert peak_of(plan, wide) <= 1.1 * plan.nbytes


def test_scratch_of_many_steps_is_used_again() -> None:
    """A row of what each softmax hands on, and no more of them than live at a time."""
    x = points(4, 200_000, dtype=np.float32)
    found = []
    for times in (1, 12):

        def function(x: Any, times: int = times) -> list[Any]:
            y = x
            for _ in range(times):
                y = ops("softmax")(y * 1.01, -1) + x
            return [y]

        plan = planned(function, x)
        found.append(sum(sweep.native.nbytes for sweep in sweeps(plan) if sweep.native))
        close = 1e-5
        for one, other in zip(*both(plan, x), strict=True):
            np.testing.assert_allclose(one, other, rtol=close, atol=close)
    assert found[1] <= 1.5 * found[0]


@pytest.mark.parametrize("shape", [(1 << 20,), (1 << 10, 1 << 10), (1 << 16, 64)])
def test_a_run_holds_what_its_plan_says(shape: tuple[int, ...]) -> None:
    x = points(*shape, dtype=np.float32)
    plan = planned(lambda x: [ops("tanh")(x * 2.0) + x, ops("sum")(x * x * 3.0, 0)], x)
    assert plan.nbytes / 1.1 <= peak_of(plan, x) <= 1.1 * plan.nbytes


def test_arrays_that_a_plan_was_not_made_for() -> None:
    """Turned ones, and ones that lie where the processor doesn't want them."""
    x = points(300, 400)
    plan = planned(lambda x: [ops("tanh")(x * x + 0.5) * x - 1.0], x)
    wanted = plan.run([x])[0]
    odd = np.empty(x.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(x.shape)
    odd[...] = x
    assert not odd.flags.aligned
    for other in (np.asfortranarray(x), odd, np.repeat(x, 2, 1)[:, ::2]):
        same_bits(plan.run([other])[0], wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bound", [0, 0.1, -1e-300, 1e39, float("inf"), True])
def test_where_with_numbers(bound: float, dtype: Any) -> None:
    a, b = pairs(dtype)

    def function(x: Any, y: Any) -> list[Any]:
        first = ops("where")(x > y, x * 2.0, bound)
        return [first + 0.0, ops("where")(x > 0, bound, y) * 1.0]

    agree(planned(function, a, b), a, b)


@pytest.mark.parametrize("shape", [(300, 1), (1, 700), (1, 1), ()])
def test_where_between_values_that_are_broadcast(shape: tuple[int, ...]) -> None:
    x, y = points(300, 700), points(*shape, seed=1)
    function = lambda x, y: [ops("where")(x > 0, y, y * 0.5), ops("where")(x < 0, y, 0.5)]  # noqa: E731
    plan = planned(function, x, y)
    agree(plan, x, y)
    for found, wanted in zip(plan.run([x, y]), function(Tensor.of(x), Tensor.of(y)), strict=True):
        same_bits(found, wanted.array)


def test_results_that_lie_turned_are_written() -> None:
    x = points(300, 700)

    def function(x: Any) -> list[Any]:
        turned = ops("transpose")(x, 0, 1)
        x.requires_grad_()
        y = ops("tanh")(ops("transpose")(x, 0, 1))
        return [ops("exp")(turned * 2.0), y, *grad([y], [x], [y.detach()])]

    plan = planned(function, x)
    for found, wanted in zip(plan.run([x]), function(Tensor.of(x)), strict=True):
        np.testing.assert_allclose(found, wanted.array, rtol=1e-12)


def test_one_view_of_several() -> None:
    x = points(300, 1, 500)
    function = lambda x: [ops("unbind")(x, 1)[0] * 2.0, *ops("unbind")(x, 1)]  # noqa: E731
    for found, wanted in zip(planned(function, x).run([x]), function(Tensor.of(x)), strict=True):
        same_bits(found, wanted.array)


def test_sums_down_columns_are_as_exact_as_along_rows() -> None:
    x = np.full((1 << 17, 8), 1 / 3, np.float32)
    plan = planned(lambda x: [ops("sum")(x * 1.5 + x * 0.5, 0)], x)
    assert all(sweep.native for sweep in sweeps(plan))
    exact = 2.0 * float(x[0, 0]) * len(x)
    np.testing.assert_allclose(plan.run([x])[0], exact, rtol=1e-6)


@pytest.mark.parametrize("width", [2, 3, 4, 5, 7, 8, 10, 16, 31, 33, 63, 64, 65, 100])
@pytest.mark.parametrize("dtype", DTYPES)
def test_short_rows(width: int, dtype: Any) -> None:
    """Too short ones are left to NumPy."""
    x = points(70_000 // width, width, dtype=dtype)

    def arithmetic(x: Any) -> list[Any]:
        y = x * x * 0.5 + x
        return [y - ops("amax")(y, 1, True), ops("sum")(y, 0)]

    def called(x: Any) -> list[Any]:
        return [ops("softmax")(x * 2.0, -1)]

    for function, fewest in ((arithmetic, 4), (called, 64)):
        plan = planned(function, x)
        assert [sweep.native is not None for sweep in sweeps(plan)] == [width >= fewest]
        eager = [t.array for t in function(Tensor.of(x))]
        close = 2e-5 if dtype is np.float32 else 1e-12
        for found, wanted in zip(plan.run([x]), eager, strict=True):
            scale = np.abs(wanted).max()
            np.testing.assert_allclose(found / scale, wanted / scale, rtol=close, atol=close)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_bits_on_each_run(threads: int) -> None:
    rows = 100 if threads == 1 else 1000
    x = points(rows, 1500, dtype=np.float32)
    function = lambda x: [ops("sum")(ops("exp")(x * 0.1) * x), ops("sum")(x * x * x, 0)]  # noqa: E731
    plan, again = planned(function, x), planned(function, x)
    assert all(sweep.native for sweep in sweeps(plan))
    first = [part.tobytes() for part in plan.run([x])]
    for _ in range(5):
        assert [part.tobytes() for part in plan.run([x])] == first
        assert [part.tobytes() for part in again.run([x])] == first


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "times": lambda x, y: x * y * 0.25,
    "tanh": lambda x, y: ops("tanh")(x),
    "where": lambda x, y: ops("where")(x > y, x, y * 0.5),
    "row": lambda x, y: x - ops("mean")(x, -1, True),
    "largest": lambda x, y: x - ops("amax")(x, -1, True) * 0.5,
    "scaled": lambda x, y: x / (ops("sum")(x * x, -1, True) + 1.0),
    "exp": lambda x, y: ops("exp")(x * 0.01) + y,
    "clamp": lambda x, y: ops("clamp")(x, -1.0, 1.0),
    "back": lambda x, y: y - x,
    "least": lambda x, y: ops("where")(x < 0.1, 0.1, x),
}


@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=3, max_size=8),
    rows=st.integers(2, 90),
    width=st.integers(64, 2100),
    single=st.booleans(),
    broadcast=st.sampled_from(["full", "row", "column", "one"]),
    seed=st.integers(0, 1 << 20),
)
def test_any_steps_one_after_the_other(
    names: list[str], rows: int, width: int, single: bool, broadcast: str, seed: int
) -> None:
    """Random programs with their gradients: what compiles gives what NumPy's functions give."""
    dtype = np.float32 if single else np.float64
    rows += 66_000 // width  # large enough to be compiled
    shapes = {"full": (rows, width), "row": (rows, 1), "column": (width,), "one": (1, 1)}
    x, y = points(rows, width, dtype=dtype, seed=seed), points(*shapes[broadcast], dtype=dtype)

    def function(x: Any, y: Any) -> list[Any]:
        x.requires_grad_()
        y.requires_grad_()
        z = x
        for name in names:
            z = STEPS[name](z, y)
        total = ops("sum")(z * z)
        return [z, total, *grad([total], [x, y], allow_unused=True, materialize_grads=True)]

    plan = planned(function, x, y)
    for found, wanted in zip(*both(plan, x, y), strict=True):
        # what cancels out is rounding alone, of one element or of as many as are added up
        scale = np.abs(wanted).max(initial=1.0 if wanted.size == x.size else float(x.size))
        np.testing.assert_allclose(
            found / scale, wanted / scale, atol=3e-4 if single else 1e-11, rtol=0
        )


def _chain(count: int) -> Callable[[Any, Any], list[Any]]:
    def function(x: Any, y: Any) -> list[Any]:
        x.requires_grad_()
        t = x
        for _ in range(count):
            t = ops("tanh")(t * y + 0.25) if count % 3 == 0 else t * y + 0.001
        return [t, *grad([t], [x])]

    return function


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [LEAST, 99, 501, MOST])
def test_long_runs_of_steps_on_single_numbers_are_one_call_and_bit_equal(
    count: int, dtype: Any
) -> None:
    x, y = np.array(0.5, dtype), np.array(1.0005, dtype)
    function = _chain(count)
    plan = planned(function, x, y)
    runs = [u for u in plan.units if isinstance(u, Step) and isinstance(u.run, Straight)]
    assert runs
    assert all(unit.kind == CALL for unit in runs)
    assert len(plan.units) <= 2 + -(-len(plan.code.steps) // MOST)
    eager = [t.array for t in function(Tensor.of(x), Tensor.of(y))]
    for found, wanted in zip(plan.run([x, y]), eager, strict=True):
        assert found.shape == wanted.shape == ()
        same_bits(np.asarray(found), wanted)


def test_steps_that_are_not_compiled_cut_a_run() -> None:
    """Of numbers here and there integers; and choices, comparisons and views in between."""

    def function(x: Any, n: Any) -> list[Any]:
        seen = []
        for place in range(300):
            x = ops("where")(x > 0.5, x * 0.25, x + 0.1)
            x = ops("reshape")(ops("reshape")(x, (1, 1)), ())
            if place % 100 == 50:
                n = n + 1
                x = x + n * 0.125
                seen.append(x * 2.0)
        return [x, n, *seen]

    x, n = np.array(0.3), np.array(2)
    plan = planned(function, x, n)
    assert sum(isinstance(u, Step) and isinstance(u.run, Straight) for u in plan.units) >= 3
    eager = [t.array for t in function(Tensor.of(x), Tensor.of(n))]
    for found, wanted in zip(plan.run([x, n]), eager, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_region_too_small_or_of_other_dtypes_is_left_to_numpy() -> None:
    small = planned(lambda x: [x * 2.0 + 1.0], points(100, 100))
    whole = planned(lambda x: [x * 2 + x * x - x], np.arange(300_000))
    nested = planned(lambda x: [x * 2j + x * x], points(300, 400).astype(np.complex128))
    for plan in (small, whole, nested):
        assert sweeps(plan)
        assert not any(sweep.native for sweep in sweeps(plan))


def test_a_function_is_compiled_once_for_the_same_text_and_let_go_of_at_last() -> None:
    def text(number: int) -> str:
        return (
            "define void @region(ptr %a, ptr %b, i64 %c, i64 %d) {\n"
            f"  store i64 {number}, ptr %a, align 8\n  ret void\n}}"
        )

    first = llvm.compiled(text(1))
    assert llvm.compiled(text(1)) is first
    for number in range(2, llvm.MOST + 3):
        llvm.compiled(text(number))
    assert llvm.compiled(text(1)) is not first
    found = np.zeros(1, np.int64)
    for function in (first, llvm.compiled(text(1))):  # the first is still held, and still runs
        found[0] = 0
        function.call(found.ctypes.data, None, 0, 0)
        assert found[0] == 1


def test_loops_of_numpys_are_found_by_dtype_and_no_others() -> None:
    assert inner_loop(np.exp, "f->f") is not None
    assert inner_loop(np.arctan2, "dd->d") is not None
    for types in ("O->O", "F->F", "e->e", "q->q", "f->d"):
        assert inner_loop(np.exp, types) is None


def test_a_plan_says_what_of_it_is_compiled() -> None:
    plan = planned(lambda x: [x * x * 0.25 + 0.5 - x], points(300, 300))
    assert [(part.how, part.shape) for part in parts_of(plan)] == [("compiled", (90000,))]


LAZILY = """
import sys
from gradwire_engine.plan import plan_of
from gradwire_engine.spec import Spec, float64
for shape in ((), (3,), (100, 100)):
    plan_of(lambda x: [x * x + 1.0], [Spec(shape, float64, "cpu")])
assert "llvmlite" not in sys.modules
plan_of(lambda x: [x * x + 1.0], [Spec((1000, 1000), float64, "cpu")])
assert "llvmlite" in sys.modules
"""


def test_llvmlite_is_loaded_by_the_first_plan_that_is_worth_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LAZILY], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


WITHOUT = """
import sys
sys.modules["llvmlite"] = None
import numpy as np
from gradwire_engine.catalogue import resolve
from gradwire_engine.plan import plan_of
from gradwire_engine.plan.compiled.llvm import available
from gradwire_engine.spec import Spec, float64
assert not available()
plan = plan_of(lambda x: [resolve("tanh")(x * x + 0.5) * x], [Spec((300, 400), float64, "cpu")])
x = np.linspace(-1, 1, 120_000).reshape(300, 400)
np.testing.assert_array_equal(plan.run([x])[0], np.tanh(x * x + 0.5) * x)
print("ran")
"""


def test_the_engine_works_without_llvmlite() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "ran\n", done.stderr
