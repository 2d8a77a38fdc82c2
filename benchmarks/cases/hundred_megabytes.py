"""100 MB up into a session and down out of it, against a route that only reads or writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing

import numpy as np
from safetensors.numpy import save

from benchmarks.exchange import client_side, served
from benchmarks.figures import Figure
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.messages import SAFETENSORS
from benchmarks.plain_http import Connection, get, post

ELEMENTS = 25_000_000  # of float32
SPEED, MEMORY = 0.9, 1.1


def _upload(elements: int, path: str) -> bytes:
    """A tensor as safetensors, to be written under its name; the reply leaves its elements out."""
    request = json.dumps({"value": {"binary": "x"}})
    body = save({"x": np.ones(elements, np.float32)}, {"request": request})
    method = "POST" if path == "/up" else "PUT"
    return post(path, body, SAFETENSORS, method=method)


def _new_session(connection: Connection) -> str:
    created = connection.exchange(post("/v1/sessions", b"{}"))[1]
    return f"/v1/sessions/{json.loads(created)['id']}"


class Transfer:
    """One way over one connection: a call is a transfer."""

    def __init__(self, port: int, elements: int, bare: bool) -> None:
        self._connection = Connection(port)
        self._request = self._prepared(elements, bare)

    def _prepared(self, elements: int, bare: bool) -> bytes:
        raise NotImplementedError

    def __call__(self) -> object:
        return self._connection.drain(self._request)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class Up(Transfer):
    """Sends them."""

    def _prepared(self, elements: int, bare: bool) -> bytes:
        path = "/up" if bare else f"{_new_session(self._connection)}/tensors/x?data=none"
        return _upload(elements, path)


class Down(Transfer):
    """Fetches them; the tensor is made on the server."""

    def _prepared(self, elements: int, bare: bool) -> bytes:
        if bare:
            return get("/down")
        session = _new_session(self._connection)
        make = {"op": "ones", "args": [[elements]], "out": "x"}
        steps = json.dumps({"steps": [make]}).encode()
        self._connection.exchange(post(f"{session}/steps", steps))
        return get(f"{session}/tensors/x", accept=SAFETENSORS)


WAYS: dict[str, type[Transfer]] = {"up": Up, "down": Down}


def figures(harness: Harness) -> Sequence[Figure]:
    """Speed and peak memory, each way."""
    elements = harness.settings.sized(ELEMENTS)
    found: list[Figure] = []
    for way in WAYS:
        found += [_speed(harness, way, elements), _memory(harness, way, elements)]
    return found


def _speed(harness: Harness, way: str, elements: int) -> Figure:
    target = f"benchmarks.cases.hundred_megabytes:{WAYS[way].__name__}"
    with served("gradwire") as ours, served("bare", (SAFETENSORS, bytes(4 * elements))) as bare:
        sides = {
            name: client_side(
                target, {"port": server.port, "elements": elements, "bare": name == "bare"}
            )
            for name, server in (("gradwire", ours), ("bare", bare))
        }
        found = harness.take_turns(sides, rounds=min(harness.settings.rounds, 9))
    note = f"{_rate(found['gradwire'], elements)} against {_rate(found['bare'], elements)}"
    ratio = found["bare"].over(found["gradwire"])
    return Figure(f"100 MB {way}: speed / the bare route's", SPEED, ratio, note, at_least=True)


def _rate(measured: Measured, elements: int) -> str:
    return f"{4 * elements / measured.seconds / 1e6:.0f} MB/s"


def _memory(harness: Harness, way: str, elements: int) -> Figure:
    """The peak of a server that did this once, less its peak before; as a multiple of the body."""
    harness.tick(f"memory {way}")
    grown = {}
    for name in ("gradwire", "bare"):
        with served(name, (SAFETENSORS, bytes(4 * elements)) if name == "bare" else None) as server:
            before = server.peak_bytes()
            with closing(WAYS[way](server.port, elements, name == "bare")) as transfer:
                transfer()
            grown[name] = (server.peak_bytes() - before) / (4 * elements)
    ours = grown["gradwire"]
    # what the bare route sends it has held since it was imported
    note = f"the bare route's: {grown['bare']:.2f}" if way == "up" else "one process, one reply"
    name = f"100 MB {way}: peak memory / the body"
    return Figure(name, MEMORY, Spread(ours, ours, ours), note)
