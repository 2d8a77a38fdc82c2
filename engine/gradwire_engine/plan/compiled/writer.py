"""Values of a compiled region at one place of a row, and single steps on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.plan.bound import number_taken
from gradwire_engine.plan.code import Code, Step
from gradwire_engine.plan.compiled.lanes import (
    BOOL,
    DTYPES,
    cast,
    constant,
    instruction,
    spread,
)
from gradwire_engine.plan.compiled.llvm import Unsupported
from gradwire_engine.plan.compiled.loops import InnerLoop, inner_loop
from gradwire_engine.plan.compiled.schedule import Lies, kind_of, operand_kind
from gradwire_engine.plan.compiled.text import Text, vector
from gradwire_engine.plan.functions import copied, select

SIZES = {"float": 4, "double": 8, BOOL: 1}
_LETTERS = {"float": "f", "double": "d", BOOL: "?"}


class Given(NamedTuple):
    """What a region is about: values by number, and how each lies in the space.

    bent: what is read or given in a space without rows, and has rows in memory even so, with gaps
    between them or all in the same place: how many elements are in one.
    """

    code: Code
    steps: Sequence[Step]
    dims: tuple[int, ...]
    lies: Mapping[int, Lies]
    reads: tuple[int, ...]
    outputs: tuple[int, ...]
    late: tuple[int, ...]
    bent: Mapping[int, int] = MappingProxyType({})


class Writer:
    """Writes values and steps down, at one place of a row.

    places: where a value lies, of this row or all along; strides: bytes from one of its rows to the
    next. numbers: what is one number, in this row or at all. narrow: what lies in a buffer of a
    piece. at: the element that is written for, start: the first of its piece.
    """

    def __init__(self, given: Given) -> None:
        self.given, self.out = given, Text()
        self.places: dict[int, str] = {}
        self.strides: dict[int, str] = {}
        self.numbers: dict[int, str] = {}
        self.narrow: set[int] = set()
        self.at = self.start = "0"
        self._phantoms = given.code.phantoms
        self._slots: dict[tuple[str, int], str] = {}

    def kind(self, value: int) -> str:
        """What LLVM calls a value's dtype."""
        return kind_of(self._phantoms[value].dtype)

    def operand(self, step: Step, value: int, width: int, known: Mapping[int, str]) -> str:
        """An operand of a step as so many elements."""
        if value not in self._phantoms:
            kind, said = self._constant(step, value)
            return spread(self.out, kind, constant(kind, said), width)
        if value in known:
            return known[value]
        if value in self.numbers:
            return spread(self.out, self.kind(value), self.numbers[value], width)
        raise Unsupported("an operand that isn't there")

    def _constant(self, step: Step, value: int) -> tuple[str, Any]:
        """A number among a step's operands: its kind, and what it is in that."""
        if step.run is select:
            kind = BOOL if value == step.operands[0] else self.kind(step.results[0])
            with np.errstate(all="ignore"):
                return kind, np.asarray(self.given.code.constants[value]).astype(DTYPES[kind])
        taken = number_taken(self.given.code, step, value)
        if taken is None:
            raise Unsupported("a number that the ufunc takes in its own way")
        return kind_of(taken.dtype), taken

    def read(self, value: int, width: int) -> str:
        return self.loaded(self.kind(value), self.address(value), width)

    def loaded(self, kind: str, pointer: str, width: int) -> str:
        held = "i8" if kind == BOOL else kind
        found = self.out.load(vector(held, width), pointer, SIZES[kind])
        if kind != BOOL:
            return found
        zero = spread(self.out, "i8", "0", width)
        return self.out.value(f"icmp ne {vector('i8', width)} {found}, {zero}")

    def stored(self, kind: str, value: str, pointer: str, width: int) -> None:
        if kind == BOOL:
            value = self.out.value(f"zext {vector(BOOL, width)} {value} to {vector('i8', width)}")
        held = "i8" if kind == BOOL else kind
        self.out.store(vector(held, width), value, pointer, SIZES[kind])

    def address(self, value: int) -> str:
        """Where a value's element at this place lies."""
        width = self.given.bent.get(value)
        if width is None:
            narrow = value in self.narrow
            at = self.out.arithmetic("sub", self.at, self.start) if narrow else self.at
            return self.element(self.places[value], at, self.kind(value))
        row, column = (self.out.arithmetic(how, self.at, str(width)) for how in ("udiv", "urem"))
        start = self.out.arithmetic("mul", row, self.strides[value])
        return self.element(self.out.moved(self.places[value], start), column, self.kind(value))

    def element(self, pointer: str, at: str, kind: str) -> str:
        return self.out.moved(pointer, at, "i8" if kind == BOOL else kind)

    def done(self, step: Step, operands: list[str], width: int) -> str:
        """A step by instructions."""
        (made,) = step.results
        kind = self.kind(made)
        if step.run is copied:
            return cast(self.out, self.kind(step.operands[0]), kind, width, operands[0])
        if step.run is select:
            mask, *values = operands
            kinds = [self.kind(n) if n in self._phantoms else kind for n in step.operands[1:]]
            a, b = (
                cast(self.out, own, kind, width, value)
                for own, value in zip(kinds, values, strict=True)
            )
            whole = vector(kind, width)
            return self.out.value(f"select {vector(BOOL, width)} {mask}, {whole} {a}, {whole} {b}")
        given = operand_kind(step, self._phantoms)
        run = instruction(step.run, given)
        assert run is not None, "asked before"
        return run(self.out, given, width, operands)

    def call(self, step: Step, start: str, end: str) -> None:
        """A loop of NumPy's over a piece of the row."""
        self.start, self.at = start, start
        count = self.out.arithmetic("sub", end, start)
        self._into_numpy(step, count, lambda value: self.address(value))

    def called_once(self, step: Step, made: int) -> str:
        """A loop of NumPy's on one number."""
        kind = self.kind(made)
        slot = self._slot(kind, -1)
        self._into_numpy(step, "1", lambda _: slot)
        return self.loaded(kind, slot, 1)

    def _into_numpy(self, step: Step, count: str, place: Callable[[int], str]) -> None:
        (made,) = step.results
        found = self._numpy_loop(step)
        pointers, strides = [], []
        for at, value in enumerate(step.operands):
            along = value in self._phantoms and value not in self.numbers
            pointers.append(place(value) if along else self._beside(step, value, at))
            strides.append(SIZES[self.kind(value)] if along else 0)
        pointers.append(place(made))
        strides.append(SIZES[self.kind(made)])
        table = self._table("ptr", pointers)
        steps = self._table("i64", list(map(str, strides)))
        lengths = self._table("i64", [count])
        self.out.do(
            f"call void inttoptr (i64 {found.function} to ptr)"
            f"(ptr {table}, ptr {lengths}, ptr {steps}, ptr inttoptr (i64 {found.data} to ptr))"
        )

    def _numpy_loop(self, step: Step) -> InnerLoop:
        given = step.operands
        kinds = [self.kind(n) if n in self._phantoms else self._constant(step, n)[0] for n in given]
        dtypes = [_LETTERS[kind] for kind in kinds]
        letters = "".join(dtypes) + "->" + _LETTERS[self.kind(step.results[0])]
        found = inner_loop(step.run, letters) if isinstance(step.run, np.ufunc) else None
        if found is None or step.options:
            raise Unsupported(f"{step.name} of {letters}")
        return found

    def _beside(self, step: Step, value: int, number: int) -> str:
        """A place in memory for what is one number, the operand of that number of a call."""
        if value in self._phantoms:
            kind, said = self.kind(value), self.numbers[value]
        else:
            kind, known = self._constant(step, value)
            said = constant(kind, known)
        slot = self._slot(kind, number)
        self.stored(kind, said, slot, 1)
        return slot

    def _table(self, kind: str, values: Sequence[str]) -> str:
        slot = self._slot(f"[{len(values)} x {kind}]", 0)
        for place, value in enumerate(values):
            self.out.store(kind, value, self.out.moved(slot, place, kind))
        return slot

    def _slot(self, kind: str, number: int) -> str:
        """A slot that one call after the other uses."""
        held = "i8" if kind == BOOL else kind
        if (held, number) not in self._slots:
            self._slots[held, number] = self.out.slot(held)
        return self._slots[held, number]
