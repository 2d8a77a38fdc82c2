"""Plans: a function of tensors traced once for given specs, simplified, and run as a list of calls.

trace: running a function on symbols writes it down. graph: what was written down, as data. passes:
each makes a graph smaller. run_numpy: a graph as kernels that are called one after the other.
"""

from gradwire_engine.plan.graph import Graph
from gradwire_engine.plan.passes import simplified
from gradwire_engine.plan.run_numpy import Plan
from gradwire_engine.plan.trace import trace
from gradwire_engine.symbol import UntraceableError

__all__ = ["Graph", "Plan", "UntraceableError", "simplified", "trace"]
