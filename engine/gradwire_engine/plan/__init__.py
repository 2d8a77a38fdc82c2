"""Plans: a function of tensors traced once for given specs, simplified, and run fused.

`plan_of(function, specs)` makes one; `plan.run(arrays)` runs it; `parts.parts_of(plan)` says what
it does. Who needs them again keeps them.

trace: running a function on symbols writes it down. graph: what was written down, as ops. passes:
each makes a graph smaller. lower, record, probe: kernels taken apart into steps of the array
library. code: those steps, as data. algebra, sums: fewer of them. regions, space: which steps run
together over the same elements. sweep, bound, scratch: a region block by block. run_numpy: all of
it in order. figures: what a graph takes, before it runs. parts: the same of a plan, region by
region, and of loops. planned: the front door.

parted: the step of a loop in parts, by what has to wait for the step before. chunk, chunk_making,
chunk_values, chunk_core: many steps as one list of calls. fixed: calls on arrays that stay where
they are. buffers, uses: which values share memory.
"""

from gradwire_engine.plan.code import Code
from gradwire_engine.plan.graph import Graph
from gradwire_engine.plan.lower import lowered
from gradwire_engine.plan.passes import simplified
from gradwire_engine.plan.planned import plan_of
from gradwire_engine.plan.run_numpy import Plan
from gradwire_engine.plan.trace import trace
from gradwire_engine.symbol import UntraceableError

__all__ = [
    "Code",
    "Graph",
    "Plan",
    "UntraceableError",
    "lowered",
    "plan_of",
    "simplified",
    "trace",
]
