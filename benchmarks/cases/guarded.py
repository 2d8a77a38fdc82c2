"""What keys, limits and metrics cost: a small gradient with them and without."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import cycle

from benchmarks.exchange import client_side, server_core
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness
from benchmarks.messages import gradwire
from benchmarks.plain_http import Connection
from benchmarks.servers import free_port, gradwire_command, running

KEY = "of-the-benchmark"
_SEVERAL = 1000


def client(port: int) -> Callable[[], object]:
    """A connection that asks for small gradients with a key; one answer is checked."""
    asked = [gradwire(3, seed) for seed in range(_SEVERAL)]
    connection = Connection(port)
    keyed = [_with_key(one.request) for one in asked]
    asked[0].check(connection.exchange(keyed[0])[1])
    requests = cycle(keyed)
    return lambda: connection.exchange(next(requests))


def _with_key(request: bytes) -> bytes:
    line, _, rest = request.partition(b"\r\n")
    return line + b"\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n" + rest


def figures(harness: Harness) -> Sequence[Figure]:
    """The ratio of the times."""
    with ExitStack() as stack:
        sides = {}
        for name in ("with", "without"):
            port = free_port()
            command = gradwire_command(port)
            if name == "without":
                command = [sys.executable, "-m", "benchmarks.peers.unguarded", str(port)]
            extra = {"GRADWIRE_KEYS": f"alice:{KEY},bob:another-{KEY}", "GRADWIRE_LOG": "none"}
            stack.enter_context(running(command, port, core=server_core(), extra=extra))
            sides[name] = client_side("benchmarks.cases.guarded:client", {"port": port})
        found = harness.take_turns(sides)
    guarded, bare = found["with"], found["without"]
    note = f"{duration(guarded.seconds)} against {duration(bare.seconds)}"
    return [
        Figure(
            "small gradient with keys, limits and metrics / without", 1.15, guarded.over(bare), note
        )
    ]
