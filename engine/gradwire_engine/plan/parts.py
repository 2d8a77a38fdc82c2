"""What a plan consists of, as data: which ops run as one, what they read, give and take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradwire_engine.plan.code import CALL, PRODUCT, VIEW, Code, Step
from gradwire_engine.plan.compiled.straight import Straight
from gradwire_engine.plan.figures import flops, moved, peak
from gradwire_engine.plan.graph import Graph, Line, Repeated
from gradwire_engine.plan.passes import simplified, without_dead
from gradwire_engine.plan.run_numpy import Plan, makes_of, reads_of
from gradwire_engine.plan.sweep import Sweep
from gradwire_engine.spec import Spec, dtype_of

LONGEST = 2**12
"""Lines of a graph up to which a plan is made to be looked at: half a second."""
Unit = Step | Sweep


class Part(NamedTuple):
    """What runs as one: a region, or an op by itself, or a loop.

    ops: their names, in order; an op that several parts have a share in is in each. how: `region`
    block by block, `compiled` as one function, `call` of array functions or of a kernel, `view`;
    `loop`, of which `inside` is what is done each of so many `times`, for inputs of these `names`,
    with these `results` of the last.
    shape: the space of a region, None else. reads, makes: numbers of values; outputs: the specs of
    these. flops: of the ops that do most here. moved: bytes that it reads and writes.
    """

    ops: tuple[str, ...]
    how: str
    shape: tuple[int, ...] | None
    threads: int
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    outputs: tuple[Spec, ...]
    flops: int
    moved: int
    times: int = 1
    names: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    inside: tuple[Whole, ...] = ()


class Whole(NamedTuple):
    """All parts of a graph. inputs, outputs: numbers of values; nbytes: held at once at most,
    inputs among them.
    """

    parts: Sequence[Part]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nbytes: int

    @property
    def flops(self) -> int:
        """Of all parts."""
        return sum(part.flops for part in self.parts)

    @property
    def moved(self) -> int:
        """Bytes that all parts read and write."""
        return sum(part.moved for part in self.parts)


def whole(graph: Graph, known: dict[int, Whole] | None = None) -> Whole:
    """What running a graph takes: by its plan where it has one, else op by op.

    known: of graphs of loops' steps, by who they are.
    """
    known = {} if known is None else known
    if id(graph) not in known:
        known[id(graph)] = _whole(graph, known)
    return known[id(graph)]


def _whole(graph: Graph, known: dict[int, Whole]) -> Whole:
    if _runs_op_by_op(graph):
        graph = without_dead(graph)
        parts = parts_op_by_op(graph, known)
        inner = max((step.nbytes for part in parts for step in part.inside), default=0)
        return Whole(parts, graph.inputs, graph.outputs, peak(graph, graph.given) + inner)
    plan = Plan(simplified(graph))
    held = plan.nbytes + plan.kept + sum(spec.nbytes for spec in graph.given)
    return Whole(parts_of(plan), plan.code.inputs, plan.code.outputs, held)


def _runs_op_by_op(graph: Graph) -> bool:
    """Whether there is no plan: for loops, which have their own, for random numbers, for half
    precision, and for what is too long.
    """
    return len(graph.lines) > LONGEST or any(
        isinstance(line.op, Repeated) or line.op.random or any(s.dtype.half for s in line.specs)
        for line in graph.lines
    )


def parts_of(plan: Plan) -> list[Part]:
    """The parts of a plan, in the order in which they run."""
    code, lines = plan.code, plan.graph.lines
    groups = _groups(plan.units)
    doing = _places(code, groups)
    wanted = {n for group in groups for n in group.reads()} | set(code.outputs)
    found = []
    for place, group in enumerate(groups):
        makes = tuple(n for n in group.makes() if n in wanted)
        arrays = (code.phantoms[n] for n in makes)
        found.append(
            Part(
                tuple(lines[i].op.name for i in group.lines),
                group.how(),
                group.sweep.dims if group.sweep else None,
                len(group.sweep.parts) if group.sweep else 1,
                tuple(n for n in group.reads() if n in code.phantoms and n not in code.constants),
                makes,
                tuple(Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays),
                sum(flops(lines[i]) for i in group.lines if doing[i] == place),
                sum(_moved(code, unit) for unit in group.units),
            )
        )
    return found


def parts_op_by_op(graph: Graph, known: dict[int, Whole] | None = None) -> list[Part]:
    """The same where there is no plan: each op is a part, and so is each loop."""
    known = {} if known is None else known
    return [
        _loop(graph, line, known) if isinstance(line.op, Repeated) else _op(graph, line)
        for line in graph.lines
    ]


def _op(graph: Graph, line: Line) -> Part:
    how = "view" if line.op.view else "call"
    reads = _values(graph, line)
    names = (line.op.name,)
    return Part(names, how, None, 1, reads, line.results, line.specs, flops(line), moved(line))


def _loop(graph: Graph, line: Line, known: dict[int, Whole]) -> Part:
    loop, inside = line.op, tuple([whole(step, known) for step in line.op.graphs])
    return Part(
        (loop.name,),
        "loop",
        None,
        1,
        _values(graph, line),
        line.results,
        line.specs,
        loop.times * sum(step.flops for step in inside),
        loop.times * sum(step.moved for step in inside),
        loop.times,
        loop.names,
        loop.results,
        inside,
    )


def _values(graph: Graph, line: Line) -> tuple[int, ...]:
    """What a line reads but for constants."""
    return tuple(n for n in line.operands if n not in graph.constants)


@dataclass
class _Group:
    """Units that are one part. lines: of the graph, that they do something for, in order."""

    lines: tuple[int, ...]
    units: list[Unit] = field(default_factory=list)

    @property
    def sweep(self) -> Sweep | None:
        """The region, if it is one."""
        (first, *_) = self.units
        return first if isinstance(first, Sweep) else None

    def steps(self) -> list[Step]:
        """All that it does."""
        if self.sweep is not None:
            return [step for _, step in self.sweep.region.steps]
        return [unit for unit in self.units if isinstance(unit, Step)]

    def how(self) -> str:
        """See Part."""
        if self.sweep is not None:
            return "region" if self.sweep.native is None else "compiled"
        steps = self.steps()
        if all(step.kind == VIEW for step in steps):
            return "view"
        return "compiled" if isinstance(steps[0].run, Straight) else "call"

    def makes(self) -> tuple[int, ...]:
        """Values that its units make."""
        return tuple(n for unit in self.units for n in makes_of(unit))

    def reads(self) -> tuple[int, ...]:
        """Values of others that its units read, each once."""
        own = set(self.makes())
        read = (n for unit in self.units for n in reads_of(unit))
        return tuple(dict.fromkeys(n for n in read if n not in own))


def _places(code: Code, groups: Sequence[_Group]) -> dict[int, int]:
    """For each line the part that does most for it: its product or kernel, or most elements."""
    most: dict[int, tuple[tuple[bool, int], int]] = {}
    for place, group in enumerate(groups):
        work = dict.fromkeys(group.lines, (False, 0))
        for step in group.steps():
            work[step.line] = max(work.get(step.line, (False, 0)), _work(code, step))
        for line, weight in work.items():
            if line not in most or weight > most[line][0]:
                most[line] = weight, place
    return {line: place for line, (_, place) in most.items()}


def _work(code: Code, step: Step) -> tuple[bool, int]:
    """How much a step does, to be compared."""
    values = (code.phantoms[n] for n in (*step.operands, *step.results) if n in code.phantoms)
    return step.kind in (PRODUCT, CALL), max((value.size for value in values), default=0)


def _groups(units: Iterable[Unit]) -> list[_Group]:
    """Units by themselves, but for those that follow each other and do one line together."""
    found: list[_Group] = []
    for unit in units:
        lines = _lines(unit)
        last = found[-1] if found else None
        alone = isinstance(unit, Sweep) or last is None or last.sweep is not None
        if alone or last is None or last.lines != lines or len(lines) != 1:
            found.append(_Group(lines))
        found[-1].units.append(unit)
    return found


def _lines(unit: Unit) -> tuple[int, ...]:
    if isinstance(unit, Sweep):
        return tuple(sorted({step.line for _, step in unit.region.steps}))
    return unit.run.lines if isinstance(unit.run, Straight) else (unit.line,)


def _moved(code: Code, unit: Unit) -> int:
    if isinstance(unit, Step) and unit.kind == VIEW:
        return 0
    numbers = {*reads_of(unit), *makes_of(unit)}
    return sum(_held(code.phantoms[n]) for n in numbers if n in code.phantoms)


def _held(array: Any) -> int:
    """Bytes of an array, where it lies on itself once."""
    size: int = array.itemsize
    for count, stride in zip(array.shape, array.strides, strict=True):
        size *= count if stride else min(count, 1)
    return size
