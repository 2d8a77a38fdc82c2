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
from gradwire_service.host.protocol.calls import CallStep, TransformStep
from gradwire_service.host.protocol.requests import StepsRequest
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.steps import TensorStep
from gradwire_service.http.codec import json

_NUMBERS = re.compile(
    rb'("value"|"call"\s*:\s*"[^"]*"\s*,\s*"args")\s*:\s*'
    rb"(\[[-+0-9.eE,\s\[\]]*\]|-?[0-9][-+0-9.eE]*)"
)
"""A literal of numbers alone, or such arguments of a call, and what they are named by. Where no
string has a backslash, none can have this inside."""
_ESCAPE = b"\\"
_ARGS = "args"
_FIELDS: dict[type[StepPart], str] = {TensorStep: "value", CallStep: _ARGS, TransformStep: _ARGS}
"""Where steps have literals of numbers."""
_AROUND = 2
"""Levels of brackets that a literal of a step stands in, but for the one that is put there."""


class Apart(NamedTuple):
    """A text taken apart: what stands around its literals, and the literals.

    named: what each is named by.
    """

    around: tuple[bytes, ...]
    named: tuple[bytes, ...]
    literals: Sequence[bytes]


def apart(text: bytes) -> Apart | None:
    """The text of a request taken apart; None where it has no literals, or may hide some."""
    if _ESCAPE in text:
        return None
    pieces = _NUMBERS.split(text)
    if len(pieces) == 1:
        return None
    return Apart(tuple(pieces[::3]), tuple(pieces[1::3]), pieces[2::3])


class Outline:
    """A checked request, and which of its steps each literal of the text belongs to, as what."""

    __slots__ = ("_last", "_places", "_request")

    def __init__(self, request: StepsRequest, places: Sequence[tuple[int, str]]) -> None:
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
            for (place, field), literal in zip(self._places, literals, strict=True):
                (value,) = json.loads(b"[%b]" % literal, depth - _AROUND)
                if field == _ARGS and type(value) is not list:
                    return None
                steps[place] = _with(steps[place], field, value)
        except (GradwireError, ValueError):
            return None
        made: StepsRequest = _with(self._request, "steps", steps)
        self._last = literals, made
        return made


def outline_of(parts: Apart, request: StepsRequest) -> Outline | None:
    """The outline of a request that was read and checked; None if a literal is no tensor's.

    Read once more with a mark in the place of each literal, the text says where each stands.
    """
    marks = [b"%b:[%d]" % (name, number) for number, name in enumerate(parts.named)]
    woven = [b""] * (2 * len(marks) + 1)
    woven[::2], woven[1::2] = parts.around, marks
    places: dict[int, tuple[int, str]] = {}
    marked = orjson.loads(b"".join(woven))["steps"]
    for place, (step, raw) in enumerate(zip(request.steps, marked, strict=True)):
        field = _FIELDS.get(type(step))
        value = raw.get(field)
        if field is not None and type(value) is list and list(map(type, value)) == [int]:
            places[value[0]] = place, field
    if len(places) != len(marks):
        return None
    return Outline(request, [places[number] for number in range(len(marks))])


def _with(model: Any, field: str, value: object) -> Any:
    """A checked model with another value that needs no check; as its `__copy__`, which copies more.

    Which fields were set is the same for both: nobody writes to that.
    """
    kind: Any = type(model)
    made = kind.__new__(kind)
    _set(made, "__dict__", {**model.__dict__, field: value})
    _set(made, "__pydantic_fields_set__", model.__pydantic_fields_set__)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


_set = object.__setattr__
