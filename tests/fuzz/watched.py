"""A server in a process of its own, small, whose memory and log are looked at when all is done."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

GRADWIRE = Path(sys.executable).with_name("gradwire")
LIMITS: Mapping[str, object] = {
    "server_bytes": 2**27, "tenant_bytes": 2**27, "session_bytes": 2**25, "body_bytes": 2**23,
    "seconds": 5, "tenant_seconds": 10_000,
}  # fmt: skip
"""So low that requests come to them."""
OWN_BYTES = 2**28
"""What the process takes beside what its limits count: its code, and what is being written."""


class Watched(NamedTuple):
    """Where it answers, its process, and a folder for whoever calls it."""

    url: str
    process: subprocess.Popen[str]
    folder: Path


class Harmed(Exception):
    """What chance has done to the server."""


@contextmanager
def watched(keys: str = "") -> Iterator[Watched]:
    """A server while the block runs; Harmed afterwards if it isn't as it was.

    It has to answer, to have met no failure of its own, and never to have held more memory than
    its limits and its own code take.
    """
    limits = {f"GRADWIRE_{name}".upper(): str(value) for name, value in LIMITS.items()}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("w") as written:
            process = subprocess.Popen(
                [GRADWIRE, "serve", "--port", "0", "--log", "json"],
                stdout=subprocess.PIPE, stderr=written, text=True,
                env=os.environ | limits | ({"GRADWIRE_KEYS": keys} if keys else {}),
            )  # fmt: skip
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line.startswith("gradwire listens on "):
                    raise Harmed(f"it doesn't start: {line}{log.read_text()[-2000:]}")
                yield Watched(line.split()[-1], process, Path(folder))
                _look(line.split()[-1], process, log)
            finally:
                process.terminate()
                process.communicate(timeout=60)


def _look(url: str, process: subprocess.Popen[str], log: Path) -> None:
    """Harmed, with what is wrong."""
    failures = [line for line in log.read_text().splitlines() if '"event": "failure"' in line]
    if failures:
        raise Harmed(f"{len(failures)} failures, the first: {failures[0]}")
    if process.poll() is not None or httpx.get(f"{url}/health/ready").status_code != 200:
        raise Harmed(f"it is not ready any more: {log.read_text()[-2000:]}")
    most = int(str(LIMITS["server_bytes"])) + OWN_BYTES
    if (held := _peak(process.pid)) > most:
        raise Harmed(f"it held {held} bytes, and {most} are what it may")


def _peak(pid: int) -> int:
    """The most bytes of memory that the process ever held."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system doesn't say")
