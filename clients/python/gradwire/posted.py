"""The programs that a server was told of: by their text, those used last at the end.

A server keeps so many and no more. Where it is full, those that were not used for longest are
deleted there; what the graph holds stays. Their ids are hashes, so a program that is needed once
more, or that somebody else deleted, is posted again under the same id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from json import dumps
from typing import Any

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.locks import rlock

KEPT = 4096
"""Programs that are remembered: more than the steps that wait to be sent can name."""
_WORDS = (
    "call", "backward", "program", "vmap", "scan", "while_loop", "body_fn", "true_fn", "false_fn",
)  # fmt: skip
"""Fields of steps that may name a program."""


class Posted:
    """What one client posted. post: the body's text to its id; delete: an id."""

    def __init__(self, post: Callable[[str], str], delete: Callable[[str], object]) -> None:
        self._post, self._delete = post, delete
        self._ids: OrderedDict[str, str] = OrderedDict()
        self._bodies: dict[str, tuple[str, list[Any]]] = {}
        self._gone: set[str] = set()
        self._lock = rlock()

    def put(self, body: dict[str, Any]) -> str:
        """The id of a program that the server has from now on."""
        text = dumps(body, allow_nan=False)
        with self._lock:
            found = self._ids.get(text)
            if found is None or found in self._gone:
                return self._posted(text, body.get("ops", []))
            self._ids.move_to_end(text)
            return found

    def _posted(self, text: str, ops: list[Any]) -> str:
        self.ensure(ops)
        try:
            made = self._post(text)
        except GradwireError as problem:
            if problem.code == "program_not_found" and self.forgotten(ops):
                self.ensure(ops)
            elif problem.code != "limit_exceeded" or not self._make_room():
                raise
            made = self._post(text)
        self._ids[text], self._bodies[made] = made, (text, ops)
        self._ids.move_to_end(text)
        self._gone.discard(made)
        while len(self._ids) > KEPT:
            self._forget()
        return made

    def _make_room(self) -> bool:
        """Delete a quarter of the programs that the server has; whether there were any."""
        there = [key for key in self._ids.values() if key not in self._gone]
        for key in there[: len(there) // 4 + 1]:
            self._drop(key)
        return bool(there)

    def _drop(self, key: str) -> None:
        with suppress(GradwireError):  # somebody else did
            self._delete(key)
        self._gone.add(key)

    def _forget(self) -> None:
        """Let go of the program that was not used for longest."""
        _, key = self._ids.popitem(last=False)
        if key in self._ids.values():  # it has another text
            return
        if key not in self._gone:
            self._drop(key)
        self._gone.discard(key)
        del self._bodies[key]

    def ensure(self, steps: Iterable[Any]) -> None:
        """Post again what these steps name and was deleted."""
        if not self._gone:
            return
        with self._lock:
            for key in _named(steps):
                if key in self._gone:
                    self._posted(*self._bodies[key])

    def ready(self, steps: Sequence[Any], *, whole: bool = False) -> int:
        """How many of these steps, one at least, can go now; what they name is there then.

        whole: they go together or not at all. Raises limit_exceeded where there is no room.
        """
        if not self._gone:
            return len(steps)
        needed: set[str] = set()
        with self._lock:
            most = max(1, (len(self._ids) - len(self._gone)) // 2)
            for place, step in enumerate(steps):
                keys = {key for key in _named([step]) if key in self._bodies}
                if not whole and place and keys & self._gone and len(needed | keys) > most:
                    return place
                self.ensure([step])
                needed |= keys
                for key in keys:
                    self._ids.move_to_end(self._bodies[key][0])
            if whole and needed & self._gone:  # deleted again, to make room for others of them
                raise error(
                    "limit_exceeded",
                    f"a transaction calls {len(needed)} programs, and the server has no room for "
                    "them together",
                    "do less in one transaction",
                )
        return len(steps)

    def forgotten(self, steps: Iterable[Any]) -> bool:
        """The server doesn't know a program that these steps name: whether some are ours."""
        with self._lock:
            ours = {key for key in _named(steps) if key in self._bodies} - self._gone
            self._gone |= ours
        return bool(ours)


def _named(steps: Iterable[Any]) -> Iterator[str]:
    """The programs that steps name."""
    for step in steps:
        if isinstance(step, dict):
            yield from (v for word in _WORDS if isinstance(v := step.get(word), str))


__all__ = ["Posted"]
