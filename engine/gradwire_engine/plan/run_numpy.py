"""A graph made ready to run on NumPy: regions, products and single calls, one after the other."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from gradwire_engine import long_calls
from gradwire_engine.arrays import Array
from gradwire_engine.kernels.sums import is_numpys, summed
from gradwire_engine.ops.matmul import product
from gradwire_engine.plan.algebra import plainer
from gradwire_engine.plan.code import CALL, CONTRACT, FOLD, JOIN, PRODUCT, VIEW, Code, Step
from gradwire_engine.plan.compiled.llvm import rest
from gradwire_engine.plan.compiled.straight import Straight, straightened
from gradwire_engine.plan.figures import flops
from gradwire_engine.plan.functions import copied
from gradwire_engine.plan.graph import Graph
from gradwire_engine.plan.laid_products import laid_out
from gradwire_engine.plan.lower import lowered
from gradwire_engine.plan.order import put_off
from gradwire_engine.plan.regions import Group, grouped
from gradwire_engine.plan.space import plain_view
from gradwire_engine.plan.sums import fewer
from gradwire_engine.plan.sweep import Sweep, axes_of
from gradwire_engine.plan.uses import Uses, readers

Action = tuple[
    Callable[..., Any], Callable[[list[Any]], Sequence[Any]], int | slice, tuple[int, ...]
]
"""run, operands, results, ending: values[results] = run(*operands(values)); after it, values at
`ending` are let go. A plain tuple, since a named one takes twice as long to be taken apart."""


class Plan:
    """A graph made ready to run on NumPy arrays of the specs it was traced for.

    units: its calls in order, single steps and regions. nbytes: what a run holds at once at most,
    inputs not counted; kept: bytes of constants. flops, ops: what a run does, by the ops that the
    graph has. Any number of threads may run it at a time.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.code = laid_out(put_off(fewer(plainer(lowered(graph)))))
        made = _Making(self.code, grouped(self.code))
        rest()
        self.units = made.units
        self._actions, self._template = made.actions, made.template()
        self._inputs = len(graph.inputs)
        self._outputs = tuple(made.places[n] for n in self.code.outputs)
        self._scalars = [i for i, spec in enumerate(graph.given) if not spec.shape]
        self.nbytes = made.peak
        self.flops, self.ops = sum(map(flops, graph.lines)), len(graph.lines)
        arrays = [c for c in self.code.constants.values() if isinstance(c, np.ndarray)]
        self.kept = sum(array.nbytes for array in arrays)
        self._constants = frozenset(map(id, arrays))

    def run(
        self, inputs: Sequence[Array], between: Callable[[], None] | None = None
    ) -> list[Array]:
        """The outputs, row-major; they may share memory with each other and with the inputs.

        between: called before each step, to end what takes too long. What a kernel raises comes out
        as it is, by NumPy's name: who needs a message runs the function itself.
        """
        values = self._template.copy()
        values[: self._inputs] = inputs
        for place in self._scalars:
            values[place] = inputs[place][()]
        if between is not None:
            return self._run_slowly(values, between)
        for run, operands, results, ending in self._actions:
            values[results] = run(*operands(values))
            if ending:
                for place in ending:
                    values[place] = None
        return [_row_major(values[place]) for place in self._outputs]

    def fresh(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[bool]:
        """Which of a run's outputs share memory with nothing else: no input, constant or output."""
        known = self._constants.union(map(id, inputs))
        whose = [id(x if x.base is None else x.base) for x in outputs]
        return [
            x.base is None and owner not in known and whose.count(owner) == 1
            for x, owner in zip(outputs, whose, strict=True)
        ]

    def _run_slowly(self, values: list[Any], between: Callable[[], None]) -> list[Array]:
        for run, operands, results, ending in self._actions:
            between()
            values[results] = run(*operands(values))
            for place in ending:
                values[place] = None
        return [_row_major(values[place]) for place in self._outputs]


def _row_major(array: Any) -> Array:
    if not array.ndim:
        return np.asarray(array)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


class _Making:
    """The actions of a code, the place of every value, and the bytes held on the way."""

    def __init__(self, code: Code, groups: Sequence[Group]) -> None:
        self.code = code
        self.places: dict[int, int] = {}
        self._known = code.constants.keys() | set(code.inputs)
        for number in (*code.inputs, *code.constants):
            self.places.setdefault(number, len(self.places))
        self.peak = 0
        self._readers = readers(step.operands for step in code.steps)
        units = [unit for group in groups for unit in self._of_group(group)]
        self.units: list[Step | Sweep] = straightened(code, units, reads_of)
        uses = [[(reads_of(unit), makes_of(unit), _is_view(unit))] for unit in self.units]
        self._uses = Uses(uses, code.outputs)
        self.actions = [self._action(i, unit) for i, unit in enumerate(self.units)]
        self._measure()

    def template(self) -> list[Any]:
        """A place for each value; constants are in theirs already."""
        values: list[Any] = [None] * len(self.places)
        for number, value in self.code.constants.items():
            scalar = isinstance(value, np.ndarray) and not value.ndim
            values[self.places[number]] = value[()] if scalar else value
        return values

    def _of_group(self, group: Group) -> list[Step | Sweep]:
        steps = [self.code.steps[place] for place in group.places]
        if group.region is None:
            return list(steps)
        wanted = self._wanted(group)
        views = [s for s in steps if s.kind == VIEW and wanted & set(s.results)]
        while True:  # what is seen through a view outside is that view of what it shows
            before = len(wanted)
            wanted |= {n for s in views for n in s.operands}
            views = [s for s in steps if s.kind == VIEW and wanted & set(s.results)]
            if len(wanted) == before:
                break
        shown = {n for s in views for n in s.results}
        made = sorted(wanted - shown)
        dims = axes_of(self.code, group.region, made)
        if dims is None:  # values lie across each other: one step after the other then
            return list(steps)
        return [Sweep(self.code, group.region, made, dims), *views]

    def _wanted(self, group: Group) -> set[int]:
        """What a region makes and others need."""
        inside = set(group.places)
        made = {n for place in inside for n in self.code.steps[place].results}
        read = {n for n in made if not inside.issuperset(self._readers.get(n, ()))}
        return read | (made & set(self.code.outputs))

    def _action(self, index: int, unit: Step | Sweep) -> Action:
        reads, makes = reads_of(unit), makes_of(unit)
        for number in makes:
            self.places.setdefault(number, len(self.places))
        first = self.places[makes[0]] if makes else 0
        single = len(makes) == 1 and not (isinstance(unit, Sweep))
        several = not isinstance(unit, Sweep) and unit.kind == CALL and not unit.run.single
        results: int | slice = first if single and not several else slice(first, first + len(makes))
        ended = (*self._uses.ending(index), *self._uses.views_ending(index))
        ended = tuple(n for n in ended if n not in self._known)
        arrays = (n for n in ended if self.code.phantoms[n].ndim)  # a number may as well stay
        ending = tuple(self.places[n] for n in arrays if n in self.places)
        operands = _getter([self.places[n] for n in reads])
        return _runner(self.code, unit), operands, results, ending

    def _measure(self) -> None:
        """Follow what is held from unit to unit."""
        held = most = scratch = 0  # scratch stays, for the next region
        for i, unit in enumerate(self.units):
            sweeping = unit.nbytes if isinstance(unit, Sweep) else 0
            if not _is_view(unit):
                held += sum(self.code.phantoms[n].nbytes for n in makes_of(unit))
            most, scratch = max(most, held), max(scratch, sweeping)
            for n in self._uses.ending(i):
                if n not in self._known:
                    held -= self.code.phantoms[n].nbytes
        self.peak = most + scratch


def _is_view(unit: Step | Sweep) -> bool:
    return not isinstance(unit, Sweep) and unit.kind == VIEW


def reads_of(unit: Step | Sweep) -> tuple[int, ...]:
    """The values that a unit takes."""
    return tuple(p.number for p in unit.reads) if isinstance(unit, Sweep) else unit.operands


def makes_of(unit: Step | Sweep) -> tuple[int, ...]:
    """The values that a unit gives."""
    return unit.makes if isinstance(unit, Sweep) else unit.results


def _getter(places: Sequence[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """What takes the operands out of all values."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def _runner(code: Code, unit: Step | Sweep) -> Callable[..., Any]:
    """What an action calls; what it makes lies as its phantom does."""
    if isinstance(unit, Sweep):
        return _swept(code, unit)
    run = _step_runner(code, unit)
    return partial(_in_rows, run) if _may_turn(code, unit) else run


def _may_turn(code: Code, step: Step) -> bool:
    """Whether NumPy may lay out a step's result as the operands lie, and not row-major."""
    if step.kind in (VIEW, CALL) or code.phantoms[step.results[0]].ndim < 2:
        return False
    given = (code.phantoms[n] for n in step.operands if n in code.phantoms)
    return any(x.ndim > 1 and not x.flags.c_contiguous for x in given)


def _in_rows(run: Callable[..., Any], *operands: Any) -> Any:
    """What a step makes, row-major."""
    return _row_major(run(*operands))


def _step_runner(code: Code, unit: Step) -> Callable[..., Any]:
    """What does a step by itself."""
    phantoms = [code.phantoms[n] for n in unit.results]
    if unit.kind == FOLD:
        options = dict(unit.options)
        given = code.phantoms.get(unit.operands[0])
        if unit.run is np.add and (given is None or not is_numpys(given, options["axis"])):
            return partial(summed, axes=options["axis"], keepdims=options["keepdims"])
        return partial(unit.run.reduce, **options)
    if unit.kind in (CONTRACT, JOIN):
        return partial(unit.run, **dict(unit.options))
    if unit.kind == CALL:
        scalars = [n in code.phantoms and not code.phantoms[n].ndim for n in unit.operands]
        given = any(scalars) and not isinstance(unit.run, Straight)
        return partial(_on_arrays, unit.run) if given else unit.run
    if unit.run is copied:
        return partial(np.array, dtype=phantoms[0].dtype, order="C")
    if unit.kind == VIEW and len(phantoms) == 1:
        return plain_view(code.phantoms.get(unit.operands[0]), phantoms[0]) or unit.run
    if unit.kind == PRODUCT and unit.run is np.matmul and len(phantoms[0].shape) > 2:
        return partial(product, np)
    if unit.kind == PRODUCT and unit.run is np.matmul:
        wide = max(code.phantoms[n].size for n in unit.operands) > long_calls.FEW
        return partial(long_calls.matmul, np) if wide else np.matmul
    if unit.kind in (VIEW, PRODUCT):
        whole: Callable[..., Any] = unit.run
        return whole
    return _quick(code, unit)


def _swept(code: Code, sweep: Sweep) -> Callable[..., Any]:
    wanted = [(code.phantoms[n].shape, code.phantoms[n].dtype) for n in sweep.makes]

    def run(*arrays: Any) -> list[Any]:
        give = [np.empty(shape, dtype) for shape, dtype in wanted]
        sweep.run(arrays, give)
        return give

    return run


def _on_arrays(run: Callable[..., Any], *operands: Any) -> Any:
    """A kernel on operands that may have become scalars of NumPy's, which are arrays again."""
    return run(*[np.asarray(x) if isinstance(x, np.generic) else x for x in operands])


_SCALAR: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
}
"""What Python does on NumPy's scalars in a tenth of the time of a ufunc, with its result."""


def _quick(code: Code, step: Step) -> Callable[..., Any]:
    """The function of a small step: on scalars Python's own operator."""
    arrays = [code.phantoms[n] for n in (*step.operands, *step.results) if n in code.phantoms]
    shapes, kinds = [a.shape for a in arrays], {a.dtype for a in arrays}
    scalar = not any(shapes) and len(kinds) == 1 and next(iter(kinds)).kind in "fc"
    run: Callable[..., Any] = _SCALAR.get(step.run, step.run) if scalar else step.run
    return run
