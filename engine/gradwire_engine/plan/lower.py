"""From ops to steps: each line's kernel is taken apart where that can be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from gradwire_engine.arrays import phantom_in, phantom_of
from gradwire_engine.laid import orders_of
from gradwire_engine.order import Order, places
from gradwire_engine.plan.code import CALL, VIEW, Code
from gradwire_engine.plan.graph import Graph, Line
from gradwire_engine.plan.probe import Probe
from gradwire_engine.plan.record import RECORDING, record
from gradwire_engine.plan.recorder import Recorder


def lowered(graph: Graph) -> Code:
    """The code of a graph. What can't be taken apart is one step, which runs the whole kernel."""
    return _Lowering(graph).code()


class _Lowering:
    """The steps so far, and which value each number of the graph has become."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.recorder = graph, Recorder()
        self.known: dict[int, int] = {}
        self._kernels: dict[Any, Callable[..., Any]] = {}
        for number, spec in zip(graph.inputs, graph.given, strict=True):
            self.known[number] = self.recorder.value(phantom_of(spec))

    def code(self) -> Code:
        """All of the graph."""
        inputs = tuple(self.known[n] for n in self.graph.inputs)
        for place, line in enumerate(self.graph.lines):
            self.recorder.line = place
            self.known.update(zip(line.results, self._line(line), strict=True))
        outputs = tuple(self._number(n) for n in self.graph.outputs)
        found = self.recorder
        return Code(inputs, found.constants, found.phantoms, tuple(found.steps), outputs)

    def _number(self, number: int) -> int:
        """The value of a number of the graph."""
        if number not in self.known:
            self.known[number] = self.recorder.constant(self.graph.constants[number])
        return self.known[number]

    def _line(self, line: Line) -> tuple[int, ...]:
        if line.op.view:
            return self._view(line)
        if self._of_arrays(line) and not line.op.random and not line.op.data_dependent:
            try:
                found = record(self.recorder, self._kernel(line), self._probes(line))
            except Exception:  # whatever it does that no probe can: it runs as a whole then
                found = ()
            laid_out = [self.recorder.phantoms[n] for n in found]
            wanted = [(spec.shape, spec.dtype.numpy) for spec in line.specs]
            if found and [(p.shape, p.dtype) for p in laid_out] == wanted:
                return found
        return self._call(line)

    def _of_arrays(self, line: Line) -> bool:
        """Whether a kernel gets arrays: of nothing it would make its result, on probes too."""
        constants = self.graph.constants
        return any(
            n not in constants or isinstance(constants[n], np.ndarray) for n in line.operands
        )

    def _call(self, line: Line) -> tuple[int, ...]:
        """A kernel as one step, whose results lie in order, and views of those that are turned."""
        operands = self._operands(line)
        values = [self.recorder.phantoms.get(n, self.recorder.constants.get(n)) for n in operands]
        orders = orders_of(line.call("cpu"), values)
        made = [phantom_in(s, o) for s, o in zip(line.specs, orders, strict=True)]
        inner = [y if o is None else y.transpose(o) for y, o in zip(made, orders, strict=True)]
        key = line.op, line.arguments, tuple(orders)
        found = self.recorder.step(CALL, _whole(line, orders), operands, inner, key)
        return tuple(map(self._turned, found, made, orders))

    def _turned(self, number: int, made: Any, order: Order) -> int:
        if order is None:
            return number
        back = tuple(places(order))
        seen = methodcaller("transpose", back)
        return self.recorder.step(VIEW, seen, (number,), (made,), ("transpose", back))[0]

    def _kernel(self, line: Line) -> Callable[..., Any]:
        """A line's kernel as it is run on probes; the same for all lines that are alike."""
        key = line.op, line.arguments
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = line.call(RECORDING).run
        return found

    def _view(self, line: Line) -> tuple[int, ...]:
        run = line.call("cpu").run
        (number,) = self._operands(line)
        seen = run(self.recorder.phantoms[number])
        several = (seen,) if line.call("cpu").single else tuple(seen)
        if len(several) == 1 and not line.call("cpu").single:  # a step gives one, or a sequence
            run = partial(_only, run)
        return self.recorder.step(VIEW, run, (number,), several, (line.op, line.arguments))

    def _operands(self, line: Line) -> list[int]:
        return [self._number(n) for n in line.operands]

    def _probes(self, line: Line) -> list[Any]:
        """Operands for a kernel: arrays as probes, numbers and None as they are."""
        found = []
        for number in line.operands:
            value = self.graph.constants.get(number)
            plain = number in self.graph.constants and not isinstance(value, np.ndarray)
            found.append(
                value if plain else Probe.of(self.recorder, self._number(number), frozen=True)
            )
        return found


def _whole(line: Line, orders: Sequence[Order]) -> Callable[..., Any]:
    """A line's kernel as one step, with axes in these orders, so that results are row-major."""
    call = line.call("cpu")

    def run(*operands: Any) -> Any:
        found = call.run(*operands)
        if call.single:
            return _in_rows(found, orders[0])
        return tuple(map(_in_rows, found, orders))

    run.__name__, run.single = line.op.name, call.single  # type: ignore[attr-defined]
    return run


def _only(run: Callable[..., Any], array: Any) -> Any:
    """The one view that a kernel gives of an array."""
    (seen,) = run(array)
    return seen


def _in_rows(array: Any, order: Order) -> Any:
    lying = array if order is None else array.transpose(order)
    return lying if lying.flags.c_contiguous else np.ascontiguousarray(lying)
