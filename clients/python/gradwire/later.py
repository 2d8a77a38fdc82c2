"""Steps that are recorded while a walk is under way, and done after it.

What they make can be looked at before that, where the host is in this process: on a copy of the
session, in which the walk and these steps are done. Elsewhere to look is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradwire.pending import Pending, users_line
from gradwire.transport import Step, Values
from gradwire_engine.errors import GradwireError, error

if TYPE_CHECKING:
    from gradwire.session import Session


class Later:
    """What a function records. before: the steps that will have been done by then."""

    def __init__(self, session: Session, called: str, before: Callable[[], list[Step]]) -> None:
        self.pending = Pending()
        self.around = Pending()  # what was recorded before, and is sent first
        self._nested = session._later is not None
        self._session, self._called, self._before = session, called, before

    def look(self, names: Sequence[str]) -> Values:
        """Tensors as they will be; nothing is sent where none is asked for."""
        if not names:
            return {}
        if self._nested or not at_hand(self._session):
            raise looks_at_values(self._called)
        steps = [*self._before(), *self.pending.steps]
        return self._session.imagined(steps, self.pending.arrays, names)


def at_hand(session: Session) -> bool:
    """Whether the host is this process, which can try things out."""
    transport = getattr(session, "transport", None)
    return getattr(transport, "url", "") == "embedded"


def looks_at_values(called: str) -> GradwireError:
    """The refusal of a function that can't be called where the values are."""
    return error(
        "untraceable",
        f"{called} looks at the value of a tensor at {users_line()}; it is only written "
        "down here, and runs where the tensors are",
        "use ops in place of Python's if, float() and NumPy (torch.where, …); or look at the "
        "value outside of the function",
    )


__all__ = ["Later", "at_hand", "looks_at_values"]
