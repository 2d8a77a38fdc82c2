"""How a plan is made: trace, simplify, make ready to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradwire_engine.plan.passes import simplified
from gradwire_engine.plan.run_numpy import Plan
from gradwire_engine.plan.trace import trace
from gradwire_engine.spec import Spec
from gradwire_engine.symbol import UntraceableError
from gradwire_engine.tensor import Tensor

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
