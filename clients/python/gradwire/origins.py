"""Where the steps of programs stand in the user's Python: errors name that in place of their ids.

Programs are what functions become on their way; nobody wrote them by hand.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence

from gradwire_engine.errors import GradwireError
from gradwire_engine.locks import lock

KEPT = 1024
"""Programs that are remembered."""

_known: OrderedDict[str, tuple[str, Sequence[str]]] = OrderedDict()
_lock = lock()
_PLACE = re.compile(r"program (p_[0-9a-f]{32}), step (\d+): ")


def note(key: str, called: str, lines: Sequence[str]) -> None:
    """A program is this function, and these lines made its steps; "" where that isn't known."""
    with _lock:
        _known[key] = (called, lines)
        _known.move_to_end(key)
        if len(_known) > KEPT:
            _known.popitem(last=False)


def tell(problem: GradwireError) -> None:
    """Have an error name functions and lines where it names programs that were noted."""
    places: list[str] = []

    def named(match: re.Match[str]) -> str:
        found = _known.get(match[1])
        if found is None:
            return match[0]
        called, lines = found
        line = lines[int(match[2])] if int(match[2]) < len(lines) else ""
        places.append(f"in {called}, at {line}: " if line else f"in {called}: ")
        return ""

    rest = _PLACE.sub(named, problem.detail)
    if places:  # the innermost says the most
        problem.detail = rest
        problem.at(places[-1].removesuffix(": "))


__all__ = ["note", "tell"]
