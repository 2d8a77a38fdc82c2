"""What is known of a body for arguments of these specs: what it gives, and its plan."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.locks import lock
from gradwire_engine.mode import local, using
from gradwire_engine.plan import Plan, UntraceableError, simplified, trace
from gradwire_engine.plan.graph import Graph
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Spec
from gradwire_engine.tape import Program
from gradwire_engine.tensor import Tensor

WORTH = 8
"""Steps, all runs together, from which on there is a plan: making it takes about as long."""
_KEPT = 64
"""Bodies that are known at a time."""
_CONSTANTS = 2**16
"""Bytes of constants that a plan which is kept may have."""


class Clock:
    """A meter to which bytes don't matter: what runs does not allocate them. Time does."""

    def __init__(self, meter: Any) -> None:
        self.tick: Callable[[], None] = getattr(meter, "tick", lambda: None)

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Nothing is allocated."""


class OfBody:
    """A program made of another one, its `body`, whose id it has."""

    __slots__ = ()

    @property
    def id(self: Any) -> str:
        """The body's."""
        found: str = self.body.id
        return found


class OfLoop(OfBody):
    """A program made of a loop, and so of the loop's body."""

    __slots__ = ()

    @property
    def body(self: Any) -> Any:
        """The loop's."""
        return self.loop.body


def apart(meter: Any) -> using:
    """The modes in which a body runs: outside of any graph and transform, with nothing to undo."""
    return using(
        grad=False, inference=False, vmap=None, level=0, journal=None, generator=None, meter=meter,
        origin=None, anomaly=False, profile=None,
    )  # fmt: skip


class Counts:
    """What was done for all bodies of the process: traces, look-ups that needed none, plans.

    evicted: plans that made room for others. seconds: what tracing and planning took.
    """

    traces = hits = plans = evicted = 0
    seconds = 0.0


class Known:
    """A body for arguments of these specs.

    outputs: the specs of what it gives, None where only a run can say. draws: whether it may draw
    random numbers; writes: whether to its arguments. runs: how many steps it was run so far;
    seconds: what looking at it and planning it took.
    """

    def __init__(self, body: Program, specs: Sequence[Spec]) -> None:
        self.body, self.specs = body, tuple(specs)
        self.outputs: tuple[Spec, ...] | None = None
        self.draws, self.writes = True, False
        self.runs = 0
        self.recipes: dict[tuple[bool, ...], Any] = {}  # of its nodes, by who needs a gradient
        self.longest: dict[Any, int] = {}  # steps of a chunk at most, by how it is looped
        self._graph: Graph | None = None
        self._plan: Plan | None = None
        self.seconds = 0.0
        with self._timed():
            Counts.traces += 1
            self._look()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.seconds += spent
            Counts.seconds += spent

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan already."""
        return self._plan is not None

    def _look(self) -> None:
        """Run the body on symbols. What is wrong with it for these specs is raised."""
        outputs: list[Any] = []

        def function(*inputs: Tensor) -> Sequence[Tensor]:
            outputs[:] = self.body(*inputs)
            self.writes = any(x.version for x in inputs)
            return need_values(outputs)

        try:
            with apart(Clock(local.state.meter)):
                graph = trace(function, self.specs, draws=True)
        except UntraceableError:
            return
        except GradwireError as problem:
            if isinstance(problem.__cause__, UntraceableError) or problem.code in _UNSAID:
                return
            raise
        device = self.specs[0].device if self.specs else local.state.device
        self.outputs = tuple([y.spec._replace(device=device) for y in outputs])
        self.draws = any(line.op.random for line in graph.lines)
        half = any(spec.dtype.half for line in graph.lines for spec in line.specs)
        self._graph = None if self.draws or half or device != "cpu" else graph

    def plan(self) -> Plan | None:
        """Its plan, if there can be one."""
        if self._plan is None and self._graph is not None:
            graph, self._graph = self._graph, None
            try:
                with self._timed():
                    self._plan = Plan(simplified(graph))
            except GradwireError:  # what no plan can be made of runs op by op
                return None
            Counts.plans += 1
        return self._plan


_UNSAID = ("unsupported_device", "data_dependent_shape", "untraceable")
"""Errors that may only mean that it ran on symbols."""


def need_values(outputs: Sequence[Any]) -> Sequence[Any]:
    """What a body gave, which has to be tensors."""
    for place, output in enumerate(outputs):
        if type(output) not in VALUE_TYPES:
            raise error(
                "invalid_argument",
                f"result {place} of the body is {type(output).__name__}, and no tensor",
                "give tensors only",
            )
    return outputs


_known: OrderedDict[Any, Known] = OrderedDict()
_lock = lock()


def known(body: Program, values: Sequence[Any]) -> Known:
    """What is known of a body for arguments like these, which was looked at once."""
    specs = tuple([value.spec for value in values])
    key = (body, specs, local.state.default_dtype, local.state.device)
    with _lock:
        found = _known.get(key)
        if found is not None:
            _known.move_to_end(key)
            Counts.hits += 1
            return found
    found = Known(body, specs)
    with _lock:
        _known[key] = found
        if len(_known) > _KEPT:
            Counts.evicted += _known.popitem(last=False)[1].has_plan
    return found


class Figures(NamedTuple):
    """Plans that there are of a body, what was run of it, and the seconds that plans took."""

    made: int
    runs: int
    seconds: float

    def plus(self, other: Figures) -> Figures:
        """Both together."""
        return Figures(self.made + other.made, self.runs + other.runs, self.seconds + other.seconds)


def figures(body: Program) -> Figures:
    """Those of a body, its way back and what transforms make of it included."""
    with _lock:
        found = [entry for key, entry in _known.items() if body in _around(key[0])]
    return Figures(
        sum(entry.has_plan for entry in found),
        sum(entry.runs for entry in found),
        sum(entry.seconds for entry in found),
    )


def _around(body: Any) -> Iterator[Any]:
    """A body, and what it was made of."""
    while body is not None:
        yield body
        body = getattr(body, "body", None)


def planned(found: Known, times: int) -> Plan | None:
    """The plan of what is run so many times more, where it is worth it."""
    found.runs += times
    plan = found.plan() if found.runs >= WORTH else None
    return None if plan is None or plan.kept > _CONSTANTS else plan
