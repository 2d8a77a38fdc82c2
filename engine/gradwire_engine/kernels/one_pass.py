"""Parts of rules with a kernel of their own, which saves passes over memory in the plain walk.

On raw arrays such a part is its kernel; on values it is the formula that the kernel computes,
written in ops, which therefore has every further derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.op import APPLY

Part = Callable[..., Any]


def one_pass(formula: Part) -> Callable[[Part], Part]:
    """Give a formula a kernel: `xp` first, then the same parameters, with the same result."""

    def declare(kernel: Part) -> Part:
        def run(*args: Any) -> Any:
            xp = None
            for arg in args:
                kind = type(arg)
                if kind in APPLY:
                    return formula(*args)
                if xp is None:
                    xp = NAMESPACE_OF.get(kind)
            return kernel(xp, *args)

        return run

    return declare
