"""What the user's Python raises while it is written down, as the host meets it.

Programs have no step that raises. Where the user's function did, stands one that can't go well. The
host's error tells its text, by which the user's exception is found and raised in its place.
"""

from __future__ import annotations

from itertools import count
from traceback import extract_tb
from weakref import WeakValueDictionary

from gradwire.transport import Step
from gradwire_engine.errors import GradwireError


class Fault:
    """An exception of the user's, which a walk raises that comes to where it was raised.

    text: the same for all of its class in one function, lest each makes another program.
    """

    def __init__(self, called: str, problem: Exception) -> None:
        self.problem = _without_frames(problem)
        self.text = f"! {called} raised {type(problem).__name__}"
        _known[next(_numbers)] = self


def _without_frames(problem: Exception) -> Exception:
    """An exception that can be kept: frames hold all of what called them. A note has its line."""
    one: BaseException | None = problem
    while one is not None and one.__traceback__ is not None:
        last = extract_tb(one.__traceback__)[-1]
        line = f"raised at {last.filename}:{last.lineno}"
        if line not in getattr(one, "__notes__", ()):
            one.add_note(line)
        one.__traceback__ = None
        one = one.__cause__ or one.__context__
    return problem


_numbers = count()
_known: WeakValueDictionary[int, Fault] = WeakValueDictionary()  # in the order they were raised


def ending(text: str, given: str, out: str) -> Step:
    """A step that fails with an error that tells this text, which begins with `!`."""
    return {"op": "einsum", "args": [text, given], "out": out}


def meant(problem: GradwireError) -> Exception:
    """The user's exception where an error tells of one that is still held; else the error."""
    return next((f.problem for f in reversed(_told_by(problem))), problem)


def tells(problem: GradwireError, raised: Exception) -> bool:
    """Whether an error is what an exception of the user's became."""
    return any(fault.problem is raised for fault in _told_by(problem))


def _told_by(problem: GradwireError) -> list[Fault]:
    if "'! " not in problem.detail:
        return []
    return [fault for fault in list(_known.values()) if repr(fault.text) in problem.detail]


__all__ = ["Fault", "ending", "meant", "tells"]
