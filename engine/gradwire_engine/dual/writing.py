"""In-place ops on dual numbers: the value is written, and its tangent."""

from __future__ import annotations

from typing import Any

from gradwire_engine.dual.value import Dual, unpacked
from gradwire_engine.dual.width import spread
from gradwire_engine.inplace import WRITE, write
from gradwire_engine.ops.cast import clone
from gradwire_engine.reading import zeros


def write_dual(name: str, target: Dual, value: Any) -> Dual:
    """Write both parts; views of them, in the target's views, show the same."""
    primal, tangent = unpacked(value, target.level)
    write(name, target.primal, primal)
    if target.tangent is not None:
        spread(target)
        write(name, target.tangent, zeros(target.spec) if tangent is None else tangent)
    elif tangent is not None:
        target.tangent = clone(tangent)
    return target


WRITE[Dual] = write_dual
