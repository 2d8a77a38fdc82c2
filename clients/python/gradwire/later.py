"""Steps that are recorded while a walk is under way, and done after it.

What they make can be looked at before that: on a copy of the session, in which the walk and these
steps are done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradwire.pending import Pending, users_line
from gradwire.transport import Values
from gradwire_engine.errors import GradwireError, error

if TYPE_CHECKING:
    from gradwire.recorder import Recorder


class Later:
    """What a function records. before: what will have been done by then, this included."""

    def __init__(self, session: Recorder, called: str, before: Callable[[], Pending]) -> None:
        self.pending = Pending()
        self.names: set[str] = set()  # given in it
        self.around = Pending()  # what was recorded before, and is sent first
        self.looked = False
        self.may_fail = False  # a walk or an op of it, by elements
        self._nested = session._later is not None
        self._session, self._called, self._before = session, called, before

    def look(self, names: Sequence[str]) -> Values:
        """Tensors as they will be; nothing is sent where none is asked for."""
        if not names:
            self.may_fail = True  # what can't is not sent at once
            return {}
        if self._nested:
            raise looks_at_values(self._called)
        self.looked = True
        done = self._before()
        return self._session.imagined(done.steps, done.arrays, names, self._called)


def looks_at_values(called: str) -> GradwireError:
    """The refusal of a function that can't be called where the values are."""
    return error(
        "untraceable",
        f"{called} looks at the value of a tensor at {users_line()}; it is only written "
        "down here, and runs where the tensors are",
        "use ops in place of Python's if, float() and NumPy (torch.where, …); or look at the "
        "value outside of the function",
    )


__all__ = ["Later", "looks_at_values"]
