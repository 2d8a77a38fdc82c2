"""Facts about shapes that kernels work out again and again: the small ones are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SMALL = 4096
"""Elements up to which a result is kept."""


def kept(size: Callable[P, int]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep what a function of hashable arguments gives, where that has few elements.

    size: from the same arguments to about how many.
    """

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        known = lru_cache(maxsize=256)(function)

        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            if size(*args, **kwargs) > SMALL:
                return function(*args, **kwargs)
            found: R = known(*args, **kwargs)  # type: ignore[arg-type]
            return found

        return run

    return declare
