"""The server under test: a process of its own on a core of its own, its memory looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

GRADWIRE = Path(sys.executable).with_name("gradwire")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def cores() -> tuple[int, int] | None:
    """A core for the server and one for its clients; None where that can't be."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    found = sorted(os.sched_getaffinity(0))
    return (found[0], found[-1]) if len(found) > 1 else None


def settle(place: int) -> None:
    """Keep this process on the server's core (0) or the clients' (1), where there are two."""
    found = cores()
    if found is not None:
        os.sched_setaffinity(0, {found[place]})


@contextmanager
def on_core(place: int) -> Iterator[None]:
    """The same while the block runs: who comes after it has all the cores again."""
    if cores() is None:
        yield
        return
    before = os.sched_getaffinity(0)
    settle(place)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Server:
    """One that runs."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process, self.url, self._log = process, url, log
        self.client = httpx.Client(base_url=url, timeout=60)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def resident(self) -> int:
        """Bytes of its memory."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * _PAGE

    def metric(self, name: str) -> float:
        """A metric that has no labels."""
        for line in self.client.get("/metrics").text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"there is no metric {name}")

    def failures(self) -> list[str]:
        """What it says went wrong by its own fault."""
        return [line for line in self._log.read_text().splitlines() if '"event": "failure"' in line]


@contextmanager
def served(**settings: object) -> Iterator[Server]:
    """A server with these settings while the block runs."""
    limits = {f"GRADWIRE_{name}".upper(): str(value) for name, value in settings.items()}
    threads = {"OPENBLAS_NUM_THREADS": "1"}
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("w") as written:
            process = subprocess.Popen(
                [GRADWIRE, "serve", "--port", "0", "--log", "json"],
                stdout=subprocess.PIPE, stderr=written, text=True,
                env=os.environ | threads | limits, preexec_fn=lambda: settle(0),
            )  # fmt: skip
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line.startswith("gradwire listens on "):
                    raise AssertionError(f"it doesn't start: {line}{log.read_text()[-2000:]}")
                found = Server(process, line.split()[-1], log)
                yield found
                found.client.close()
            finally:
                process.terminate()
                process.communicate(timeout=60)
