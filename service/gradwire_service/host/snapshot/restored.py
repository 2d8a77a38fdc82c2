"""A file to a session. The file comes from outside: whatever doesn't hold together is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.snapshot import Reader, read_optimizer
from gradwire_engine.snapshot.fields import incompatible, listed, named, need, text, whole
from gradwire_engine.snapshot.older import from_version_1
from gradwire_engine.tape import ACCUMULATED, Bound
from gradwire_service.host.elements import Array
from gradwire_service.host.hooks import LEAF, Hook
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.limits import Limits
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.names import may_be_written
from gradwire_service.host.protocol.requests import SessionCreate
from gradwire_service.host.run import modes
from gradwire_service.host.safetensors import no_json
from gradwire_service.host.sessions import Session
from gradwire_service.host.snapshot.programs import Restored
from gradwire_service.host.snapshot.seal import DIGEST, check
from gradwire_service.host.snapshot.written import VERSION

_OLDER: dict[str, Callable[[Any], None]] = {"1": from_version_1, "2": lambda _: None}
"""Older versions that are read too, and what brings the graph of each into today's form.

Their files have no digest, and in those of version 1 it isn't said which arrays are turned.
"""
_PARTS = ("session", "tensors", "optimizers", "hooks", "marks", "graph", "programs")
_WEIGHT = 24
"""Bytes that a character of JSON takes at most once it is lists, and then cells."""
_LONGEST_NAME = 128

Make = Callable[[SessionCreate], Session]
"""Makes an empty session, under the limits of a new one."""


def version_of(metadata: Mapping[str, str]) -> str | None:
    """Which version of snapshot a file is; None if it is none."""
    return metadata.get("gradwire_snapshot")


def restored(
    metadata: Mapping[str, str],
    arrays: Mapping[str, Array],
    make: Make,
    limits: Limits,
    ledger: Ledger,
) -> Session:
    """The session of a snapshot. Raises snapshot_incompatible or memory_limit; nothing is kept."""
    version = _version(metadata)
    if version == VERSION:
        check(metadata, arrays)
    body = metadata["session"]
    with _room(len(body) * _WEIGHT, ledger):
        data = named(_json(body), "the snapshot", *_PARTS)
        older = _OLDER.get(version)
        if older is not None:
            older(data["graph"])
        session = make(_asked(named(data["session"], "the session"), limits))
        try:
            with session.use(), modes(session):
                _fill(session, data, arrays, turned_is_said=version != "1")
        except BaseException:
            session.close()
            raise
    return session


def _version(metadata: Mapping[str, str]) -> str:
    """The version, one that is read here, of metadata that has all that its version has."""
    version = version_of(metadata)
    if version is None or (version != VERSION and version not in _OLDER):
        known = ", ".join(map(repr, (*_OLDER, VERSION)))
        raise incompatible(f"it is of version {str(version)[:20]!r}, this server reads {known}")
    parts = ("gradwire_snapshot", "session", *([] if version in _OLDER else [DIGEST]))
    if metadata.keys() != set(parts):
        raise incompatible(f"its metadata has more or less than {', '.join(parts)}")
    return version


@contextmanager
def _room(nbytes: int, ledger: Ledger) -> Iterator[None]:
    """Have the bytes that reading takes counted among those of all sessions, while it lasts."""
    if ledger.held + nbytes > ledger.limit:
        raise error(
            "memory_limit",
            f"snapshot: to read it takes up to {nbytes} bytes, which would pass the server's limit "
            f"of {ledger.limit}",
            "delete sessions, and try again",
        )
    ledger.add(nbytes)
    try:
        yield
    finally:
        ledger.add(-nbytes)


def _json(body: str) -> Any:
    try:
        return json.loads(body, parse_constant=no_json)
    except RecursionError:
        raise incompatible("its JSON nests too deeply") from None
    except ValueError as problem:
        raise incompatible(f"its JSON can't be read: {str(problem)[:100]}") from None


def _asked(data: dict[str, Any], limits: Limits) -> SessionCreate:
    """The session's settings; those that this server limits are no more than its limits."""
    fields = {name: value for name, value in data.items() if name != "draws"}
    try:
        asked = read(SessionCreate, fields)
    except GradwireError as problem:
        raise incompatible(f"the session: {problem.detail}") from problem
    whole(data.get("draws"), "draws")
    need(asked.seed is not None, "the session has no seed")
    return asked.model_copy(
        update={
            "ttl_seconds": min(asked.ttl_seconds or 1.0, limits.longest_ttl_seconds),
            "memory_limit_bytes": min(asked.memory_limit_bytes or 1, limits.session_bytes),
        }
    )


def _fill(
    session: Session, data: dict[str, Any], arrays: Mapping[str, Array], *, turned_is_said: bool
) -> None:
    limit = session.limits.names
    for part in ("tensors", "hooks", "optimizers"):
        need(type(data[part]) in (dict, list), f"its {part} are none")
        need(len(data[part]) <= limit, f"it has {len(data[part])} {part}, the limit is {limit}")
    reader = Reader(data["graph"], arrays, Restored(data["programs"], session.limits))
    if not turned_is_said:
        reader.mark_turned()
    session.tensors.update(
        {_name(name): reader.tensor(cell) for name, cell in named(data["tensors"], "names").items()}
    )
    for name, found in named(data["optimizers"], "optimizers").items():
        session.optimizers[_name(name)] = read_optimizer(reader, found)
    for key, row in _pairs(data["hooks"]):
        session.hooks[key] = reader.handle(row)
    session.origins.restore(_marks(reader, data["marks"]))
    session.generator.draws = data["session"]["draws"]
    _check_hooks(reader)
    reader.finish()
    session.meter.count()


def _name(name: str) -> str:
    if not may_be_written(name):
        raise incompatible(f"{name[:60]!r} is no name")
    return name


def _pairs(rows: Any) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for pair in listed(rows, "hooks"):
        key, row = listed(pair, "a hook", 2)
        need(text(key, "the id of a hook") not in seen, "a hook's id stands there twice")
        seen.add(key)
        yield key, row


def _marks(reader: Reader, rows: Any) -> list[tuple[int, int, str | None]]:
    """Which step made what, in order."""
    found: list[tuple[int, int, str | None]] = []
    for row in listed(rows, "marks"):
        rank, step, name = listed(row, "a mark", 3)
        if name is not None:
            text(name, "the name of a result", _LONGEST_NAME)
        seq = reader.moment(rank)
        need(not found or found[-1][0] < seq, "its marks are in no order")
        found.append((seq, whole(step, "the number of a step"), name))
    return found


def _check_hooks(reader: Reader) -> None:
    """A hook for leaves hangs at leaves; the others take one of the values that come."""
    for attached, count in reader.hooks():
        what = attached.what.program if type(attached.what) is Bound else attached.what
        if type(what) is not Hook:
            raise incompatible("a hook is none")
        leaf = attached.kind == ACCUMULATED
        need((what.takes == LEAF) is leaf and what.takes < count, "a hook takes what never comes")
