"""What the user's Python raises while it is written down, as the host meets it.

Programs have no step that raises. Where the user's function did, stands one that can't go well. The
host's error tells its text, by which the user's exception is found and raised in its place.
"""

from __future__ import annotations

from itertools import count
from weakref import WeakValueDictionary

from gradwire.transport import Step
from gradwire_engine.errors import GradwireError


class Fault:
    """An exception of the user's, which a walk raises that comes to where it was raised.

    It is kept as a copy without the frames that it passed, which would hold all that called it; a
    note has its line. text: the same for all of its class in one function, lest each makes another
    program.
    """

    def __init__(self, called: str, problem: Exception) -> None:
        self.text = text_of(called, problem)
        self._problem, self._number = _copied(problem), next(_numbers)
        place = problem.__traceback__
        if place is not None:
            while place.tb_next is not None:
                place = place.tb_next
            file = place.tb_frame.f_code.co_filename
            self._problem.add_note(f"raised at {file}:{place.tb_lineno}")
        vars(self._problem)[_MARK] = self._number
        _known[self._number] = self

    def again(self) -> Exception:
        """The exception, to be raised; another object each time, since a raised one has frames."""
        return _copied(self._problem)

    def became(self, problem: Exception) -> bool:
        """Whether an exception is one that `again` gave."""
        return vars(problem).get(_MARK) == self._number


_MARK = "_gradwire_fault"
_numbers = count()
_known: WeakValueDictionary[int, Fault] = WeakValueDictionary()  # in the order they were raised


def _copied(problem: Exception) -> Exception:
    """An exception of the same class that says the same, but wasn't raised yet."""
    from copy import copy  # most programs never come here

    try:
        made = copy(problem)
    except Exception:  # its class takes other arguments than it has
        made = problem
    if type(made) is not type(problem) or made is problem:
        made = type(problem).__new__(type(problem), *problem.args)
        vars(made).update(vars(problem))
    if hasattr(problem, "__notes__"):
        made.__notes__ = list(problem.__notes__)
    return made


def text_of(called: str, problem: Exception) -> str:
    """What stands in a program for an exception that a function raised."""
    return f"! {called} raised {type(problem).__name__}"


def ending(text: str, given: str, out: str) -> Step:
    """A step that fails with an error that tells this text, which begins with `!`."""
    return {"op": "einsum", "args": [text, given], "out": out}


def meant(problem: GradwireError) -> Exception:
    """The user's exception where an error tells of one that is still held; else the error."""
    return next((f.again() for f in reversed(_told_by(problem))), problem)


def tells(problem: GradwireError, raised: Exception) -> bool:
    """Whether an error is what an exception of the user's became."""
    return any(fault.became(raised) for fault in _told_by(problem))


def _told_by(problem: GradwireError) -> list[Fault]:
    if "'! " not in problem.detail:
        return []
    return [fault for fault in list(_known.values()) if repr(fault.text) in problem.detail]


__all__ = ["Fault", "ending", "meant", "tells", "text_of"]
