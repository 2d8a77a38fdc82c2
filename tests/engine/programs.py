"""Programs for tests: a Python function behind the face that the graph knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Python:
    """A function as a program: its result, results in a tuple, or None for none at all."""

    def __init__(self, function: Callable[..., Any], name: str = "p_test") -> None:
        self.id, self.function = name, function

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        found = self.function(*values)
        return () if found is None else found if isinstance(found, tuple) else (found,)


class Log(list[Any]):
    """Notes of what programs saw, in order."""

    def note(self, *what: Any, give: Callable[..., Any] | None = None) -> Python:
        """A program that notes these words with its values' elements, and gives as `give`."""

        def run(*values: Any) -> Any:
            seen = [None if v is None else v.numpy().tolist() for v in values]
            self.append((*what, *seen))
            return None if give is None else give(*values)

        return Python(run, "-".join(map(str, what)))
