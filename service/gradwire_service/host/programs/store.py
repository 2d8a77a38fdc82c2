"""The programs of a server, by id."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from gradwire_engine.errors import error
from gradwire_engine.locks import lock
from gradwire_service.host.elements import Array
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.programs.build import build
from gradwire_service.host.programs.normal import written
from gradwire_service.host.programs.program import Program
from gradwire_service.host.protocol.requests import Program as Model
from gradwire_service.host.reply import Reply
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
        self._serials = count(1)
        self._coming = 0  # programs that have room and can't be found yet
        self._lock = lock()

    def made(self, model: Model, arrays: Mapping[str, Array]) -> Stored:
        """A program checked and built, which nobody finds yet."""
        program = build(model, arrays, self.find, self._limits)
        return Stored(program, model, next(self._serials), time.time())

    def put(self, model: Model, arrays: Mapping[str, Array]) -> tuple[Stored, bool]:
        """Check a program and keep it; also whether it is new."""
        return self.add(self.made(model, arrays))

    def add(self, made: Stored) -> tuple[Stored, bool]:
        """Keep a program that was built; also whether it is new."""
        with self._lock:
            found = self._stored.get(made.program.id)
            if found is not None:
                return found, False
            self._make_room(made.program)
            self._stored[made.program.id] = made
        return made, True

    def reserve(self, made: Stored) -> None:
        """Have room for a program until `keep` or `release`. Raises limit_exceeded."""
        with self._lock:
            self._make_room(made.program)
            self._coming += 1

    def keep(self, made: Stored) -> None:
        """Have a program found, which has room."""
        with self._lock:
            self._coming -= 1
            self._stored[made.program.id] = made._replace(serial=next(self._serials))

    def release(self, made: Stored) -> None:
        """Give back the room of a program that won't be kept."""
        with self._lock:
            self._coming -= 1
            self._ledger.add(-_weight(made.program))

    def put_back(self, found: Stored) -> None:
        """Keep a program again that couldn't be deleted: there is room in any case."""
        with self._lock:
            self._ledger.add(_weight(found.program))
            self._stored[found.program.id] = found._replace(serial=next(self._serials))

    def restore(self, model: Model, created: float, former: Callable[[str], Program]) -> None:
        """Keep a program that was kept before; `former` finds what it calls and was deleted."""

        def find(key: str) -> Program:
            return self.find(key) if key in self._stored else former(key)

        program = build(model, {}, find, self._limits)
        with self._lock:
            self._make_room(program)
            self._stored[program.id] = Stored(program, model, next(self._serials), created)

    def _make_room(self, program: Program) -> None:
        count = len(self._stored) + self._coming
        if count >= self._limits.programs:
            raise error(
                "limit_exceeded",
                f"there are {count} programs, and the limit is {self._limits.programs}",
                "delete programs that are no longer needed",
            )
        if not self._ledger.take(_weight(program)):
            raise self._ledger.refusal(_weight(program))

    def kept(self, key: str) -> Stored | None:
        """A program and when it was posted; None where there is none."""
        return self._stored.get(key)

    def stored(self, key: str) -> Stored:
        """The same; program_not_found where there is none."""
        found = self.kept(key)
        if found is None:
            raise error(
                "program_not_found",
                f"there is no program {key[:64]!r}",
                "POST /v1/programs answers the id of what it is given",
            )
        return found

    def find(self, key: str) -> Program:
        """The program with this id; program_not_found otherwise."""
        return self.stored(key).program

    def all(self) -> list[Stored]:
        """All programs, oldest first."""
        return list(self._stored.values())

    def delete(self, key: str) -> None:
        """Forget a program; programs that call it, and what runs, keep it."""
        with self._lock:
            found = self.stored(key)
            del self._stored[key]
            self._ledger.add(-_weight(found.program))
