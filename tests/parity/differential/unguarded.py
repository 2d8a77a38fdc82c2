"""Memory that torch reads again in a walk without a look at whether it was written meanwhile.

Of all ops in its table kron alone keeps its operands so: it looks at them through _unsafe_view,
which has a count of writes of its own. A walk after a write has silently wrong gradients, where any
other op's is refused; see docs/adr/wrong-gradients-of-torch.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.parity.differential.step import Step, references


class Unguarded:
    """What operands of kron held when it kept them."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []

    def found(self, step: Step, variables: Mapping[str, Any]) -> None:
        """Note the operands of a step that torch has done, if it may read them again."""
        results = [variables[name] for name in step.out if name in variables]
        if step.name == "kron" and any(result.requires_grad for result in results):
            seen = (variables[name].detach() for name in references(step))
            self._kept += ((operand, operand.clone()) for operand in seen)

    def written(self) -> bool:
        """Whether any of them holds something else by now: walks say nothing any more."""
        return not all(
            now.equal(then) or bool(((now == then) | ((now != now) & (then != then))).all())
            for now, then in self._kept
        )
