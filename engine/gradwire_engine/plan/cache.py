"""Plans that were made, by what they are for; what was used least lately goes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from gradwire_engine.errors import GradwireError
from gradwire_engine.plan.passes import simplified
from gradwire_engine.plan.run_numpy import Plan
from gradwire_engine.plan.trace import trace
from gradwire_engine.spec import Spec
from gradwire_engine.symbol import UntraceableError
from gradwire_engine.tensor import Tensor

MOST = 128
"""Plans that a cache keeps unless it is told otherwise."""

Function = Callable[..., Sequence[Tensor]]


def plan_of(function: Function, specs: Sequence[Spec]) -> Plan:
    """The plan of a function of tensors, derivatives that it takes included, for these inputs.

    Raises UntraceableError, or what the function raises, where there can be none: what it does
    depends on elements, it draws random numbers, or it works in half precision, which is rounded
    once for each op here and once for each rule op by op.
    """
    graph = trace(function, specs)
    if any(spec.dtype.half for line in graph.lines for spec in line.specs):
        raise UntraceableError("half precision is rounded elsewhere in a plan")
    return Plan(simplified(graph))


class PlanCache:
    """Plans by program, specs and device, at most so many. Threads may share it.

    made, found: how many plans were made, and how often one was there already.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.made = self.found = 0
        self._plans: OrderedDict[Hashable, Plan | None] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, key: Hashable, function: Function, specs: Sequence[Spec]) -> Plan | None:
        """The plan for these specs of what `key` stands for; None where there can be none."""
        wanted = key, tuple(specs)
        with self._lock:
            if wanted in self._plans:
                self._plans.move_to_end(wanted)
                self.found += 1
                return self._plans[wanted]
        made = _try(function, specs)
        with self._lock:
            self._plans[wanted] = made
            self.made += made is not None
            while len(self._plans) > self.most:
                self._plans.popitem(last=False)
        return made

    def forget(self, key: Hashable) -> None:
        """Let go of all plans of what `key` stands for."""
        with self._lock:
            for wanted in [w for w in self._plans if isinstance(w, tuple) and w[0] == key]:
                del self._plans[wanted]


def _try(function: Function, specs: Sequence[Spec]) -> Plan | None:
    try:
        return plan_of(function, specs)
    except (UntraceableError, GradwireError):
        return None
