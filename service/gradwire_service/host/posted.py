"""Steps that were posted before: what is found out about them once is kept with them.

The same list comes again in every round of a loop, or one like it with other numbers in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradwire_service.host.protocol.step import StepPart

Way = Callable[[Any, Any], None]
"""Does a step for whoever does the steps: see `ways.py`."""


class Posted(list[StepPart]):
    """The steps of a request that was checked. Nobody changes them, nor lists that are alike.

    ways: how each step is done, where that was found out; shared by all posts that differ only in
    the elements of their literals.
    """

    __slots__ = ("ways",)

    def __init__(self, steps: Iterable[StepPart], ways: list[Way | None] | None = None) -> None:
        super().__init__(steps)
        self.ways: list[Way | None] = [None] * len(self) if ways is None else ways
