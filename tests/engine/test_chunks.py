"""Steps of a loop in chunks: as the same steps one by one, whatever the body is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.engine.calls import leaf, op

from gradwire_engine.backward import grad
from gradwire_engine.control import chunked, scan
from gradwire_engine.control.known import Known
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import using
from gradwire_engine.plan import lowered, simplified, trace
from gradwire_engine.plan.chunk import longest
from gradwire_engine.plan.code import Code
from gradwire_engine.plan.compiled.calls import _CODE
from gradwire_engine.plan.compiled.runs import MOST
from gradwire_engine.plan.parted import parted
from gradwire_engine.spec import Spec, float64
from gradwire_engine.tensor import Tensor

STEPS = 150
"""More than are worth a chunk, and no multiple of one's length."""


class Program(NamedTuple):
    """A function with an id."""

    function: Callable[..., tuple[Any, ...]]
    id: str = "p_test"

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return self.function(*values)


class Case(NamedTuple):
    """A body, and the shapes of its carries, rows and the rest."""

    body: Callable[..., tuple[Any, ...]]
    carries: Sequence[tuple[int, ...]]
    rows: Sequence[tuple[int, ...]]
    rest: Sequence[tuple[int, ...]]


def _lstm(h: Any, c: Any, x: Any, wx: Any, wh: Any, b: Any) -> tuple[Any, ...]:
    gates = op("matmul", x, wx) + op("matmul", h, wh) + b
    i, f, g, o = op("chunk", gates, 4, 1)
    c = op("sigmoid", f) * c + op("sigmoid", i) * op("tanh", g)
    h = op("sigmoid", o) * op("tanh", c)
    return h, c, h


def _swapped(a: Any, b: Any, x: Any, w: Any) -> tuple[Any, ...]:
    """Carries that change places, one result twice, a row and a weight as they came."""
    return b, op("cos", a) * w + x, x, w, op("cos", a) * w


def _replaced(a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    """A carry that is a row, one that is a part of the other, a view that is collected."""
    return x, op("sin", op("transpose", a, 0, 1)) + b, op("transpose", b, 0, 1)


def _totals(total: Any, h: Any, outer: Any, x: Any, w: Any) -> tuple[Any, ...]:
    """Sums: of rows, of products of what the core makes, of the same in each step."""
    h = op("tanh", op("matmul", h, w) + x)
    outer = outer + op("matmul", op("transpose", h, 0, 1), x) + w
    return total + op("sum", x * x) + op("sum", w), h, outer


def _vectors(h: Any, x: Any, w: Any, b: Any) -> tuple[Any, ...]:
    """Products of vectors, and of stacks of matrices."""
    h = op("tanh", op("matmul", w, h) + op("matmul", x, w) + b)
    stack = op("reshape", x, (1, 1, 3)) + op("reshape", w, (3, 1, 3))
    return h, op("matmul", stack, w), op("dot", x, h)


def _kernels(h: Any, x: Any, w: Any) -> tuple[Any, ...]:
    """Kernels that are no steps of the array library's: sorted, solved, summed along."""
    h = op("linalg.solve", w, h) + op("cumsum", x, 0)
    return op("where", h > 1, op("clamp", h, -1.0, 1.0), h / 2), op("sort", x, 0)[0]


def _normed(h: Any, x: Any, w: Any) -> tuple[Any, ...]:
    """Folds, maxima and broadcasts."""
    h = op("layer_norm", op("matmul", h, w), (3,)) + op("softmax", x, 1)
    return op("maximum", h, x), op("amax", h, 1), op("mean", x)


def _numbers(a: Any, b: Any, x: Any, w: Any) -> tuple[Any, ...]:
    """Values without axes."""
    return a * op("cos", b) + x, op("sin", a) * w, a * b


def _mirrored(h: Any, x: Any, w: Any) -> tuple[Any, ...]:
    """The same steps with their sides exchanged, of one step and of many."""
    h = op("tanh", op("matmul", h, w) - 0.5)
    y = op("tanh", 0.5 - op("matmul", h, w))
    return y + op("tanh", 2.0 / (x * x + 1)), op("tanh", (x * x + 1) / 2.0)


CASES = {
    "lstm": Case(_lstm, [(2, 4)] * 2, [(2, 3)], [(3, 16), (4, 16), (16,)]),
    "swapped": Case(_swapped, [(3,)] * 2, [(3,)], [(3,)]),
    "replaced": Case(_replaced, [(2, 3), (3, 2)], [(2, 3)], []),
    "totals": Case(_totals, [(), (3, 3), (3, 3)], [(3, 3)], [(3, 3)]),
    "vectors": Case(_vectors, [(3,)], [(3,)], [(3, 3), (3,)]),
    "kernels": Case(_kernels, [(3, 2)], [(3, 2)], [(3, 3)]),
    "normed": Case(_normed, [(2, 3)], [(2, 3)], [(3, 3)]),
    "mirrored": Case(_mirrored, [(2, 4)], [(2, 4)], [(4, 4)]),
    "numbers": Case(_numbers, [(), ()], [()], [()]),
}


def arguments(case: Case, requires_grad: bool = True) -> list[list[Tensor]]:
    """Carries, rows, the rest."""
    rng = np.random.default_rng(3)
    rows = [(STEPS, *shape) for shape in case.rows]
    return [
        [leaf(0.5 * rng.normal(size=shape) + 0.1, requires_grad) for shape in shapes]
        for shapes in (case.carries, rows, case.rest)
    ]


def one_by_one(case: Case, given: Sequence[Sequence[Any]], reverse: bool) -> list[Any]:
    """The last carries and what is collected, by ops in a row."""
    (carries, rows, rest), collected = given, []
    for index in range(STEPS - 1, -1, -1) if reverse else range(STEPS):
        found = case.body(*carries, *[op("select", x, 0, index) for x in rows], *rest)
        carries = found[: len(carries)]
        collected.append(found[len(carries) :])
    columns = zip(*(collected[::-1] if reverse else collected), strict=True)
    return [*carries, *[op("stack", list(column), 0) for column in columns]]


def scanned(case: Case, given: Sequence[Sequence[Any]], reverse: bool) -> list[Any]:
    """The same by scan."""
    last, collected = scan(Program(case.body), *given, reverse=reverse)
    return [*last, *collected]


def with_gradients(values: Sequence[Any], given: Sequence[Sequence[Any]]) -> list[Any]:
    """The values, and the gradients of a loss of all of them by all leaves."""
    leaves = [x for several in given for x in several]
    losses = [op("sum", op("sin", y)) for y in values]
    return [*values, *grad([sum(losses[1:], losses[0])], leaves, materialize_grads=True)]


def close(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    """The same numbers to rounding."""
    for place, (a, b) in enumerate(zip(found, wanted, strict=True)):
        scale = max(1.0, float(np.abs(b.numpy()).max()))
        np.testing.assert_allclose(
            a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12 * scale, err_msg=str(place)
        )


@pytest.fixture(params=[False, True])
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether chunks, of which none waits, have their elementwise calls compiled."""
    monkeypatch.setattr(chunked, "COMPILED", 0 if request.param else 2**62)
    chunked._idle.clear()
    return bool(request.param)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_steps_in_chunks_are_steps(name: str, reverse: bool, compiled: bool) -> None:
    case = CASES[name]
    given = arguments(case)
    wanted = with_gradients(one_by_one(case, given, reverse), given)
    close(with_gradients(scanned(case, given, reverse), given), wanted)
    again = with_gradients(scanned(case, given, reverse), given)
    assert ways(case) >= {(False, reverse), (True, not reverse)}
    assert {chunk._code is not None for chunk in chunked._idle.values()} == {compiled}
    close(again, wanted)
    for a, b in zip(with_gradients(scanned(case, given, reverse), given), again, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_chunk_is_compiled_when_its_body_has_run_often(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["lstm"]
    given = arguments(case, requires_grad=False)
    chunked._idle.clear()
    monkeypatch.setattr(chunked, "COMPILED", 2**62)
    wanted = scanned(case, given, False)
    (chunk,) = chunked._idle.values()
    assert chunk._code is None
    plain, nbytes = len(chunk._calls), chunk.nbytes
    monkeypatch.setattr(chunked, "COMPILED", 2 * STEPS)
    close(scanned(case, given, False), wanted)
    assert list(chunked._idle.values()) == [chunk]
    assert len(chunk._calls) < plain
    assert chunk.nbytes > nbytes


def _long(h: Any, x: Any) -> tuple[Any, ...]:
    for _ in range(40):
        h = op("sin", h) * 0.9 + x * h
    return (h,)


def test_steps_without_products_share_their_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked, "COMPILED", 0)
    chunked._idle.clear()
    case = Case(_long, [(8,)], [(8,)], [])
    given = arguments(case, requires_grad=False)
    close(scanned(case, given, False), one_by_one(case, given, False))
    (chunk,) = chunked._idle.values()
    each = len(chunk._made.calls) // chunk.length
    assert each > MOST
    calls, left = divmod(len(chunk._calls), chunk.length)
    assert (calls <= 8, left) == (True, 0)
    assert chunk._code == _CODE * calls


@pytest.mark.parametrize("name", CASES)
def test_without_gradients_nothing_is_kept_but_sums(name: str) -> None:
    case = CASES[name]
    given = arguments(case, requires_grad=False)
    close(scanned(case, given, False), one_by_one(case, given, False))


def ways(case: Case) -> set[tuple[bool, bool]]:
    """For which chunks wait: whether of the way back, and whether from the last row on."""
    found = set()
    for known, (_, _, reverse, _), _ in chunked._idle:
        body = getattr(known.body, "loop", known).body
        if body == Program(case.body):
            found.add((body is not known.body, reverse))
    return found


def test_what_waits_for_the_step_before_is_all_that_is_done_step_by_step() -> None:
    specs = [Spec(s, float64, "cpu") for s in ((2, 4), (2, 4), (2, 3), (3, 16), (4, 16), (16,))]
    graph = trace(lambda *values: _lstm(*values), specs)
    parts = parted(lowered(simplified(graph)), 2, 1)
    assert [step.name for step in parts.before] == ["matmul"]
    assert [step.name for step in parts.core].count("matmul") == 1
    assert not parts.once
    assert not parts.sums


def test_a_step_that_fails_says_so_as_ever() -> None:
    def body(h: Any, x: Any) -> tuple[Any, ...]:
        return (op("linalg.solve", x, h),)

    rows = np.tile(np.eye(2), (STEPS, 1, 1))
    rows[100] = 0
    with pytest.raises(GradwireError, match="singular"):
        scan(Program(body), [leaf(np.ones(2), False)], [leaf(rows, False)])


class Clocked:
    """A meter by which time is up after so many looks; it writes down what it is asked for."""

    def __init__(self, looks: int) -> None:
        self.left, self.asked = looks, list[int]()

    def tick(self) -> None:
        """One look at the clock."""
        self.left -= 1
        if not self.left:
            raise TimeoutError

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Bytes that are to be had."""
        self.asked.append(nbytes)


def test_time_ends_between_chunks_and_their_bytes_are_asked_for() -> None:
    case = CASES["lstm"]
    given = arguments(case, requires_grad=False)
    wanted = scanned(case, given, False)
    meter = Clocked(6)
    with using(meter=meter), pytest.raises(TimeoutError):
        scanned(case, given, False)
    steps = Clocked(10**6)
    with using(meter=steps):
        close(scanned(case, given, False), wanted)
    waiting = [c for (known, _, _), c in chunked._idle.items() if known.body == Program(case.body)]
    assert 0 < 10**6 - steps.left < STEPS / 2
    again = Clocked(10**6)
    with using(meter=again):
        scanned(case, given, False)
    assert any(chunk.nbytes in again.asked for chunk in waiting)
    pieces = [n for chunk in waiting for n in map(len, chunk._made.memory._pieces)]
    assert not [n for n in pieces if n not in steps.asked]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", CASES)
def test_chunks_that_wait_hold_nothing_of_anybodys(name: str) -> None:
    case = CASES[name]
    given = arguments(case)
    with_gradients(scanned(case, given, False), given)
    assert ways(case)
    for chunk in chunked._idle.values():
        assert not any(piece.any() for piece in chunk._made.memory._pieces)


def _weighted(h: Any, x: Any, w: Any) -> tuple[Any, ...]:
    return (op("tanh", op("matmul", h, w) + x),)


def weighted(size: int) -> Code:
    """The code of a step with a matrix of so many rows and columns."""
    specs = [Spec(s, float64, "cpu") for s in ((1, size), (1, size), (size, size))]
    return lowered(simplified(trace(lambda *values: _weighted(*values), specs)))


def test_what_is_too_large_for_a_chunk_is_not_allocated_to_find_out() -> None:
    meter = Clocked(10**6)
    with using(meter=meter):
        assert not longest(weighted(2**12), 1, 1, False, False)
    assert sum(meter.asked) < 2**20
    with using(meter=meter):
        assert longest(weighted(2**8), 1, 1, False, False) > 1
    assert sum(meter.asked) > 2**19


class Small(Clocked):
    """A meter that has room for little."""

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """As much as fits a piece of a page."""
        super().charge(nbytes)
        if sum(self.asked) > 2**16:
            raise error("memory_limit", "no more", "ask for less")


def test_where_no_memory_is_left_for_chunks_steps_run_one_by_one() -> None:
    case = CASES["numbers"]
    given = arguments(case, requires_grad=False)
    wanted = scanned(case, given, False)
    found = known_of(case)
    way = (2, 1, False, False)
    chunked._idle.clear()
    meter = Small(10**6)
    meter.asked.append(2**16)
    with using(meter=meter):
        assert chunked.borrowed(found, way, STEPS) is None
    assert len(meter.asked) > 1
    assert found.longest[way] > 0
    close(scanned(case, given, False), wanted)


def known_of(case: Case) -> Known:
    """What is known of a body that chunks wait for."""
    return next(k for k, _, _ in chunked._idle if k.body == Program(case.body))


def test_chunks_that_wait_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked, "_KEPT", 0)
    case = CASES["numbers"]
    scanned(case, arguments(case, False), False)
    assert not chunked._idle
