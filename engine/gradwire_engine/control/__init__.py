"""Control flow on programs: `cond`, `scan`, `while_loop`. One node however many steps it takes.

A body is a program: it has an id, and takes and gives tensors. It is traced once for the specs that
come, so that shapes are checked before the first step; then its plan runs again and again.

known: a body for arguments of certain specs. rounds: a body run step by step, or by chunked in
chunks of steps. scan: over rows, with its node. step_back: what one step is on the way back, a body
itself, so that the way back of a scan is a scan and has derivatives. segments: fewer carries kept
for more work. outlined: loops in a trace that is looked at and not run. wrapped: under vmap and in
forward mode. cond, while_loop: the other two. called: a
body that runs once, as one node.
"""

from gradwire_engine.control.called import called, called_purely
from gradwire_engine.control.cond import cond
from gradwire_engine.control.scan import scan
from gradwire_engine.control.while_loop import while_loop

__all__ = ["called", "called_purely", "cond", "scan", "while_loop"]
