"""Plans of programs that come again: for the same specs, a list of kernels in the engine's place.

A program is run op by op until it has gone well twice for the same specs. Then it is traced,
derivatives included, and what comes after runs the plan. Whatever isn't as it was then, and
whatever fails, goes the long way again, which says what is wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.errors import GradwireError
from gradwire_engine.plan import Plan, simplified, trace
from gradwire_engine.spec import DType, Spec, dtype_of
from gradwire_service.host.elements import Array
from gradwire_service.host.memory import Meter
from gradwire_service.host.reply import Filled, Template

_MOST = 256
"""Programs (with their specs) that are kept."""
_OFTEN = 2
"""How often a program goes the long way before it gets a plan."""
_LARGEST = 2**20
"""Bytes that a plan may allocate: what is larger gains nothing from having one yet."""
_CONSTANTS = 2**16
"""Bytes of constants that a plan may keep."""
_LONG = 2**17
"""Bytes from which on the clock is looked at between a plan's steps."""
_FINAL = ("deadline_exceeded", "shutting_down")
"""What the long way would only say again, later."""

Specs = tuple[tuple[tuple[int, ...], Any], ...]
"""Shapes and NumPy dtypes of arrays."""


class Planned(NamedTuple):
    """A plan, and what its results are answered as."""

    plan: Plan
    template: Template


class Case:
    """A program with the specs of its inputs: how cotangents are read, and plans by theirs."""

    __slots__ = ("dtypes", "found", "owner")

    def __init__(self, owner: object, dtypes: Mapping[str, DType]) -> None:
        self.owner = owner  # held, since the key has its address
        self.dtypes = dtypes
        self.found: dict[Specs, int | Planned | None] = {}

    def plan(self, cotangents: Sequence[Array]) -> int | Planned | None:
        """The plan for cotangents like these, or how often there was none."""
        return self.found.get(specs_of(cotangents))


class Plans:
    """What was planned, by program and specs."""

    def __init__(self) -> None:
        self._cases: OrderedDict[Any, Case] = OrderedDict()
        self.made = self.answered = 0

    def case(self, key: object, arrays: Sequence[Array]) -> Case | None:
        """What is known of a program for inputs like these."""
        place = (key, specs_of(arrays))
        found = self._cases.get(place)
        if found is not None:
            self._cases.move_to_end(place)
        return found

    def cases(self) -> list[Case]:
        """All that is known, what was used last at the end."""
        return list(self._cases.values())

    def learn(
        self,
        key: object,
        owner: object,
        inputs: Sequence[Array],
        cotangents: Sequence[Array],
        dtypes: Mapping[str, DType],
        make: Callable[[], Planned | None],
    ) -> None:
        """A program went well the long way; once it has often enough it gets its plan."""
        place = (key, specs_of(inputs))
        case = self._cases.get(place)
        if case is None:
            if len(self._cases) >= _MOST:
                self._cases.popitem(last=False)
            case = self._cases[place] = Case(owner, dtypes)
        specs = specs_of(cotangents)
        seen = case.found.get(specs, 0)
        if type(seen) is int and seen + 1 < _OFTEN:
            case.found[specs] = seen + 1
        elif type(seen) is int:
            made = case.found[specs] = make()
            self.made += made is not None


def specs_of(arrays: Sequence[Array]) -> Specs:
    """Shapes and dtypes, to look a plan up."""
    return tuple([(array.shape, array.dtype) for array in arrays])


def planned(
    function: Callable[..., Sequence[Any]], arrays: Sequence[Array], template: Template
) -> Planned | None:
    """The plan of a function for arrays like these; None where there can be none, or is no use."""
    specs = [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays]
    try:
        graph = trace(function, specs)
    except Exception:  # whatever stands in the way, the long way is open
        return None
    if any(spec.dtype.half for line in graph.lines for spec in line.specs):
        return None  # rules round halves once, a plan each op's result
    graph = simplified(graph)
    kept = sum(value.nbytes for value in graph.constants.values() if isinstance(value, np.ndarray))
    if kept > _CONSTANTS or graph.nbytes > _LARGEST:
        return None
    return Planned(Plan(graph), template)


def run(found: Planned, arrays: Sequence[Array], meter: Meter) -> Filled | None:
    """Run a plan and answer it; None where it fails or has no room: the long way tells why."""
    plan = found.plan
    try:
        meter.charge(plan.nbytes)
        with np.errstate(all="ignore"):
            between = meter.tick if plan.nbytes > _LONG else None
            return Filled(found.template, plan.run(arrays, between))
    except GradwireError as problem:
        if problem.code in _FINAL:
            raise
        return None
    except Exception:
        return None
