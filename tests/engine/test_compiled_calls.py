"""Runs of elementwise calls, compiled as one, leave in memory what the calls leave: bit by bit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.test_compiled_regions import SPECIAL, same_bits

from gradwire_engine.errors import error
from gradwire_engine.mode import using
from gradwire_engine.plan.buffers import Memory
from gradwire_engine.plan.compiled import calls as compiling
from gradwire_engine.plan.compiled import llvm
from gradwire_engine.plan.compiled.calls import FUNCTIONS, Joined, compiled_calls
from gradwire_engine.plan.compiled.elementwise import elementwise
from gradwire_engine.plan.compiled.runs import MOST
from gradwire_engine.plan.fixed import Call
from gradwire_engine.plan.functions import copied, select

ROOM = 1 << 24
ONE, TWO = (np.negative, np.exp, np.tanh, np.sqrt, np.absolute, np.reciprocal), (
    np.add, np.subtract, np.multiply, np.divide, np.power, np.arctan2,
)  # fmt: skip
TESTS = (np.less, np.greater_equal, np.equal, np.not_equal)


def one(calls: Sequence[Call]) -> Joined:
    """The calls, compiled as one each run, and at least one of them is."""
    found = compiled_calls(calls, (), Memory(ROOM))
    assert len(found.calls) < len(calls)
    return found


def run(calls: Sequence[Call]) -> None:
    with np.errstate(all="ignore"):
        for call, given in calls:
            call(*given)


def agree(found: Joined, calls: Sequence[Call], *memory: np.ndarray) -> None:
    """Both leave the same in memory, the first time and the second."""
    before = [array.copy() for array in memory]
    for _ in range(2):
        run(calls)
    wanted = [array.copy() for array in memory]
    for array, old in zip(memory, before, strict=True):
        array[...] = old
    for _ in range(2):
        run(found.calls)
    for array, right in zip(memory, wanted, strict=True):
        same_bits(array, right)


class Arena:
    """Memory, and arrays in it that share it with each other in all ways that chunks have, and in
    others: rows with gaps, parts of rows, the same row for all, single numbers, shifted ones.
    """

    ROWS, COLUMNS = 12, 32

    def __init__(self, dtype: Any, seed: int) -> None:
        rng = np.random.default_rng(seed)
        size = 4 * self.ROWS * self.COLUMNS
        self.numbers = rng.normal(size=size).astype(dtype)
        places = rng.integers(0, size, len(SPECIAL))
        self.numbers[places] = SPECIAL
        self.masks = rng.random(2 * self.ROWS * self.COLUMNS) < 0.5

    def whole(self, draw: Any) -> Any:
        """Somewhere to write: 12 rows of 32."""
        rows, columns = self.ROWS, self.COLUMNS
        sheet = self.numbers[: 2 * rows * columns].reshape(rows, 2 * columns)
        kind = draw(st.sampled_from(["plain", "gaps", "shifted", "stacked"]))
        if kind == "gaps":
            start = draw(st.sampled_from([0, columns, columns // 2]))
            return sheet[:, start : start + columns]
        start = draw(st.integers(0, 3)) * rows * columns
        if kind == "shifted":
            start = min(start + draw(st.integers(1, 40)), 3 * rows * columns)
        found = self.numbers[start : start + rows * columns]
        return found.reshape((3, 4, columns) if kind == "stacked" else (rows, columns))

    def mask(self, draw: Any) -> Any:
        """Truths, to write or read."""
        start = draw(st.integers(0, 1)) * self.ROWS * self.COLUMNS
        found = self.masks[start : start + self.ROWS * self.COLUMNS]
        return found.reshape(self.ROWS, self.COLUMNS)

    def operand(self, draw: Any, into: Any) -> Any:
        """What is read, in the shape of what is written or broadcast to it."""
        kind = draw(st.sampled_from(["whole", "whole", "row", "single", "column", "number"]))
        if kind == "whole":
            return self.whole(draw).reshape(into.shape) if draw(st.booleans()) else into
        start = draw(st.integers(0, self.COLUMNS))
        if kind == "row":
            return self.numbers[start : start + into.shape[-1]]
        if kind == "single":
            return self.numbers[start : start + 1].reshape(())
        if kind == "column":
            return self.numbers[start : start + into.shape[-2], None]
        return draw(st.sampled_from([1, 2.5, -0.0, 0, 1e-3, float("inf")]))

    def call(self, draw: Any) -> Call:
        """Any call on it, sometimes one that ends a run."""
        if draw(st.integers(0, 5)) == 0:
            return np.add.reduce, (self.whole(draw), None, None, self.numbers[:1].reshape(()))
        into = self.whole(draw)
        kind = draw(st.sampled_from(["one", "two", "two", "two", "most", "copy", "test", "select"]))
        x = self.whole(draw).reshape(into.shape)
        if kind == "one":
            return draw(st.sampled_from(ONE)), (x, into)
        if kind == "copy":
            return draw(st.sampled_from([(copied, (x, into)), (np.copyto, (into, x))]))
        y = self.operand(draw, into)
        both = (x, y) if draw(st.booleans()) else (y, x)
        if kind == "two":
            return draw(st.sampled_from(TWO)), (*both, into)
        if kind == "most":
            return partial(draw(st.sampled_from([np.maximum, np.minimum])), out=into), both
        mask = self.mask(draw).reshape(into.shape)
        if kind == "test":
            return draw(st.sampled_from(TESTS)), (*both, mask)
        return select, (mask, *both, into)


@given(st.data(), st.sampled_from([np.float32, np.float64]), st.integers(0, 2**32 - 1))
def test_any_calls_on_shared_memory(data: Any, dtype: Any, seed: int) -> None:
    arena = Arena(dtype, seed)
    calls = [arena.call(data.draw) for _ in range(data.draw(st.integers(2, 12)))]
    ends = data.draw(st.sets(st.integers(0, 12), max_size=3))
    found = compiled_calls(calls, ends, Memory(ROOM))
    agree(found, calls, arena.numbers, arena.masks)


def arrays(count: int, shape: tuple[int, ...] = (8, 64), dtype: Any = np.float32) -> list[Any]:
    rng = np.random.default_rng(count)
    return [rng.normal(size=shape).astype(dtype) for _ in range(count)]


def test_a_run_is_one_call_and_other_calls_end_it() -> None:
    (a, b, c), row = arrays(3, (64, 64)), np.empty(64, np.float32)
    run_of_three: list[Call] = [(np.add, (a, b, c)), (np.exp, (c, c)), (np.multiply, (c, 2.0, c))]
    product: Call = np.matmul, (b, c, a)
    calls = [*run_of_three, product, *run_of_three, (np.add.reduce, (c, 0, None, row))]
    found = one(calls)
    assert len(found.calls) == 4
    assert found.calls[1] is product
    a *= 0.01
    b *= 0.01
    agree(found, calls, a, b, c, row)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs that are compiled from now on."""
    made: list[Any] = []

    def native(given: Any) -> Any:
        made.append(given)
        return real(given)

    real = compiling.Native
    monkeypatch.setattr(compiling, "Native", native)
    return made


def test_the_same_run_on_other_arrays_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    a, b, c, d = arrays(4)
    calls: list[Call] = [
        call
        for x, y in ((a, b), (c, d))
        for call in ((np.add, (x, y, x)), (np.tanh, (x, x)), (np.linalg.matrix_norm, (x,)))
    ]
    agree(one(calls), calls, a, b, c, d)
    assert len(made) == 1


@pytest.mark.parametrize("read_again", [0, 1, 2])
def test_a_place_that_is_written_over_is_read_before(read_again: int) -> None:
    """By calls that come before it is written, whether or not what is written waits for them."""
    a, b, c, d = arrays(4)
    calls: list[Call] = [
        (np.exp, (a, b)),
        (np.multiply, (b, b, a)),
        (np.add, (a, 1, c)),
        (np.tanh, (c, c)),
        (np.add, ((a, b, c)[read_again], c, d)),
        (np.subtract, (d, 1, a)),
    ]
    agree(one(calls), calls, a, b, c, d)


def test_a_place_is_read_late_that_is_written_early() -> None:
    """The reader waits for NumPy's loops, the writer for nothing: these are not one run."""
    a, b, c, d = arrays(4)
    calls: list[Call] = [
        (np.exp, (b, c)), (np.tanh, (c, c)), (np.add, (a, c, d)), (np.negative, (b, a)),
    ]  # fmt: skip
    found = one(calls)
    assert len(found.calls) == 2
    agree(found, calls, a, b, c, d)


@pytest.mark.parametrize("shift", [1, 16, 64])
def test_places_that_overlap_are_no_run(shift: int) -> None:
    memory = np.arange(1024, dtype=np.float32)
    a, b = memory[:512], memory[shift : 512 + shift]
    calls: list[Call] = [(np.add, (a, 1, a)), (np.add, (b, 1, b)), (np.multiply, (b, 2, a))]
    agree(compiled_calls(calls, (), Memory(ROOM)), calls, memory)


def test_parts_of_rows_are_written_and_read() -> None:
    (sheet, a) = arrays(1, (8, 256))[0], arrays(2)[0]
    i, f, g, o = (sheet[:, start : start + 64] for start in range(0, 256, 64))
    calls: list[Call] = [
        (np.exp, (i, f)), (np.tanh, (g, g)), (np.multiply, (f, g, o)), (np.add, (o, a, i)),
    ]  # fmt: skip
    found = one(calls)
    assert len(found.calls) == 1
    agree(found, calls, sheet, a)


def test_rows_that_vectors_would_be_in_two_of_are_left() -> None:
    (sheet,) = arrays(1, (8, 21))
    part = sheet[:, 3:9]
    calls: list[Call] = [(np.add, (part, 1, part)), (np.multiply, (part, 2, part))]
    found = compiled_calls(calls, (), Memory(ROOM))
    assert len(found.calls) == 2
    agree(found, calls, sheet)


def test_one_element_and_none() -> None:
    a, b = np.ones((1, 1), np.float32), np.full((), 3.0, np.float32)
    calls: list[Call] = [(np.add, (a, b, a)), (np.exp, (a, a))]
    agree(one(calls), calls, a, b)
    empty = np.empty((0, 3), np.float32)
    nothing: list[Call] = [(np.add, (empty, empty, empty))] * 2
    assert compiled_calls(nothing, (), Memory(ROOM)).calls == nothing


@pytest.mark.parametrize(
    "call",
    [
        lambda a, _: (np.add, (a, np.ones((8, 64)), a)),  # in double, which is cast
        lambda a, _: (np.add, (a, np.float64(1.0), a)),
        lambda a, _: (np.add, (a, 1j, a)),
        lambda a, mask: (np.add, (mask, mask, a)),
        lambda a, mask: (np.less, (a, 1, a)),  # truths as numbers
        lambda a, _: (np.matmul, (a, np.eye(64, dtype=np.float32), a)),
        lambda a, _: (np.add.reduce, (a, 0, None, np.empty(64, np.float32))),
        lambda a, _: (np.copyto, (a, 1.0)),
        lambda a, mask: (np.copyto, (a, 1.0, "same_kind", mask)),
        lambda a, _: (np.modf, (a, a, np.empty_like(a))),
        lambda a, _: (partial(np.add, out=a, where=False), (a, a)),
    ],
)
def test_what_is_not_compiled_stays_as_it_is(call: Callable[..., Call]) -> None:
    a, mask = arrays(1)[0], arrays(1)[0] > 0
    assert elementwise(call(a, mask)) is None


@pytest.mark.parametrize("run_of", [np.subtract, np.divide, np.power, np.maximum])
def test_runs_that_are_alike_but_for_their_sides_are_two(run_of: Any) -> None:
    """A number on the left, and one on the right; other sizes, numbers and kinds of them."""
    a, b, *made = arrays(9)
    row = np.empty(64, np.float32)
    fold: Call = np.add.reduce, (a, 0, None, row)

    def call(x: Any, y: Any, into: Any) -> Call:
        if run_of is np.maximum:
            return partial(run_of, out=into), (x, y)
        return run_of, (x, y, into)

    pairs = [(a, 2.0), (2.0, b), (a, 3.0), (a, 2), (a, b), (b, a), (a[:4], 2.0)]
    calls: list[Call] = []
    for (x, y), into in zip(pairs, made, strict=True):
        into = into[:4] if x is pairs[-1][0] else into
        calls += [call(x, y, into), (np.tanh, (into, into)), fold]
    agree(one(calls), calls, a, b, *made, row)


def test_runs_end_where_they_are_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is done in each step is one function, however long the steps are."""
    made = counted(monkeypatch)
    a, b = arrays(2)
    step: list[Call] = [(np.add, (a, b, a)), (np.tanh, (a, a)), (np.multiply, (a, 0.5, a))] * 7
    calls, ends = step * 10, set(range(0, 210, 21))
    found = compiled_calls(calls, ends, Memory(ROOM))
    assert (len(found.calls), len(made)) == (10, 1)
    agree(found, calls, a, b)


def test_functions_of_a_list_are_few() -> None:
    a, b = arrays(2)
    row = np.empty(64, np.float32)
    fold: Call = np.add.reduce, (a, 0, None, row)
    calls: list[Call] = []
    for number in range(FUNCTIONS + 5):
        calls += [(np.add, (a, float(number), b)), (np.multiply, (b, 0.5, b)), fold]
    found = one(calls)
    assert len(found.calls) == 2 * FUNCTIONS + 3 * 5
    assert found.nbytes == FUNCTIONS * compiling._CODE
    agree(found, calls, a, b, row)


def test_a_call_keeps_what_it_uses(young: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "MOST", 1)  # functions that the compiler itself keeps
    a, b = arrays(2)
    sheet = np.zeros((8, 128), np.float32)
    ready, given = compiled_calls(
        [(np.add, (a, b, sheet[:, :64])), (np.exp, (sheet[:, :64], a))], (), Memory(ROOM)
    ).calls[0]
    wanted = np.exp(a + b)
    compiled_calls([(np.add, (b, 7.0, b.copy())), (np.exp, (b, b.copy()))], (), Memory(ROOM))
    gc.collect(0)
    ready(*given)
    same_bits(a, wanted)


def test_numbers_by_themselves_to_powers_are_left_to_numpy() -> None:
    """It has ways of its own to take them to the power of 2, 0.5 and so on."""
    x, y = np.array(1.9079071283), np.array(0.5)
    calls: list[Call] = [(np.power, (x, y, x)), (np.add, (x, 1.0, x)), (np.multiply, (x, 3.0, x))]
    found = one(calls)
    assert found.calls[0] is calls[0]
    agree(found, calls, x, y)


def test_calls_on_uneven_rows_stay_and_others_are_one() -> None:
    a, b = arrays(2, (8, 50))
    (sheet,) = arrays(1, (8, 200))
    calls: list[Call] = [
        (np.negative, (sheet[:, :50], a)), (np.exp, (a, a)), (np.add, (a, 1, a)),
        (np.divide, (1, a, b)),
    ]  # fmt: skip
    found = one(calls)
    assert len(found.calls) == 2
    assert found.calls[0] is calls[0]
    agree(found, calls, a, b, sheet)


def test_a_number_that_no_float_holds_is_left_to_numpy() -> None:
    (a,) = arrays(1)
    calls: list[Call] = [(np.exp, (a, a)), (np.add, (a, 10**400, a))]
    assert compiled_calls(calls, (), Memory(ROOM)).calls == calls


class Full:
    """A meter that has bytes for nothing; asked: how often it was asked for none."""

    asked = 0

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        self.asked += not nbytes
        if nbytes:
            raise error("memory_limit", "there is no more", raised=MemoryError)


def test_where_the_meter_has_no_room_calls_stay_and_its_clock_is_looked_at() -> None:
    a, b = arrays(2)
    calls: list[Call] = [(np.add, (a, b, a)), (np.exp, (a, a))]
    meter = Full()
    with using(meter=meter):
        assert compiled_calls(calls, (), Memory(ROOM)).calls == calls
    assert meter.asked == 1


def unavailable(*_: Any) -> Any:
    raise llvm.Unsupported


def test_long_runs_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = arrays(2)
    calls: list[Call] = [(np.add, (a, b, a)), (np.multiply, (a, 0.5, a))] * MOST
    found = one(calls)
    assert len(found.calls) == 2
    agree(found, calls, a, b)
    monkeypatch.setattr(llvm._Compiler, "function", unavailable)
    assert compiled_calls(calls, (), Memory(ROOM)).calls == calls


def test_where_there_is_no_room_calls_stay() -> None:
    a, b = arrays(2)
    calls: list[Call] = [(np.add, (a, b, a)), (np.exp, (a, a)), (np.tanh, (a, a))]
    memory = Memory(0)
    assert compiled_calls(calls, (), memory).calls == calls
    assert memory.nbytes == 0


def test_what_lies_between_the_steps_of_a_run_is_wiped_with_the_rest() -> None:
    a, b = arrays(2)
    memory = Memory(ROOM)
    sheet = np.zeros((8, 128), np.float32)
    calls: list[Call] = [(np.add, (a, b, sheet[:, :64])), (np.exp, (sheet[:, :64], a))]
    run(compiled_calls(calls, (), memory).calls)
    assert any(piece.any() for piece in memory._pieces)
    memory.wipe()
    assert not any(piece.any() for piece in memory._pieces)
