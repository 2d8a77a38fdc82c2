"""A program within the graph of a session: run by a walk, it still says where it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradwire_engine.errors import GradwireError
from gradwire_service.host.scope import Callee


@dataclass(frozen=True, slots=True)
class Inside:
    """The program, as data that hooks, custom functions and checkpoints hold."""

    program: Callee

    @property
    def id(self) -> str:
        """The program's."""
        return self.program.id

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Run it; what goes wrong in it says in which of its steps."""
        try:
            return self.program(*values)
        except GradwireError as problem:
            raise located(problem, self.program) from problem.__cause__


def located(problem: GradwireError, program: Callee) -> GradwireError:
    """The same error, which says in which step of which program it was."""
    if problem.step is not None:
        problem.at(f"program {program.id}, step {problem.step}")
        problem.step = None
    return problem
