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
    from gradwire_engine.operators import install

    install()

WRAPPERS = (apply_batched,)
"""Imported for what it enters: how ops apply to values that a transform wraps."""
