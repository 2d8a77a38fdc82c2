"""A traced function as data: what is called on which values, and which of them are the results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gradwire_engine.call import Call, moved
from gradwire_engine.spec import Spec


class Line(NamedTuple):
    """One call: an op (a Primitive) with the specs and attributes of its use, on values by number.

    results: their numbers, which follow each other; specs: what they are, on no device. In a graph
    that is to be looked at, what stands in the op's place may be Repeated.
    """

    op: Any
    arguments: tuple[Any, ...]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    specs: tuple[Spec, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that the call allocates."""
        return 0 if self.op.view else sum(spec.nbytes for spec in self.specs)

    def call(self, device: str) -> Call:
        """The call as that device runs it."""
        return Call(self.op, moved(self.arguments, device), device)


@dataclass(frozen=True)
class Repeated:
    """What stands in an op's place in the line of a loop, which can be looked at and not run.

    graphs: what is run each of so many times; names: of their inputs, results: of what the last of
    them gives.
    """

    name: str
    times: int
    graphs: tuple[Graph, ...]
    names: tuple[str, ...]
    results: tuple[str, ...]
    view = random = data_dependent = False
    places = ()


class Graph(NamedTuple):
    """inputs, outputs: numbers of values. constants: known values (arrays, numbers, None).

    Lines stand in an order in which they can run. No line writes to a value. given: what the inputs
    are.
    """

    inputs: tuple[int, ...]
    constants: dict[int, Any]
    lines: tuple[Line, ...]
    outputs: tuple[int, ...]
    given: tuple[Spec, ...] = ()

    def __str__(self) -> str:
        """One line of text for each line: `%3 float32[3] = mul(%0, %1)`."""
        first = f"inputs {_names(self.inputs)}"
        last = f"outputs {_names(self.outputs)}"
        return "\n".join([first, *map(self._text, self.lines), last])

    def _text(self, line: Line) -> str:
        made = ", ".join(
            f"%{n} {spec.dtype.name}{list(spec.shape)}"
            for n, spec in zip(line.results, line.specs, strict=True)
        )
        given = [self._shown(n) for n in line.operands]
        names = () if isinstance(line.op, Repeated) else line.op.signature.by_name
        for place, (name, value) in enumerate(zip(names, line.arguments, strict=True)):
            if place not in line.op.places and value is not None:
                given.append(f"{name}={value}")
        return f"{made} = {line.op.name}({', '.join(given)})"

    def _shown(self, number: int) -> str:
        value = self.constants.get(number, self)
        if value is self:
            return f"%{number}"
        return f"%{number} constant" if getattr(value, "size", 1) > 1 else str(value)


def _names(numbers: Iterable[int]) -> str:
    return ", ".join(f"%{n}" for n in numbers)
