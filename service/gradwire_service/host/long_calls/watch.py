"""The watch of a request's time over calls that take long."""

from __future__ import annotations

from time import monotonic
from typing import Any, NoReturn

from gradwire_engine.errors import GradwireError
from gradwire_engine.long_calls import Function, Work
from gradwire_service.host.long_calls.forecast import ENDLESS, cut_off, foresee
from gradwire_service.host.long_calls.machine import MACHINE
from gradwire_service.host.long_calls.processes import POSSIBLE, PROCESSES
from gradwire_service.host.memory import Meter, TooMuchHere

APART = 0.1
"""Seconds from which on a decomposition runs in a process of its own. SciPy's keep Python's lock,
so that nothing else of this process runs meanwhile; and to send a matrix there and back takes some
hundredths of the call."""


class Watching:
    """Watches for a meter, on whatever thread of its request."""

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def foresee(self, work: Work) -> None:
        """Refuse work that would take too long: deadline_exceeded."""
        self._foresee(work)

    def _foresee(self, work: Work) -> float:
        """Return its forecast, in seconds."""
        if self._meter.allowance is not None:
            raise TooMuchHere  # on the event loop, where not even the rates may be measured
        return foresee(work, self._meter.until)

    def look(self, work: Work | None = None, took: float = 0.0) -> None:
        """Raise deadline_exceeded or shutting_down where the work is to end."""
        try:
            self._meter.look()
        except GradwireError as problem:
            if work is None:
                raise
            self._cut_off(problem, work, MACHINE.seconds(work), took)

    def _cut_off(self, problem: GradwireError, work: Work, seconds: float, took: float) -> NoReturn:
        """Raise that work was ended, and note that it takes longer than it took until then."""
        MACHINE.learn(work, took, more=True)
        if self._meter.timed_out:
            raise cut_off(work, seconds, took) from problem
        raise problem

    def learn(self, work: Work, seconds: float) -> None:
        """Note what work took."""
        MACHINE.learn(work, seconds)

    def run(self, work: Work, call: Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what a call gives: of this process if it is short, else of one of its own."""
        self.look()
        seconds = self._foresee(work)
        began = monotonic()
        if seconds < APART or not POSSIBLE:
            found = call.own(*args, **named)
        else:
            found = self._apart(work, call, args, named, seconds)
        MACHINE.learn(work, monotonic() - began)
        return found

    def _apart(
        self,
        work: Work,
        call: Function,
        args: tuple[Any, ...],
        named: dict[str, Any],
        seconds: float,
    ) -> Any:
        began = monotonic()
        try:
            return PROCESSES.run(call, args, named, self.look)
        except GradwireError as problem:  # of the look: no library raises these
            self._cut_off(problem, work, seconds, monotonic() - began)


def watching(meter: Meter, device: str = "cpu") -> Watching | None:
    """The watch of a meter; None where nobody limits the time, or another processor computes."""
    return Watching(meter) if device == "cpu" and meter.until.compute < ENDLESS else None
