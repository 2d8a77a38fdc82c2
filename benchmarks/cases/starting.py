"""How long it takes to import the SDK, and to start the server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from time import perf_counter, sleep

from benchmarks.exchange import COMMANDS, client_core
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness
from benchmarks.plain_http import Connection, get
from benchmarks.servers import free_port, running
from benchmarks.side import ROOT, Side, environment

IMPORTS = {
    "sdk": "import gradwire",
    "connected": "import gradwire, gradwire.http",
    "parts": "import numpy, httpx",
}
READY = {"gradwire": "/health/ready", "bare": "/ready"}


class Importing:
    """Fresh interpreters, each timing one import statement from inside."""

    def __init__(self, statement: str) -> None:
        self._script = (
            "from time import perf_counter as now; started = now()\n"
            f"{statement}\n"
            "print(now() - started)"
        )

    def measure(self, seconds: float) -> dict[str, list[float]]:
        """Seconds for the import, from one process after another."""
        return {"times": _several(self._once, seconds)}

    def _once(self) -> float:
        done = subprocess.run(
            [sys.executable, "-c", self._script], check=True, capture_output=True, text=True,
            cwd=ROOT, env=environment(1),
        )  # fmt: skip
        return float(done.stdout)


class Starting:
    """Fresh servers, each timed from its start to its first answer."""

    def __init__(self, name: str) -> None:
        self._name = name

    def measure(self, seconds: float) -> dict[str, list[float]]:
        """Seconds until the server is ready, from one process after another."""
        return {"times": _several(self._once, seconds)}

    def _once(self) -> float:
        port = free_port()
        started = perf_counter()
        with running(COMMANDS[self._name](port), port):
            _await_ready(port, READY[self._name])
            return perf_counter() - started


def _await_ready(port: int, path: str) -> None:
    while True:
        connection = Connection(port)
        try:
            connection.exchange(get(path))
        except RuntimeError:  # 503 while it starts
            sleep(0.002)
        else:
            return
        finally:
            connection.close()


def _several(once: Callable[[], float], seconds: float) -> list[float]:
    end = perf_counter() + seconds
    times = [once()]
    while perf_counter() < end:
        times.append(once())
    return times


def figures(harness: Harness) -> Sequence[Figure]:
    """Two ratios of times."""
    module = "benchmarks.cases.starting"
    sides = {
        name: Side(f"{module}:Importing", {"statement": text}, (client_core(),))
        for name, text in IMPORTS.items()
    }
    sides |= {name: Side(f"{module}:Starting", {"name": name}, (client_core(),)) for name in READY}
    found = harness.take_turns(sides, rounds=min(harness.settings.rounds, 9))
    sdk, connected, parts = (found[name] for name in IMPORTS)
    ours, bare = (found[name] for name in READY)
    return [
        Figure(
            "import of the SDK / import of NumPy and httpx",
            1.5,
            sdk.over(parts),
            f"{duration(sdk.seconds)} against {duration(parts.seconds)}; with what `connect` to a "
            f"server imports: {duration(connected.seconds)}",
        ),
        Figure(
            "server's start to ready / a bare FastAPI app's",
            2,
            ours.over(bare),
            f"{duration(ours.seconds)} against {duration(bare.seconds)}",
        ),
    ]
