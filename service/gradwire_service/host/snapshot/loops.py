"""Loops in a snapshot: what the way back of a scan or a while_loop is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradwire_engine.control.called import PullBack
from gradwire_engine.control.rounds import Loop
from gradwire_engine.control.scan import WayBack, run
from gradwire_engine.control.seeded import Counted, Seeded
from gradwire_engine.control.segments import Segment
from gradwire_engine.control.step_back import StepBack
from gradwire_engine.control.while_loop import Unbounded
from gradwire_engine.snapshot.fields import flag, flags, listed, need, text, whole

Write = Callable[[Any], Any]
"""From what holds a program to data."""
Read = Callable[[Any], Any]

_LONGEST, _SEEDS = 128, 2**64


def _loop(write: Write, loop: Loop) -> list[Any]:
    return [write(loop.body), loop.carries, loop.slices, loop.asked]


def _read_loop(read: Read, data: Any) -> Loop:
    body, carries, slices, asked = listed(data, "a loop", 4)
    carries, slices = whole(carries, "carries"), whole(slices, "slices")
    return Loop(read(body), carries, slices, text(asked, "what a loop is called", _LONGEST))


def _way_back(write: Write, way: WayBack) -> list[Any]:
    return [_loop(write, way.loop), list(way.wanted), way.collected, way.times, way.reverse]


def _read_way_back(read: Read, data: Any) -> WayBack:
    loop, wanted, collected, times, reverse = listed(data, "the way back of a loop", 5)
    made = _read_loop(read, loop)
    wants = flags(wanted, "wanted")
    need(made.carries + made.slices <= len(wants), "a loop wants less than it has")
    return WayBack(
        made,
        wants,
        whole(collected, "collected"),
        whole(times, "steps of a loop"),
        flag(reverse, "reverse"),
    )


def _step_back(write: Write, step: StepBack) -> list[Any]:
    return [_loop(write, step.loop), *map(list, (step.wanted, step.collected, step.kept))]


def _read_step_back(read: Read, data: Any) -> StepBack:
    loop, *parts = listed(data, "a step back", 4)
    wanted, collected, kept = (flags(part, "a step back") for part in parts)
    return StepBack(_read_loop(read, loop), wanted, collected, kept)


def _read_segment(read: Read, data: Any) -> Segment:
    loop, times, reverse = listed(data, "a segment", 3)
    return Segment(
        run, _read_loop(read, loop), whole(times, "steps of a segment"), flag(reverse, "reverse")
    )


def _read_seeded(read: Read, data: Any) -> Seeded:
    body, place, seed, draw = listed(data, "a body that draws", 4)
    digits = text(seed, "a seed", _LONGEST)
    need(digits.lstrip("-").isdecimal(), "a seed is no number")
    return Seeded(read(body), whole(place, "a place"), int(digits), whole(draw, "draws"))


def _read_counted(read: Read, data: Any) -> Counted:
    program, steps = listed(data, "a body that counts", 2)
    return Counted(read(program), flag(steps, "steps"))


def _read_pull_back(read: Read, data: Any) -> PullBack:
    loop, wanted = listed(data, "the way back of a call", 2)
    return PullBack(_read_loop(read, loop), flags(wanted, "wanted"))


WRITE: Mapping[type, tuple[str, Callable[[Write, Any], Any]]] = {
    WayBack: ("loop", _way_back),
    StepBack: ("step_back", _step_back),
    PullBack: ("call", lambda write, it: [_loop(write, it.loop), list(it.wanted)]),
    Segment: ("segment", lambda write, it: [_loop(write, it.loop), it.times, it.reverse]),
    Seeded: ("seeded", lambda write, it: [write(it.body), it.place, str(it.seed), it.draw]),
    Counted: ("counted", lambda write, it: [write(it.program), it.steps]),
    Unbounded: ("unbounded", lambda _, it: it.id),
}
"""What each kind is called in a snapshot, and what stands there for it."""

READ: Mapping[str, Callable[[Read, Any], Any]] = {
    "loop": _read_way_back,
    "step_back": _read_step_back,
    "call": _read_pull_back,
    "segment": _read_segment,
    "seeded": _read_seeded,
    "counted": _read_counted,
    "unbounded": lambda _, data: Unbounded(text(data, "the id of a program", _LONGEST)),
}
"""The opposite."""
