"""Where large bodies lie: in a folder, or in pieces in the database where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlalchemy import Engine, delete, select

from gradwire_service.store import faults
from gradwire_service.store.rows import Buffer
from gradwire_service.store.schema import pieces

_PIECE = 2**22


class Folder:
    """A file for each. A name says nothing before its file is whole: it is given at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, name: str, buffers: Sequence[Buffer]) -> None:
        """Write a file, whole or not at all."""
        fresh = self._path / f"{name}.new"
        try:
            with fresh.open("wb") as stream:
                for buffer in buffers:
                    faults.point("file")
                    stream.write(buffer)
                stream.flush()
                os.fsync(stream.fileno())
            fresh.replace(self._path / name)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        self._sync()

    def _sync(self) -> None:
        handle = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return (self._path / name).read_bytes()

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, if they are there."""
        for name in names:
            (self._path / name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """All files, those included that were never finished."""
        return [entry.name for entry in os.scandir(self._path)]


class Pieces:
    """Rows of a few megabytes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, name: str, buffers: Sequence[Buffer]) -> None:
        """Write the pieces in a transaction of their own."""
        rows = [
            {"name": name, "number": number, "data": data}
            for number, data in enumerate(_cut(buffers))
        ]
        faults.point("file")
        with self._engine.begin() as connection:
            for row in rows:
                connection.execute(pieces.insert(), row)

    def read(self, name: str) -> bytes:
        """All of its pieces."""
        asked = select(pieces.c.data).where(pieces.c.name == name).order_by(pieces.c.number)
        with self._engine.connect() as connection:
            return b"".join(connection.execute(asked).scalars())

    def remove(self, names: Iterable[str]) -> None:
        """Remove their rows."""
        with self._engine.begin() as connection:
            for name in names:
                connection.execute(delete(pieces).where(pieces.c.name == name))

    def names(self) -> list[str]:
        """All that have pieces."""
        with self._engine.connect() as connection:
            return list(connection.execute(select(pieces.c.name).distinct()).scalars())


Files = Folder | Pieces
"""Bytes by name. What was written is on the disk when `write` returns."""


def _cut(buffers: Sequence[Buffer]) -> Iterable[bytes]:
    for buffer in buffers:
        view = memoryview(buffer)
        for start in range(0, len(view), _PIECE):
            yield bytes(view[start : start + _PIECE])
