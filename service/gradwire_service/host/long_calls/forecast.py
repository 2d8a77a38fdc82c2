"""Work that can't be done in the time that is left is refused before it begins."""

from __future__ import annotations

from time import monotonic

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.long_calls import Work
from gradwire_service.host.deadline import Deadline
from gradwire_service.host.long_calls.machine import MACHINE

ENDLESS = 1e7
"""Seconds from which on a time limit is none: nobody waits four months."""

_WRONG = 1.5
"""By how much a forecast may be wrong where calls of its kind were measured here."""

_WRONG_AT_FIRST = 3.0
"""By how much it may be wrong where none was."""

ASK = (
    "use smaller tensors, or give it more time: a longer Gradwire-Timeout, if the request has one, "
    "up to the server's limit (--seconds; limits.seconds of GET /v1/info)"
)


def foresee(work: Work, until: Deadline) -> float:
    """Return the seconds that work will take; deadline_exceeded where they are not left by far."""
    seconds = MACHINE.seconds(work)
    left = until.at - monotonic()
    wrong = _WRONG if MACHINE.knows(work) else _WRONG_AT_FIRST
    if seconds > wrong * left:
        raise error(
            "deadline_exceeded",
            f"{shown(work)} would take about {seconds:.3g} s here, and {max(left, 0.0):.3g} s are "
            "left of the time that the request may compute; it was not begun, and the session is "
            "as before",
            ASK,
        )
    return seconds


def cut_off(work: Work, seconds: float, took: float) -> GradwireError:
    """The error of work that was ended because its time was over."""
    return error(
        "deadline_exceeded",
        f"{shown(work)} was cut off after {took:.3g} s, when the request's time was over; about "
        f"{seconds:.3g} s had been forecast; the session is as before",
        ASK,
    )


def shown(work: Work) -> str:
    """What the work is: `svd of float64 [600, 600] (9.1 GFLOP on 8.6 MB)`."""
    does = f"{work.flops / 1e9:.3g} GFLOP on {work.nbytes / 1e6:.3g} MB"
    return (
        f"{work.name} of {work.dtype} {list(work.shape)} ({does})"
        if work.shape
        else f"the work ({does})"
    )
