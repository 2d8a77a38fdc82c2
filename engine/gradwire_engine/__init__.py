"""The autograd engine: ops, tensors, the graph they build and the walk back over it."""

from gradwire_engine.collector import importing
from gradwire_engine.kernels.heap import keep_freed_memory
from gradwire_engine.kernels.spinning import wait_briefly

wait_briefly()  # best before NumPy is imported
keep_freed_memory()
with importing():
    from gradwire_engine import apply as apply
    from gradwire_engine import detaching as detaching
    from gradwire_engine import memory as memory
    from gradwire_engine import ops as ops
    from gradwire_engine import reform as reform
    from gradwire_engine import setitem as setitem
    from gradwire_engine.batch import apply as apply_batched
    from gradwire_engine.dual import apply as apply_dual
    from gradwire_engine.dual import walk as walk_dual
    from gradwire_engine.dual import writing as write_dual
    from gradwire_engine.operators import install

    install()

WRAPPERS = (apply_batched, apply_dual, walk_dual, write_dual)
"""Imported for what they enter: how ops apply to values that a transform wraps, and the like."""
