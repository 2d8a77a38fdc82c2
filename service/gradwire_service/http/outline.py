"""Requests that are alike up to the numbers of their tensors: checked once, then filled in.

Who asks for a gradient at many points in a session posts the same steps with other numbers. Their
text is compared piece by piece, so what is between the numbers is neither read nor checked again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from gradwire_engine.errors import GradwireError
from gradwire_service.host.posted import Posted
from gradwire_service.host.protocol import StepsRequest, TensorStep
from gradwire_service.http.codec import json

_NUMBERS = re.compile(rb'"value"\s*:\s*(\[[-+0-9.eE,\s\[\]]*\]|-?[0-9][-+0-9.eE]*)')
"""A literal of numbers alone. Where no string has a backslash, none can have this inside."""
_ESCAPE = b"\\"
_AROUND = 2
"""Levels of brackets that a literal of a step stands in, but for the one that is put there."""


class Apart(NamedTuple):
    """A text taken apart: what stands around its literals, and the literals."""

    around: tuple[bytes, ...]
    literals: Sequence[bytes]


def apart(text: bytes) -> Apart | None:
    """The text of a request taken apart; None where it has no literals, or may hide some."""
    if _ESCAPE in text:
        return None
    pieces = _NUMBERS.split(text)
    return Apart(tuple(pieces[::2]), pieces[1::2]) if len(pieces) > 1 else None


class Outline:
    """A checked request, and which of its steps each literal of the text belongs to."""

    __slots__ = ("_last", "_places", "_request")

    def __init__(self, request: StepsRequest, places: Sequence[int]) -> None:
        self._request, self._places = request, places
        self._last: tuple[Sequence[bytes], StepsRequest] = ((), request)

    def filled(self, literals: Sequence[bytes], depth: int) -> StepsRequest | None:
        """The request with these literals, the same one if they are the last one's again.

        None where one of them is no JSON, or not what may stand there: reading all of it says why.
        """
        before, request = self._last
        if before == literals:
            return request
        known: Any = self._request.steps
        steps = Posted(known, known.ways)
        try:
            for place, literal in zip(self._places, literals, strict=True):
                (value,) = json.loads(b"[%b]" % literal, depth - _AROUND)
                steps[place] = _with(steps[place], "value", value)
        except (GradwireError, ValueError):
            return None
        made: StepsRequest = _with(self._request, "steps", steps)
        self._last = literals, made
        return made


def outline_of(parts: Apart, request: StepsRequest) -> Outline | None:
    """The outline of a request that was read and checked; None if a literal is no tensor's.

    Read once more with a mark in the place of each literal, the text says where each stands.
    """
    marks = [b'"value":[%d]' % number for number in range(len(parts.literals))]
    woven = [b""] * (2 * len(marks) + 1)
    woven[::2], woven[1::2] = parts.around, marks
    places: dict[int, int] = {}
    marked = orjson.loads(b"".join(woven))["steps"]
    for place, (step, raw) in enumerate(zip(request.steps, marked, strict=True)):
        value = raw.get("value")
        if type(step) is TensorStep and type(value) is list and list(map(type, value)) == [int]:
            places[value[0]] = place
    if len(places) != len(marks):
        return None
    return Outline(request, [places[number] for number in range(len(marks))])


def _with(model: Any, field: str, value: object) -> Any:
    """A checked model with another value that needs no check."""
    made = model.__copy__()
    made.__dict__[field] = value
    return made
