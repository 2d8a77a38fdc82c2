"""Servers to measure, each in a process of its own: ours, a bare FastAPI app, and the rivals."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import UnavailableError
from benchmarks.side import ROOT, environment

PEERS = Path(__file__).resolve().parent / "peers"
RIVALS = ROOT / ".venv-rivals"
PATIENCE = 60.0  # seconds to wait for a server


@dataclass(frozen=True)
class Server:
    """A running server: where it listens and which process it is."""

    port: int
    pid: int

    def peak_bytes(self) -> int:
        """The most memory that the process has had resident so far."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("the kernel reports no VmHWM")


def free_port() -> int:
    """A loopback port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def gradwire_command(port: int) -> list[str]:
    """Our server, as its users start it."""
    command = Path(sys.executable).with_name("gradwire")
    if not command.exists():
        raise UnavailableError("the gradwire command isn't installed in this environment")
    return [str(command), "serve", "--host", "127.0.0.1", "--port", str(port)]


def bare_command(port: int) -> list[str]:
    """A FastAPI app that only reads a body and sends a ready reply."""
    return [sys.executable, "-m", "benchmarks.peers.bare", str(port)]


def tesseract_command(port: int) -> list[str]:
    """Tesseract's own server, without its container."""
    return [str(_rival("tesseract-runtime")), "serve", "--port", str(port)]


def umbridge_command(port: int) -> list[str]:
    """UM-Bridge's own server."""
    return [str(_rival("python")), str(PEERS / "umbridge_model.py"), str(port)]


def _rival(program: str) -> Path:
    found = RIVALS / "bin" / program
    if not found.exists():
        raise UnavailableError(f"{found.relative_to(ROOT)} isn't there: `make bench` makes it")
    return found


@contextmanager
def running(
    command: list[str], port: int, *, core: int | None = None, extra: dict[str, str] | None = None
) -> Iterator[Server]:
    """The server while the block runs, on one core and with one thread; ended afterwards."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(1) | _peer_environment(folder) | (extra or {}),
            preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}),
        )
        try:
            await_port(process, port)
            yield Server(port, process.pid)
        except UnavailableError as problem:
            log.seek(0)
            tail = log.read().decode(errors="replace").strip().splitlines()[-3:]
            raise UnavailableError(f"{problem}: {' / '.join(tail)}") from None
        finally:
            process.terminate()
            process.wait(timeout=30)


def _peer_environment(folder: str) -> dict[str, str]:
    return {
        "TESSERACT_API_PATH": str(PEERS / "tesseract_api.py"),
        "TESSERACT_RUNTIME_OUTPUT_PATH": folder,
    }


def await_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until somebody accepts connections; an UnavailableError when the process ends first."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise UnavailableError(f"{process.args!r} ended with status {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.002)
        else:
            return
    raise UnavailableError(f"{process.args!r} didn't listen within {PATIENCE:g} s")
