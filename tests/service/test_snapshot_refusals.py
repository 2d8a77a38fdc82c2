"""Snapshots that were changed: refused with a code and nothing kept, or sessions that work."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.service.conftest import Running
from tests.service.snapshots import FILE, KINDS, restore, taken

from gradwire_engine.errors import GradwireError
from gradwire_service.host import safetensors
from gradwire_service.host.host import Host
from gradwire_service.host.limits import Limits
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import StepsRequest
from gradwire_service.host.sessions import Session
from gradwire_service.host.snapshot.seal import DIGEST, check, sealed

Data = dict[str, Any]
ROUNDS = 150
CODES = {"snapshot_incompatible", "invalid_body", "memory_limit", "unsupported_device"}
HOSTILE: list[Any] = [
    None, True, 0, 1, -1, 3, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, "", "x", "NaN",
    "\ud800", "a0", "add", "cpu", "meta", "symbol", "float64", [], [0], [[]], {}, {"tensor": 0},
    {"float": "nan"}, {"int": "0xfff"}, {"spec": 0}, {"call": 0}, {"weak": ["float", "float32"]},
    {"dtype": "int64"}, {"ellipsis": None}, {"slice": [0, None, 1]},
]  # fmt: skip
WALKS: list[Any] = [
    {"backward": {"tensors": ["z"], "retain_graph": True}},
    {"grad": {"outputs": ["z"], "inputs": ["x"], "create_graph": True}, "out": ["g"]},
    {"op": "sum", "args": ["g"], "out": "z"},
    {"backward": {"tensors": ["z"]}},
    {"op": "sum", "args": ["v"], "out": "z"},
    {"backward": {"tensors": ["z"]}},
    {"op": "add_", "args": ["t", 1]},
    {"op": "contiguous", "args": ["turned"], "out": "c"},
    *({"step": name} for name in ("sgd", "adam", "adamw", "rmsprop", "adagrad", "groups")),
]


@pytest.fixture(scope="module")
def files(server: Running) -> dict[str, bytes]:
    """A snapshot of each kind of session."""
    return {name: taken(build(server)) for name, build in KINDS.items()}


@pytest.fixture(scope="module")
def host() -> Host:
    return Host(Limits(sessions=2))


def changed(snapshot: bytes, change: Callable[[Data], object]) -> bytes:
    """A snapshot whose JSON was changed by somebody who knows how to make it a digest."""
    metadata, arrays = safetensors.read(snapshot)
    data = json.loads(metadata["session"])
    change(data)
    del metadata[DIGEST]
    forged = sealed({**metadata, "session": json.dumps(data)}, arrays)
    return b"".join(map(bytes, safetensors.write(arrays, forged)))


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in JSON but the whole."""
    items = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def mutate(rng: random.Random) -> Callable[[Data], None]:
    """A change of one value: to a near number, to something hostile, to a copy, to nothing."""

    def change(data: Data) -> None:
        *way, last = rng.choice(list(paths(data)))
        parent: Any = data
        for key in way:
            parent = parent[key]
        old = parent[last]
        what = rng.randrange(5)
        if what == 0:
            del parent[last]
        elif what == 1 and isinstance(parent, list):
            parent.insert(last, old)
        elif what < 4 and type(old) is int:
            parent[last] = rng.choice([old + 1, old - 1, 2 * old, -old, ~old, rng.randrange(30)])
        else:
            parent[last] = rng.choice(HOSTILE)

    return change


def spoilt(rng: random.Random, snapshot: bytes) -> bytes:
    """A snapshot cut off, with other bytes, or with other JSON."""
    kind = rng.randrange(8)
    if kind == 0:
        return snapshot[: rng.randrange(len(snapshot))]
    if kind == 1:
        body = bytearray(snapshot)
        body[rng.randrange(len(body))] = rng.randrange(256)
        return bytes(body)
    try:
        return changed(snapshot, mutate(rng))
    except UnicodeEncodeError:
        return snapshot[:-1]


def works(host: Host, session: Session) -> None:
    """Whatever a session that was let in answers, it is no failure of the server's."""
    codes = set()
    for step in WALKS:
        try:
            host.handle(session.id, read(StepsRequest, {"steps": [step]}))
        except GradwireError as problem:
            codes.add(problem.code)
    assert "internal" not in codes
    session.describe()


@pytest.mark.parametrize("kind", KINDS)
def test_changes_by_chance(files: dict[str, bytes], host: Host, kind: str) -> None:
    rng = random.Random(sum(map(ord, kind)))
    codes = set()
    for _ in range(ROUNDS):
        body = spoilt(rng, files[kind])
        held = host.ledger.held
        try:
            session = host.restore(*safetensors.read(body))
        except GradwireError as problem:
            codes.add(problem.code)
        else:
            works(host, session)
            host.delete(session)
        assert host.ledger.held == held
    assert "snapshot_incompatible" in codes
    assert codes <= CODES


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_another_byte_is_refused(
    files: dict[str, bytes], host: Host, kind: str
) -> None:
    rng, held = random.Random(kind), host.ledger.held
    length = 8 + int.from_bytes(files[kind][:8], "little")
    for place in (*rng.sample(range(len(files[kind])), 100), *range(length, len(files[kind]), 7)):
        body = bytearray(files[kind])
        body[place] ^= 1 << rng.randrange(8)
        with pytest.raises(GradwireError) as raised:
            host.restore(*safetensors.read(bytes(body)))
        assert raised.value.code in ("snapshot_incompatible", "invalid_body")
    assert (host.sessions(), host.ledger.held) == ([], held)


def test_elements_that_were_changed_are_refused(server: Running, files: dict[str, bytes]) -> None:
    host = server.service.host
    count, held = len(host.sessions()), host.ledger.held
    body = bytearray(files["a_graph_with_gradients"])
    body[-1] ^= 1
    reply = server.client.post("/v1/sessions", content=bytes(body), headers=FILE)
    assert (reply.status_code, reply.json()["code"]) == (422, "snapshot_incompatible")
    assert "changed after it was written: digest is 'sha256:" in reply.json()["detail"]
    assert "unchanged" in reply.json()["hint"]
    reply = server.client.post("/v1/sessions", content=bytes(body[:-1]), headers=FILE)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_body")
    assert (len(host.sessions()), host.ledger.held) == (count, held)


def test_a_file_that_another_library_writes_anew_is_the_same_snapshot(
    server: Running, files: dict[str, bytes]
) -> None:
    file = files["a_graph_with_gradients"]
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    header["__metadata__"] = dict(reversed(header["__metadata__"].items()))
    other = json.dumps(dict(reversed(header.items())), indent=1).encode()
    again = len(other).to_bytes(8, "little") + other + file[8 + length :]
    assert again != file
    assert taken(restore(server.client, again)) == file


def test_the_digest_copies_no_array(server: Running) -> None:
    arrays = {"a0": np.zeros(4_000_000)}
    tracemalloc.start()
    try:
        check(sealed({"session": "{}"}, arrays), arrays)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def _part(part: str, value: Any) -> Callable[[Data], None]:
    return lambda data: data.__setitem__(part, value)


def _setting(name: str, value: Any) -> Callable[[Data], None]:
    return lambda data: data["session"].__setitem__(name, value)


def _state(name: str, value: Any, optimizer: str = "adam") -> Callable[[Data], None]:
    return lambda data: data["optimizers"][optimizer]["states"][0].__setitem__(name, value)


def _hooked(place: int, value: Any) -> Callable[[Data], None]:
    def change(data: Data) -> None:
        cells = data["graph"]["cells"]
        row = next(r for r in cells if r[0] == "program" and r[1].get("hook", [0])[0] == "leaf")
        row[1]["hook"][place] = value

    return change


def _forged(data: Data) -> None:
    data["programs"][0]["source"] = "h = g * 3"


CHANGES: dict[str, tuple[str, Callable[[Data], object], str]] = {
    "a name that isn't allowed": (
        "a_freed_graph", lambda d: d["tensors"].update({"x.grad": 0}), "is no name"
    ),
    "a name of another cell": (
        "a_freed_graph", lambda d: d["tensors"].update(x=10**6), "number of a cell"
    ),
    "a dtype that is no default": ("a_freed_graph", _setting("dtype", "int64"), "dtype"),
    "a seed below 0": ("a_freed_graph", _setting("seed", -1), "seed"),
    "draws below 0": ("a_freed_graph", _setting("draws", -1), "draws"),
    "an unknown setting": ("a_freed_graph", _setting("durable", "yes"), "the session"),
    "marks in no order": ("a_freed_graph", lambda d: d["marks"].reverse(), "in no order"),
    "a part that is missing": ("a_freed_graph", lambda d: d.pop("hooks"), "an object with"),
    "an unknown optimizer": (
        "every_optimizer", lambda d: d["optimizers"]["sgd"].update(kind="newton"), "newton"
    ),
    "an optimizer without parameters": (
        "every_optimizer", lambda d: d["optimizers"]["sgd"].update(groups=[]), "no parameters"
    ),
    "a setting out of its range": (
        "every_optimizer",
        lambda d: d["optimizers"]["adam"]["groups"][0][1].update(betas=[2.0, 0.9]), "beta",
    ),
    "a state that no step goes on from": (
        "every_optimizer",
        lambda d: d["optimizers"]["adam"]["states"][0].pop("exp_avg"), "can't go on",
    ),
    "a state of words": ("every_optimizer", _state("step", "two"), "no number"),
    "a history with gaps": (
        "every_optimizer", _state("ro", {"list": [1.0, 2.0, 3.0]}, "lbfgs"), "gaps"
    ),
    "a program that isn't its id's": ("hooks", _forged, "is another one"),
    "a program that is missing": ("hooks", _part("programs", []), "lacks the program"),
    "a hook that takes what never comes": ("hooks", _hooked(4, 7), "takes what never comes"),
    "a hook whose out is no name": ("hooks", _hooked(3, "x.grad"), "out is no name"),
    "a hook's id twice": (
        "hooks", lambda d: d["hooks"].append(d["hooks"][0]), "stands there twice"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_contradicts_itself_is_refused(
    server: Running, files: dict[str, bytes], name: str
) -> None:
    kind, change, said = CHANGES[name]
    count = len(server.service.host.sessions())
    body = changed(files[kind], change)
    reply = server.client.post("/v1/sessions", content=body, headers=FILE)
    assert (reply.status_code, reply.json()["code"]) == (422, "snapshot_incompatible"), reply.text
    assert said in reply.json()["detail"]
    assert len(server.service.host.sessions()) == count


def test_limits_hold_for_snapshots_too(
    serve: Callable[..., Running], files: dict[str, bytes]
) -> None:
    small = serve(Limits(session_bytes=100, sessions=1, ttl_seconds=5, longest_ttl_seconds=50))
    held = small.service.host.ledger.held
    post = small.client.post
    refused = post("/v1/sessions", content=files["every_optimizer"], headers=FILE).json()
    assert refused["code"] == "memory_limit"
    found = restore(small.client, files["a_freed_graph"]).get().json()
    assert (found["memory_limit_bytes"], found["ttl_seconds"]) == (100, 50)
    before = small.service.host.ledger.held
    more = post("/v1/sessions", content=files["a_freed_graph"], headers=FILE).json()
    assert more["code"] == "limit_exceeded"
    assert small.service.host.ledger.held == before > held


def test_reading_takes_no_more_than_the_server_has(
    serve: Callable[..., Running], files: dict[str, bytes]
) -> None:
    small = serve(Limits(server_bytes=10_000))
    reply = small.client.post("/v1/sessions", content=files["checkpoints"], headers=FILE)
    assert reply.json()["code"] == "memory_limit"
    assert small.service.host.ledger.held == 0
    small = serve(Limits(names=2))
    reply = small.client.post("/v1/sessions", content=files["a_freed_graph"], headers=FILE)
    assert "the limit is 2" in reply.json()["detail"]
    small = serve(Limits(body_bytes=1000))
    reply = small.client.post("/v1/sessions", content=files["a_freed_graph"], headers=FILE)
    assert reply.json()["code"] == "payload_too_large"
