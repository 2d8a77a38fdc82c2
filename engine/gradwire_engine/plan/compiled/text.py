"""Writing LLVM's language: names, labels, loops. What it says is in LLVM's Language Reference."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager


class Text:
    """The body of a function, as it is written down. A value is known by its name."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._slots: list[str] = []
        self._count = 0
        self._intrinsics: dict[str, None] = {}

    def whole(self, name: str) -> str:
        """The module: one function of a table, which says all that the function has to know."""
        head = f"define void @{name}(ptr %table) {{\nentry:"
        lines = [*self._intrinsics, head, *self._slots, *self._lines, "  ret void", "}"]
        return "\n".join(lines)

    def value(self, said: str) -> str:
        """A new value, made by this instruction."""
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {said}")
        return name

    def do(self, said: str) -> None:
        """An instruction that makes no value."""
        self._lines.append(f"  {said}")

    def slot(self, kind: str) -> str:
        """A place for a value that changes; optimisation makes a register of it."""
        self._count += 1
        self._slots.append(f"  %s{self._count} = alloca {kind}, align 64")
        return f"%s{self._count}"

    def load(self, kind: str, pointer: str, align: int = 8) -> str:
        return self.value(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, kind: str, value: str, pointer: str, align: int = 8) -> None:
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}")

    def moved(self, pointer: str, count: str | int, kind: str = "i8") -> str:
        """A pointer so many elements further."""
        return self.value(f"getelementptr {kind}, ptr {pointer}, i64 {count}")

    def intrinsic(self, result: str, name: str, arguments: str, kinds: str, flags: str = "") -> str:
        """A call of one of LLVM's own functions."""
        self._intrinsics[f"declare {result} @{name}({kinds})"] = None
        return self.value(f"call {flags}{result} @{name}({arguments})")

    def arithmetic(self, said: str, a: str, b: str) -> str:
        return self.value(f"{said} i64 {a}, {b}")

    @contextmanager
    def loop(self, first: str, stop: str, step: int) -> Iterator[str]:
        """What is written inside is done for first, first + step, ... below stop."""
        self._count += 1
        at, head, body, done = (f"{part}{self._count}" for part in ("at", "head", "body", "done"))
        self._slots.append(f"  %{at} = alloca i64")
        self.store("i64", first, f"%{at}")
        self.do(f"br label %{head}")
        self._lines.append(f"{head}:")
        place = self.load("i64", f"%{at}")
        more = self.value(f"icmp slt i64 {place}, {stop}")
        self.do(f"br i1 {more}, label %{body}, label %{done}")
        self._lines.append(f"{body}:")
        yield place
        self.store("i64", self.arithmetic("add", place, str(step)), f"%{at}")
        self.do(f"br label %{head}")
        self._lines.append(f"{done}:")


def number(value: float) -> str:
    """A number of floating point as LLVM wants it: the bits of the double that it is."""
    return "0x" + struct.pack(">d", float(value)).hex().upper()


def vector(kind: str, width: int) -> str:
    """The type of so many numbers at a time."""
    return kind if width == 1 else f"<{width} x {kind}>"
