"""Requests seen before: a training loop posts the same text again and again, with other arrays."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

_LONGEST, _MOST = 2**14, 256
"""Characters of a text that is kept, and how many are."""


class Seen:
    """Checked requests by their kind and text; the models are frozen, so they can be shared."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def get(self, kind: type[Any], text: bytes) -> Any:
        """The request that this text was checked to be, or None."""
        return self._found.get((kind, text)) if len(text) <= _LONGEST else None

    def put(self, kind: type[Any], text: bytes, request: Any) -> None:
        """Keep a request; the oldest goes where there are too many."""
        if len(text) > _LONGEST:
            return
        if len(self._found) >= _MOST:
            del self._found[next(iter(self._found))]
        self._found[kind, text] = request
