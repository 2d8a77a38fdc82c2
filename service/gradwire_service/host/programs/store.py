"""The programs of a server, by id."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from gradwire_engine.errors import error
from gradwire_service.host.elements import Array
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.programs.build import build
from gradwire_service.host.programs.normal import written
from gradwire_service.host.programs.program import Program
from gradwire_service.host.protocol import Program as Model
from gradwire_service.host.reply import Reply
from gradwire_service.host.scope import Callee
from gradwire_service.host.sessions import timestamp

_LISTS, _LEAST = 20, 2**12
"""Bytes that a byte of JSON takes once it is steps, lists and numbers; and what a program takes."""


class Stored(NamedTuple):
    """A program in the store, as it was first posted."""

    program: Program
    model: Model
    serial: int
    created: float

    def brief(self) -> Reply:
        """What it is called and takes."""
        program = self.program
        return {
            "id": program.id,
            "inputs": [
                {
                    "name": entry.name,
                    "dtype": entry.dtype,
                    "shape": None if entry.shape is None else list(entry.shape),
                }
                for entry in program.entries
            ],
            "outputs": list(program.outputs),
            "steps": len(program.steps),
            "size": program.size,
            "bytes": program.nbytes,
            "created": timestamp(self.created),
        }

    def describe(self) -> Reply:
        """The same, with what it does and the programs that it calls."""
        source = self.model.source
        ops = None if source is not None else [written(step) for step in self.program.steps]
        return self.brief() | {"calls": list(self.program.calls), "ops": ops, "source": source}


def _weight(program: Program) -> int:
    """What it takes in memory, in bytes, about."""
    return _LEAST + _LISTS * program.nbytes


class Programs:
    """Programs by id, at most `limits.programs` of them; what runs holds its own."""

    def __init__(self, limits: Limits, ledger: Ledger) -> None:
        self._limits, self._ledger = limits, ledger
        self._stored: dict[str, Stored] = {}
        self._foreign: WeakValueDictionary[str, Callee] = WeakValueDictionary()
        self._serials = count(1)
        self._lock = threading.Lock()

    def admit(self, program: Callee) -> None:
        """Let something else than a program be called by its id, as long as somebody holds it.

        For code of the process that the host is embedded in; what comes from afar is data.
        """
        self._foreign[program.id] = program

    def put(self, model: Model, arrays: Mapping[str, Array]) -> tuple[Stored, bool]:
        """Check a program and keep it; also whether it is new."""
        program = build(model, arrays, self.find, self._limits)
        with self._lock:
            found = self._stored.get(program.id)
            if found is not None:
                return found, False
            self._make_room(program)
            made = Stored(program, model, next(self._serials), time.time())
            self._stored[program.id] = made
        return made, True

    def restore(self, model: Model, created: float, former: Callable[[str], Program]) -> None:
        """Keep a program that was kept before; `former` finds what it calls and was deleted."""

        def find(key: str) -> Program:
            return self.find(key) if key in self._stored else former(key)

        program = build(model, {}, find, self._limits)
        with self._lock:
            self._make_room(program)
            self._stored[program.id] = Stored(program, model, next(self._serials), created)

    def _make_room(self, program: Program) -> None:
        if len(self._stored) >= self._limits.programs:
            raise error(
                "limit_exceeded",
                f"there are {len(self._stored)} programs, and the limit is {self._limits.programs}",
                "delete programs that are no longer needed",
            )
        if not self._ledger.take(_weight(program)):
            raise self._ledger.refusal(_weight(program))

    def stored(self, key: str) -> Stored:
        """A program and when it was posted; program_not_found otherwise."""
        found = self._stored.get(key)
        if found is None:
            raise error(
                "program_not_found",
                f"there is no program {key[:64]!r}",
                "POST /v1/programs answers the id of what it is given",
            )
        return found

    def find(self, key: str) -> Program:
        """The program with this id; program_not_found otherwise."""
        foreign: Any = self._foreign.get(key)
        return self.stored(key).program if foreign is None else foreign

    def all(self) -> list[Stored]:
        """All programs, oldest first."""
        return list(self._stored.values())

    def delete(self, key: str) -> None:
        """Forget a program; programs that call it, and what runs, keep it."""
        with self._lock:
            found = self.stored(key)
            del self._stored[key]
            self._ledger.add(-_weight(found.program))
