"""A real server in a process of its own, on data that outlives it."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile, mkstemp
from typing import IO

import httpx
from tests.nursery import COMMAND, ROOT, Child, nursery

TLS = ssl.create_default_context()
"""Not used; to make one takes a client longer than all else."""
GRADWIRE = Path(sys.executable).with_name("gradwire")
FAULTY = "tests.service.crash.faulty:main"


class Process:
    """`gradwire serve --data DATA` on a free port of this machine.

    With `faults`, which may be "", things can go wrong in it: see faulty.py, and `plan`. It is
    forked in the nursery, or started `as_command`: so is one with variables that aren't its own,
    for libraries read them when they are loaded.
    """

    def __init__(
        self,
        data: str,
        options: tuple[str, ...] = (),
        faults: str | None = None,
        as_command: bool = False,
        **environment: str,
    ) -> None:
        descriptor, self._faults = mkstemp()
        os.close(descriptor)  # its name is all that is needed: each plan is another file
        self.plan(faults or "")
        self._log = TemporaryFile("w+")  # noqa: SIM115  (closed with the process)
        self._text = ""
        arguments = ["serve", "--port", "0", "--log", "json", "--data", data, *options]
        reader, writer = os.pipe()
        with os.fdopen(reader) as said, os.fdopen(writer, "w") as out:
            self.process: subprocess.Popen[str] | Child
            own = all(name.startswith("GRADWIRE_") for name in environment)
            start = self._forked if own and not as_command else self._started
            self.process = start(arguments, faults, environment, out)
            out.close()
            line = said.readline()
        if not line.startswith("gradwire listens on "):
            self.stop()
            raise AssertionError(f"the server didn't start: {line}{self.said()}")
        self.url = line.split()[-1]
        self.client = httpx.Client(base_url=self.url, timeout=60, verify=TLS)

    def _started(
        self, arguments: list[str], faults: str | None, environment: dict[str, str], out: IO[str]
    ) -> subprocess.Popen[str]:
        faulty = [sys.executable, "-m", "tests.service.crash.faulty", self._faults]
        program = [str(GRADWIRE)] if faults is None else faulty
        return subprocess.Popen(
            [*program, *arguments],
            stdout=out,
            stderr=self._log,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        )

    def _forked(
        self, arguments: list[str], faults: str | None, environment: dict[str, str], out: IO[str]
    ) -> Child:
        program = [COMMAND] if faults is None else [FAULTY, self._faults]
        return nursery().spawn(
            *program, *arguments, environment=environment, folder=ROOT, out=out, errors=self._log
        )

    def plan(self, faults: str) -> None:
        """From now on these faults happen."""
        fresh = Path(self._faults + ".new")
        fresh.write_text(faults)
        fresh.replace(self._faults)

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        """What it complained of: failures with their tracebacks, none of the requests."""
        if not self._log.closed:
            self._log.seek(0)
            self._text = self._log.read()
        lines = self._text.splitlines()
        return "\n".join(line for line in lines if '"event":"request"' not in line)

    def kill(self) -> None:
        """As the kernel does it: nothing of the process runs any more."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """As an operator does it; the exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(timeout=60)
        self.said()
        self._log.close()
        Path(self._faults).unlink(missing_ok=True)
        client = getattr(self, "client", None)
        if client is not None:
            client.close()
        return status


@contextmanager
def served(
    data: object,
    *options: str,
    faults: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Process]:
    """A server while the block runs, ended in order unless the block did it."""
    process = Process(str(data), options, faults, **(environment or {}))
    try:
        yield process
    finally:
        process.stop()
