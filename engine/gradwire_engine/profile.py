"""What ops took, for who asks: seconds and bytes by name, each less what ran within it.

So the rows add up: an op that a hook runs counts as itself, not as the node with the hook.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

NODE = "node"
"""The kind of rows for nodes of walks; others are called by whoever times them."""


_COLUMNS = ("kind", "name", "count", "seconds", "bytes")
"""What stands in a row: all uses of one name, how many, and what they took."""


class Profile:
    """The rows of one request, in one thread. asked: bytes that were asked for so far."""

    def __init__(self, asked: Callable[[], int]) -> None:
        self._asked = asked
        self._rows: dict[tuple[str, str], list[Any]] = {}
        self._seconds, self._nbytes = 0.0, 0  # of what ran within what runs now

    def timed(self, kind: str, name: str, work: Callable[..., Any], *args: Any) -> Any:
        """What the work gives; what it took is added to the row of its name."""
        outside = self._seconds, self._nbytes
        self._seconds, self._nbytes = 0.0, 0
        asked, began = self._asked(), perf_counter()
        try:
            return work(*args)
        finally:
            seconds, nbytes = perf_counter() - began, self._asked() - asked
            row = self._rows.setdefault((kind, name), [0, 0.0, 0])
            row[0] += 1
            row[1] += seconds - self._seconds
            row[2] += nbytes - self._nbytes
            self._seconds, self._nbytes = outside[0] + seconds, outside[1] + nbytes

    def timed_step(
        self, charge: Callable[[int, int, int], None] | None, step: Callable[..., None]
    ) -> Callable[..., None]:
        """A step of a walk, timed under the node's name; with its charge, if any."""

        def both(node: Any, recipe: Any, *rest: Any) -> None:
            if charge is not None:
                charge(recipe.gradient_bytes, recipe.gradient_flops, 1)
            step(node, recipe, *rest)

        def timed(node: Any, *rest: Any) -> None:
            self.timed(NODE, node.name(), both, node, *rest)

        return timed

    def table(self, seconds: float) -> dict[str, Any]:
        """All rows, those that took longest first, under what the whole took."""
        found = sorted(self._rows.items(), key=lambda item: -item[1][1])
        rows = [dict(zip(_COLUMNS, (*key, *row), strict=True)) for key, row in found]
        return {"seconds": seconds, "bytes": self._asked(), "rows": rows}
