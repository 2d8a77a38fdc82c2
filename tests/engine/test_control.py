"""cond, scan and while_loop: as the same steps one by one, in every mode and to higher orders."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.engine.calls import leaf, numbers, op, plain

from gradwire_engine import functional
from gradwire_engine.backward import grad
from gradwire_engine.control import called, cond, scan, while_loop
from gradwire_engine.errors import GradwireError
from gradwire_engine.func import jvp
from gradwire_engine.mode import using
from gradwire_engine.random import Generator
from gradwire_engine.tape import Node
from gradwire_engine.tensor import Tensor
from gradwire_engine.vmap import vmap

STEPS = 11


class Program(NamedTuple):
    """A function with an id."""

    function: Callable[..., tuple[Any, ...]]
    id: str = "p_test"

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return self.function(*values)


def _cell(h: Any, x: Any, w: Any) -> tuple[Any, ...]:
    new = op("tanh", op("matmul", h, w) + x)
    return new, new * 2


CELL = Program(_cell)


def scanned(h: Any, xs: Any, w: Any, **fields: Any) -> tuple[Any, Any]:
    """A recurrent net by scan."""
    (last,), (ys,) = scan(CELL, [h], [xs], [w], **fields)
    return last, ys


def one_by_one(h: Any, xs: Any, w: Any, reverse: bool = False, **_: Any) -> tuple[Any, Any]:
    """The same as ops in a row."""
    count = xs.shape[0]
    rows = []
    for index in range(count - 1, -1, -1) if reverse else range(count):
        h, y = _cell(h, op("select", xs, 0, index), w)
        rows.append(y)
    return h, op("stack", rows[::-1] if reverse else rows, 0)


def arguments(requires_grad: bool = True) -> list[Tensor]:
    """A carry, rows, weights."""
    rng = np.random.default_rng(7)
    shapes = [(2, 3), (STEPS, 2, 3), (3, 3)]
    return [leaf(rng.normal(size=shape), requires_grad) for shape in shapes]


def loss(last: Any, ys: Any) -> Any:
    """Something that depends on all of it, and not linearly."""
    return op("sum", last * last) + op("sum", op("sin", ys))


def close(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    """The same numbers to rounding."""
    for a, b in zip(found, wanted, strict=True):
        scale = max(1.0, float(np.abs(b.numpy()).max()))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_scan_is_its_steps_to_third_order(reverse: bool, checkpoint: bool) -> None:
    args = arguments()
    fields = {"reverse": reverse, "checkpoint": checkpoint}
    found, wanted = scanned(*args, **fields), one_by_one(*args, **fields)
    close(found, wanted)
    values = [loss(*found), loss(*wanted)]
    for order in (1, 2, 3):
        slopes = [grad([v], args, create_graph=order < 3) for v in values]
        close(*slopes)
        values = [sum((op("sum", g * g) for g in gs), plain(0.0)) for gs in slopes]


def test_a_scan_is_one_node() -> None:
    last, ys = scanned(*arguments())
    assert last.grad_fn is ys.grad_fn
    assert isinstance(last.grad_fn, Node)
    assert last.grad_fn.name() == "ScanBackward"


def test_forward_mode_follows_it() -> None:
    args, rng = arguments(requires_grad=False), np.random.default_rng(8)
    tangents = tuple(plain(rng.normal(size=a.shape)) for a in args)
    found = jvp(scanned, tuple(args), tangents)
    wanted = jvp(one_by_one, tuple(args), tangents)
    for a, b in zip(found, wanted, strict=True):
        close(a, b)


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, 0)])
def test_a_scan_under_vmap(dims: tuple[int | None, ...]) -> None:
    rng = np.random.default_rng(9)
    args = [
        a if dim is None else leaf(rng.normal(size=(4, *a.shape)))
        for a, dim in zip(arguments(), dims, strict=True)
    ]
    found, wanted = (vmap(f, dims)(*args) for f in (scanned, one_by_one))
    close(found, wanted)
    slopes = [grad([loss(*f)], args, create_graph=True) for f in (found, wanted)]
    close(*slopes)
    values = [sum((op("sum", g * g) for g in gs), plain(0.0)) for gs in slopes]
    close(*[grad([v], args) for v in values])


def test_gradients_in_each_example_of_a_vmap() -> None:
    h, _, w = arguments(requires_grad=False)
    many = plain(np.random.default_rng(1).normal(size=(3, STEPS, 2, 3)))

    def slope(run: Callable[..., Any]) -> Callable[..., Any]:
        def function(xs: Any) -> Any:
            own = xs.detach().requires_grad_()
            return grad([loss(*run(h, own, w))], [own])[0]

        return function

    close([vmap(slope(scanned))(many)], [vmap(slope(one_by_one))(many)])


def test_a_scan_without_rows_and_one_without_steps() -> None:
    x = leaf(2.0)
    (last,), _ = scan(Program(lambda v: (v * v,)), [x], length=3)
    assert numbers(last) == 2.0**8
    assert numbers(grad([last], [x])[0]) == 8 * 2.0**7
    (last,), (ys,) = scan(Program(lambda v: (v * v, v)), [x], length=0)
    assert numbers(last) == 2.0
    assert ys.shape == (0,)
    assert numbers(grad([last], [x])[0]) == 1.0


def test_counters_are_carries_too() -> None:
    x, zero = leaf(3.0), plain(0, "int64")
    (total, count), _ = scan(Program(lambda s, n, x: (s + x * n, n + 1)), [plain(0.0), zero],
                             args=[x], length=10)  # fmt: skip
    assert (numbers(total), numbers(count)) == (135.0, 10)
    assert numbers(grad([total], [x])[0]) == 45.0


def test_what_a_body_writes_in_place_stays_in_its_step() -> None:
    x = leaf(np.ones(3))

    def body(h: Any) -> tuple[Any, ...]:
        own = op("clone", h)
        from gradwire_engine import inplace

        inplace.call("mul_", [own, 2], {})
        return (own,)

    (last,), _ = scan(Program(body), [x], length=10)
    assert numbers(last) == [1024.0] * 3
    assert x.version == 0
    assert numbers(grad([op("sum", last)], [x])[0]) == [1024.0] * 3


@pytest.mark.parametrize("checkpoint", [False, True])
def test_random_numbers_are_drawn_again(checkpoint: bool) -> None:
    """In every step others, on the way back the same, and the same from the same state."""

    def body(h: Any, x: Any) -> tuple[Any, ...]:
        kept = op("bernoulli", op("full_like", x, 0.5)) * x
        return h + kept, kept

    xs = leaf(np.ones((20, 8)))
    runs = []
    for _ in range(2):
        with using(generator=Generator(5)):
            _, (ys,) = scan(Program(body), [plain(np.zeros(8))], [xs], checkpoint=checkpoint)
            (g,) = grad([op("sum", ys)], [xs])
        assert numbers(g) == numbers(ys)
        runs.append(numbers(ys))
    assert runs[0] == runs[1]
    assert len({tuple(row) for row in runs[0]}) > 10


def _peak(length: int) -> int:
    """Bytes that a gradient through a checkpointed scan of so many steps holds at most."""
    h, w = plain(np.ones((8, 64))), leaf(np.full((64, 64), 1e-3))
    body = Program(lambda h, w: (op("tanh", op("matmul", h, w) + 0.1),))
    for traced in (False, True):
        if traced:
            tracemalloc.start()
        (last,), _ = scan(body, [h], args=[w], length=length, checkpoint=True)
        grad([op("sum", last)], [w])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_with_checkpoints_grows_with_the_square_root() -> None:
    short, long = _peak(400), _peak(6400)
    assert long < 5 * short, f"sixteen times the steps hold {long / short:.1f} times as much"


# while_loop


def newton(x: Any, bound: int | None = None) -> Any:
    """A square root, and in how many steps."""
    goes_on = Program(lambda v, n, x: (op("gt", op("abs", v * v - x), 1e-10),))
    step = Program(lambda v, n, x: ((v + x / v) * 0.5, n + 1))
    return while_loop(goes_on, step, [plain(1.0), plain(0, "int64")], [x], bound=bound)


def test_a_loop_ends_when_its_condition_does() -> None:
    root, steps = newton(plain(2.0))
    assert abs(numbers(root) - 2**0.5) < 1e-10
    assert numbers(steps) == 4


def test_a_loop_with_a_bound_has_derivatives() -> None:
    x = leaf(3.0)
    root, _ = newton(x, bound=50)
    assert root.grad_fn.name() == "WhileLoopBackward"
    (slope,) = grad([root], [x], create_graph=True)
    (curvature,) = grad([slope], [x])
    assert abs(numbers(slope) - 0.5 * 3**-0.5) < 1e-10
    assert abs(numbers(curvature) + 0.25 * 3**-1.5) < 1e-8


def test_a_loop_in_forward_mode_needs_no_bound() -> None:
    _, (slope,) = jvp(lambda x: (newton(x)[0],), (plain(3.0),), (plain(1.0),))
    assert abs(numbers(slope) - 0.5 * 3**-0.5) < 1e-10


def test_examples_end_when_they_do() -> None:
    x = leaf([2.0, 3.0, 1e6])
    root, steps = vmap(lambda x: tuple(newton(x, bound=50)))(x)
    alone = [newton(plain(v)) for v in (2.0, 3.0, 1e6)]
    assert numbers(root) == [numbers(r) for r, _ in alone]
    assert numbers(steps) == [numbers(n) for _, n in alone]
    (slope,) = grad([op("sum", root)], [x])
    np.testing.assert_allclose(slope.numpy(), 0.5 * x.numpy() ** -0.5, rtol=1e-9)


# cond


@pytest.mark.parametrize("pred", [True, False])
def test_one_of_two(pred: bool) -> None:
    x = leaf([1.0, 2.0])
    square, double = Program(lambda x: (x * x,)), Program(lambda x: (x * 2,))
    (y,) = cond(plain(pred, "bool"), square, double, [x])
    assert numbers(y) == ([1.0, 4.0] if pred else [2.0, 4.0])
    assert numbers(grad([op("sum", y)], [x])[0]) == ([2.0, 4.0] if pred else [2.0, 2.0])


def test_another_branch_for_each_example() -> None:
    x = leaf([1.0, 2.0, 3.0])
    square, double = Program(lambda x: (x * x,)), Program(lambda x: (x * 2,))
    y = vmap(lambda x: cond(op("gt", x, 1.5), square, double, [x])[0])(x)
    assert numbers(y) == [2.0, 4.0, 9.0]
    assert numbers(grad([op("sum", y)], [x])[0]) == [2.0, 4.0, 6.0]


def test_a_branch_within_a_scan() -> None:
    """The body looks at elements, so it has no plan; the scan has its derivative all the same."""
    up, down = Program(lambda h: (h * 3,)), Program(lambda h: (h * 0.5,))
    body = Program(lambda h: (cond(op("lt", h, 10.0), up, down, [h])[0],))
    x = leaf(1.0)
    (last,), _ = scan(body, [x], length=20, checkpoint=True)
    wanted, factor = 1.0, 1.0
    for _ in range(20):
        by = 3 if wanted < 10 else 0.5
        wanted, factor = wanted * by, factor * by
    assert numbers(last) == wanted
    assert numbers(grad([last], [x])[0]) == factor


# what is wrong

ONE, TWO = plain(1.0), plain([1.0, 2.0])
YES = plain(True, "bool")
SAME = Program(lambda *values: values[:1])
WRONG: dict[str, tuple[Callable[[], Any], str, str]] = {
    "a body that doubles its carry": (
        lambda: scan(Program(lambda h: (op("cat", [h, h]),)), [TWO], length=40),
        "shape_mismatch",
        "carry 0 goes into a step as float64[2] and comes out as float64[4]",
    ),
    "a loop that doubles its carry": (
        lambda: while_loop(Program(lambda h: (YES,)), Program(lambda h: (op("cat", [h, h]),)),
                           [TWO]),
        "shape_mismatch",
        "carry 0",
    ),
    "a carry of another dtype": (
        lambda: scan(Program(lambda h: (h * 0.5,)), [plain(1, "int64")], length=2),
        "dtype_mismatch",
        "carry 0",
    ),
    "a carry that is missing": (
        lambda: scan(SAME, [ONE, TWO], length=2), "invalid_argument", "2 carries",
    ),
    "rows of different numbers": (
        lambda: scan(SAME, [ONE], [plain(np.ones(3)), plain(np.ones(4))]),
        "shape_mismatch",
        "3, 4 rows",
    ),
    "rows and a length": (
        lambda: scan(SAME, [ONE], [plain(np.ones(3))], length=4), "shape_mismatch", "length is 4",
    ),
    "neither rows nor a length": (lambda: scan(SAME, [ONE]), "invalid_argument", "length"),
    "rows without an axis": (lambda: scan(SAME, [ONE], [ONE]), "shape_mismatch", "no axis"),
    "a body that doesn't fit": (
        lambda: scan(Program(lambda h: (op("matmul", h, h),)), [plain(np.ones((2, 3)))], length=9),
        "shape_mismatch",
        "matmul",
    ),
    "a condition that is no bool": (
        lambda: while_loop(SAME, SAME, [ONE]), "dtype_mismatch", "float64[]",
    ),
    "a condition of several": (
        lambda: while_loop(Program(lambda h: (op("gt", h, 0),)), SAME, [TWO]),
        "not_scalar",
        "bool[2]",
    ),
    "a loop past its bound": (
        lambda: while_loop(Program(lambda h: (op("gt", h, 0),)), SAME, [ONE], bound=100),
        "limit_exceeded",
        "100 steps",
    ),
    "branches of different shapes": (
        lambda: cond(YES, SAME, Program(lambda h: (op("sum", h),)), [TWO]),
        "shape_mismatch",
        "true_fn gives float64[2], false_fn gives float64[]",
    ),
    "a pred that is no bool": (lambda: cond(ONE, SAME, SAME, [ONE]), "dtype_mismatch", "pred"),
    "several preds": (
        lambda: cond(op("gt", TWO, 0), SAME, SAME, [ONE]), "not_scalar", "bool[2]",
    ),
    "a result that is no tensor": (
        lambda: scan(Program(lambda h: (h, None)), [ONE], length=2), "invalid_argument", "NoneType",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    run, code, said = WRONG[name]
    with pytest.raises(GradwireError) as caught:
        run()
    assert caught.value.code == code
    assert said in str(caught.value)


def test_a_gradient_of_a_loop_without_bound_is_refused() -> None:
    x = leaf(2.0)
    root, _ = newton(x)
    with pytest.raises(GradwireError, match="give it a bound"):
        grad([root], [x])


class Late:
    """A meter by which time is up after so many steps."""

    def __init__(self, left: int) -> None:
        self.left = left

    def tick(self) -> None:
        """One step."""
        self.left -= 1
        if not self.left:
            raise TimeoutError

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Bytes are free."""


def test_a_loop_without_end_ends_with_its_time() -> None:
    with using(meter=Late(1000)), pytest.raises(TimeoutError):
        while_loop(Program(lambda h: (op("gt", h, 0),)), SAME, [ONE])
    with using(meter=Late(1000)), pytest.raises(TimeoutError):
        scan(SAME, [ONE], length=10**9)


class Tired:
    """A meter that gives less than is asked for, and from then on nothing; it counts work."""

    def __init__(self, left: int) -> None:
        self.left, self.ops = left, 0
        self.frames: list[Any] = []

    def tick(self) -> None:
        """Time is free."""

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Bytes are not."""
        self.left -= nbytes
        if self.left < 0:
            raise MemoryError
        self.ops += ops


def counting(start: Any, bound: int | None = None) -> Any:
    """A number, counted up to twenty."""
    goes_on = Program(lambda n: (op("lt", n, 20),))
    return while_loop(goes_on, Program(lambda n: (n + 1,)), [start], bound=bound)


def test_a_loop_that_is_refused_holds_nothing_any_more() -> None:
    """Within its steps, with a plan for them: the frame of what it kept is gone."""
    meters = [Tired(10**6)]
    with using(meter=meters[0]):
        counting(leaf(0.0), bound=50)
    took = 10**6 - meters[0].left
    for left in range(0, took, 8):
        meters.append(Tired(left))
        with using(meter=meters[-1]), pytest.raises(MemoryError):
            counting(leaf(0.0), bound=50)
    assert [meter.frames for meter in meters] == [[]] * len(meters)


def test_a_loop_does_as_much_by_a_plan_as_op_by_op() -> None:
    """It has a plan from its eighth turn on, and the next time from the first."""
    done = []
    for _ in range(3):
        meter = Tired(10**6)
        with using(meter=meter):
            counting(plain(0, "int64"))
        done.append(meter.ops)
    assert done == [40, 40, 40]


def test_bytes_are_asked_for_before_the_first_step() -> None:
    class Full(Late):
        def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
            if nbytes > 10**6:
                raise MemoryError

    with using(meter=Full(10**9)), pytest.raises(MemoryError):
        scan(Program(lambda h: (h, h)), [ONE], length=10**12)


# a body that runs once


def test_a_call_is_one_node_with_every_derivative() -> None:
    """Op by op at first, then by its plan: the same numbers."""
    args = [leaf(np.random.default_rng(3).normal(size=(3, 3))) for _ in range(2)]

    def function(x: Any, w: Any) -> tuple[Any, ...]:
        h = op("tanh", op("matmul", x, w))
        return h * x, op("sum", h)

    for _ in range(12):
        h, total = called(Program(function), args)
        assert h.grad_fn.name() == "CallBackward"
        results = [(h, total), function(*args)]
        values = [op("sum", a * a) * b for a, b in results]
        for order in (1, 2, 3):
            slopes = [grad([v], args, create_graph=order < 3) for v in values]
            close(*slopes)
            values = [sum((op("sum", g * g) for g in gs), plain(0.0)) for gs in slopes]


def test_a_call_that_can_be_no_node_is_one_as_always() -> None:
    from gradwire_engine import inplace

    x = plain([1.0, 2.0])
    (y,) = called(Program(lambda x: (inplace.call("mul_", [x, 3], {}),)), [x])
    assert numbers(x) == numbers(y) == [3.0, 6.0]
    many = vmap(lambda x: called(Program(lambda x: (x * 2,)), [x])[0])(x)
    assert numbers(many) == [6.0, 12.0]
    with pytest.raises(GradwireError, match="matmul"):
        called(Program(lambda x: (op("matmul", x, op("reshape", x, (1, 2))),)), [x])


def test_a_call_whose_results_have_no_gradient_leaves_no_node() -> None:
    """No results, and integers, of an argument that requires grad."""
    x = leaf([1.0, 2.0])
    for _ in range(10):
        assert called(Program(lambda x: ()), [x]) == ()
        (found,) = called(Program(lambda x: (op("gt", x, 1.5),)), [x])
        assert found.grad_fn is None
        assert numbers(found) == [False, True]


def test_a_derivative_by_no_argument_is_refused() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(GradwireError, match="inputs is empty"):
        functional.vjp(lambda: op("sum", x * 2), ())
