"""Opening a store: a folder of this machine, or a database by its URL."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import URL, Engine, create_engine, event, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from gradwire_engine.errors import GradwireError, error
from gradwire_service.store.fence import Fence
from gradwire_service.store.files import Files, Folder, Pieces
from gradwire_service.store.heads import Heads
from gradwire_service.store.schema import FORMAT, about, create_all

_DATABASE, _ARRAYS = "gradwire.db", "arrays"
_OWNER_ONLY = 0o600
LOCK = 0x6772616477697265
"""The number of PostgreSQL's advisory lock: "gradwire"."""
LOCK_PATIENCE, _LOCK_PAUSE = 20.0, 0.1
"""Seconds: a killed server has its lock until PostgreSQL notices that the connection ended."""
_PRAGMAS = (
    "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA cell_size_check=ON",
    "PRAGMA busy_timeout=10000",
)  # fmt: skip


class Opened(NamedTuple):
    """A database, where large bodies lie, and how to let go of it. where: for messages."""

    engine: Engine
    files: Files
    heads: Heads | None
    unlock: Callable[[], None]
    where: str


def opened(data: str, version: str) -> tuple[Opened, Fence]:
    """Open what `--data` names and hold it against others; made where there is none."""
    try:
        found = _database(data) if "://" in data else _folder(Path(data))
    except (SQLAlchemyError, OSError, ImportError) as problem:
        raise _unusable(_shown(data), problem) from None
    try:
        _check_format(found, version)
        return found, Fence(found.engine)
    except BaseException as problem:
        found.engine.dispose()
        found.unlock()
        if isinstance(problem, SQLAlchemyError):
            raise _unusable(found.where, problem) from None
        raise


def _folder(path: Path) -> Opened:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = path / _DATABASE
    engine = _sqlite(database)
    unlock = _locked(database)
    return Opened(engine, Folder(path / _ARRAYS), Heads(path / "heads"), unlock, str(path))


def _database(asked: str) -> Opened:
    url = make_url(asked)
    kind, where = url.get_backend_name(), url.render_as_string(hide_password=True)
    if kind == "postgresql":
        return _postgresql(url, where)
    if kind == "sqlite":
        return _file(url, where)
    hint = "name a folder, or a URL of postgresql+psycopg:// or sqlite:///"
    raise _wrong(f"{where}: sessions can't be kept in {kind}", hint)


def _file(url: URL, where: str) -> Opened:
    """A database of SQLite's by its URL: all of it in one file."""
    name = url.database or ":memory:"
    path = Path(name).absolute()
    if url.query or name == ":memory:" or name.startswith("file:"):
        hint = "write sqlite:////folder/name.db, with nothing behind it"
        raise _wrong(f"{where} names no file", hint)
    if path.with_name(_ARRAYS).is_dir() and path.name == _DATABASE:
        what = f"{where} is only a part of what is kept in {path.parent}"
        raise _wrong(what, f"pass --data {path.parent}")
    engine = _sqlite(path)
    unlock = _locked(path)
    return Opened(engine, Pieces(engine), Heads(_beside(path, "-heads")), unlock, where)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _locked(database: Path) -> Callable[[], None]:
    """Hold a database's file against other servers, until what is given is called."""
    real = database.resolve()
    lock = os.open(_beside(real, "-lock"), os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise _taken(str(database)) from None
    return lambda: os.close(lock)


def _sqlite(path: Path) -> Engine:
    """A database's file; a new one, and what SQLite writes beside it, only its owner may read."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY))
    engine = create_engine(URL.create("sqlite", database=str(path)))
    event.listen(engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _postgresql(url: URL, where: str) -> Opened:
    engine = create_engine(url, pool_pre_ping=True)
    held = engine.connect()
    until = time.monotonic() + LOCK_PATIENCE
    while not held.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": LOCK}).scalar():
        held.commit()
        if time.monotonic() > until:
            held.close()
            raise _taken(where)
        time.sleep(_LOCK_PAUSE)
    held.commit()
    return Opened(engine, Pieces(engine), None, held.close, where)


def _check_format(found: Opened, version: str) -> None:
    """Refuse data of a newer server; enter the format into new data."""
    if inspect(found.engine).has_table(about.name):
        with found.engine.connect() as connection:
            rows = connection.execute(select(about.c.name, about.c.value)).tuples().all()
        said: dict[str, str] = dict(rows)
        if not said.get("format", "").isdigit():
            raise _unusable(found.where, "it doesn't say its format")
        if int(said["format"]) > FORMAT:
            raise _wrong(
                f"{found.where} has format {said['format']}, of gradwire "
                f"{said.get('version', '?')}; this is gradwire {version}, which reads formats up "
                f"to {FORMAT}",
                "run the newer version, or restore a backup made by this one",
            )
        return
    create_all(found.engine)
    with found.engine.begin() as connection:
        said = {"format": str(FORMAT), "version": version}
        connection.execute(about.insert(), [{"name": n, "value": v} for n, v in said.items()])


def _wrong(detail: str, hint: str) -> GradwireError:
    return error("invalid_argument", f"--data: {detail}", hint)


def _taken(where: str) -> GradwireError:
    hint = "end that server first, or give this one data of its own"
    return _wrong(f"another server uses {where}", hint)


def _unusable(where: str, problem: object) -> GradwireError:
    text = str(getattr(problem, "orig", None) or problem).strip().partition("\n")[0]
    missing = isinstance(problem, ImportError | ArgumentError)
    return _wrong(
        f"{where} can't be used: {text}",
        "name a folder, or a SQLAlchemy URL whose driver is installed"
        if missing
        else "see that it can be reached and written to; restore a backup if it is broken",
    )


def _shown(data: str) -> str:
    """What was asked for, without a password."""
    if "://" not in data:
        return data
    scheme, _, rest = data.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
