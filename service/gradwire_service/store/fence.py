"""A row that says which transaction was the last; every transaction begins by moving it on.

So it is known what became of a commit whose confirmation was lost, and a server that has lost its
lock to another one (PostgreSQL was started anew between) can't write beside it.
"""

from __future__ import annotations

from secrets import token_hex

from sqlalchemy import Connection, Engine, bindparam, select, update

from gradwire_service.store import faults
from gradwire_service.store.schema import about

_NAME = "transaction"


_here = about.c.name == _NAME
_TAKE = update(about).where(_here).values(value=bindparam("value"))
_MOVE = _TAKE.where(about.c.value == bindparam("known"))


class Overtaken(Exception):
    """Another server writes here."""


class Fence:
    """The row as this server knows it: where it may stand; one place but for commits in doubt."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._server, self._number = token_hex(8), 0
        self._places = [self._next()]
        with engine.begin() as connection:
            values = {"value": self._places[0]}
            if not connection.execute(_TAKE, values).rowcount:
                connection.execute(about.insert(), [{"name": _NAME, **values}])

    def _next(self) -> str:
        self._number += 1
        return f"{self._server}-{self._number}"

    def move(self, connection: Connection) -> str:
        """Move it on, in a transaction; its new place. Raises Overtaken."""
        place = self._next()
        for known in self._places:
            if connection.execute(_MOVE, {"known": known, "value": place}).rowcount:
                return place
        raise Overtaken("another server writes here: its start ended this one's right to")

    def moved(self, place: str) -> None:
        """The transaction is on the disk."""
        self._places = [place]

    def doubted(self, place: str) -> None:
        """Nobody knows whether it is."""
        self._places.append(place)

    def reached(self, place: str) -> bool:
        """Whether it is: it waits for a transaction that the database is still at."""
        faults.point("outcome")
        with self._engine.connect() as connection:
            asked = select(about.c.value).where(_here).with_for_update()
            return bool(connection.execute(asked).scalar() == place)
