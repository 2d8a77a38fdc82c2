"""The cycle collector rests while modules are imported: it would only look at them again and again.

Imported first; what imports the rest calls `done` at its end.
"""

from __future__ import annotations

import gc

_RAN = gc.isenabled()
gc.disable()


def done() -> None:
    """Let it run again, if it did before."""
    if _RAN:
        gc.enable()


__all__ = ["done"]
