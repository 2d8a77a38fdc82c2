"""Requests seen before: checked once, and taken as checked when they come again.

A training loop posts the same text again and again, with other arrays beside it; who asks for a
gradient at many points posts the same program, or the same steps, with other numbers in it.
"""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from threading import Lock
from typing import Any, TypeGuard

from gradwire_service.host.once import FIELDS, PLANNED
from gradwire_service.host.posted import Posted
from gradwire_service.host.protocol.requests import StepsRequest
from gradwire_service.host.protocol.transforms import TRANSFORMS
from gradwire_service.http.outline import Outline, apart, outline_of

_LONGEST, _MOST = 2**14, 256
"""Characters of a text that is kept, and how many are."""


_LITERALS = ("inputs", *FIELDS)
"""What may differ between requests that are alike."""
_MAY_DIFFER = frozenset({"program", *_LITERALS})
_keeping = Lock()
_KINDS = frozenset(TRANSFORMS[name].inline for name in PLANNED)
"""Requests whose literals are read as they are."""


class Seen:
    """Checked requests by their kind and text; the models are frozen, so they can be shared."""

    __slots__ = ("_found", "_outlines", "_programs")

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._outlines: dict[Hashable, Outline] = {}
        self._programs: dict[Hashable, Any] = {}

    def get(self, kind: type[Any], text: bytes, depth: int) -> Any:
        """The request that this text is, if it or one with other numbers was checked; or None.

        depth: how deep lists and objects of a request may nest.
        """
        if len(text) > _LONGEST:
            return None
        found = self._found.get((kind, text))
        if found is not None or kind is not StepsRequest or not self._outlines:
            return found
        parts = apart(text)
        outline = None if parts is None else self._outlines.get(parts[:2])
        return None if parts is None or outline is None else outline.filled(parts.literals, depth)

    def like(self, kind: type[Any], value: dict[str, Any]) -> Any:
        """The request that this JSON value is, if one with the same program was checked; or None.

        Inputs and cotangents may differ: their elements are read where arrays are made of them.
        """
        known = self._programs.get(_frame(kind, value))
        if known is None:
            return None
        made = copy(known)
        for field in _LITERALS:
            if field in value:
                made.__dict__[field] = value[field]
        return made

    def put(self, kind: type[Any], text: bytes, value: Any, request: Any) -> None:
        """Keep a request, by its program if that is all it needs; the oldest go."""
        frame = _frame(kind, value)
        if frame is not None:
            _keep(self._programs, frame, request)
        elif len(text) <= _LONGEST:
            _keep(self._found, (kind, text), request)
            if kind is StepsRequest:
                self._put_outline(text, request)

    def _put_outline(self, text: bytes, request: StepsRequest) -> None:
        request.__dict__["steps"] = Posted(request.steps)
        parts = apart(text)
        outline = None if parts is None else outline_of(parts, request)
        if parts is not None and outline is not None:
            _keep(self._outlines, parts[:2], outline)


def _keep(found: dict[Hashable, Any], key: Hashable, request: Any) -> None:
    with _keeping:  # large bodies are read in threads
        if len(found) >= _MOST:
            found.pop(next(iter(found)), None)
        found[key] = request


def _frame(kind: type[Any], value: dict[str, Any]) -> Hashable:
    """All of a request to run source text but its literals; None where it is anything else."""
    program = value.get("program")
    if not (
        kind in _KINDS
        and type(program) is dict
        and len(program) == 3
        and type(source := program.get("source")) is str
        and len(source) <= _LONGEST
        and _names(inputs := program.get("inputs"))
        and _names(outputs := program.get("outputs"))
        and all(_by_name(kind, field, value[field]) for field in _LITERALS if field in value)
    ):
        return None
    rest = [_plain(value[field]) for field in sorted(value.keys() - _MAY_DIFFER)]
    if None in rest:
        return None
    return (kind, frozenset(value), source, tuple(inputs), tuple(outputs), tuple(rest))


def _by_name(kind: type[Any], field: str, value: object) -> bool:
    """Whether literals by name may be this: an object, or null where the field may be left out."""
    return type(value) is dict or (value is None and not kind.model_fields[field].is_required())


def _plain(value: object) -> Hashable:
    """A flag, a word or a list of names; None for anything else."""
    if value is None or type(value) in (bool, str):
        return (type(value), value)
    return tuple(value) if _names(value) else None


def _names(value: object) -> TypeGuard[list[str]]:
    """Whether this is a list of a few strings."""
    return type(value) is list and len(value) <= 64 and set(map(type, value)) <= {str}
