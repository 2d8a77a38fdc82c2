"""Servers without the second that their imports take: a process that has imported everything forks.

`python -m tests.service.crash.nursery FD` serves a Unix socket: for each message, a JSON list of
arguments and variables with three descriptors (standard output and error), it forks a server and
answers its pid. What is forked runs the command line as it is, and dies as any process does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

from gradwire_service.host.durable.machine import facts

ROOT = Path(__file__).parents[3]
_MESSAGE = 2**16


class Child:
    """A forked server, with as much of subprocess.Popen as is needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._handle = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already, and nobody waits for it
            self._handle = -1

    def poll(self) -> int | None:
        """0 once it has ended, however it did."""
        return 0 if self._ended(0) else None

    def send_signal(self, how: int) -> None:
        """Send it a signal, if it is still there."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, how)

    def wait(self, timeout: float) -> int:
        """Wait for its end."""
        if not self._ended(timeout):
            raise TimeoutError(f"process {self.pid} runs after {timeout} seconds")
        return 0

    def _ended(self, seconds: float) -> bool:
        if self._handle < 0:
            return True
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return False
        os.close(self._handle)
        self._handle = -1
        return True


class Nursery:
    """The process that forks."""

    def __init__(self) -> None:
        own, other = socket.socketpair()
        command = [sys.executable, "-m", "tests.service.crash.nursery", str(other.fileno())]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, pass_fds=[other.fileno()]
        )
        other.close()
        self._socket = own

    def spawn(
        self, arguments: Sequence[str], environment: Mapping[str, str], out: IO[str], log: IO[str]
    ) -> Child:
        """Fork a server with faults: the first of its arguments is faulty.py's file."""
        message = json.dumps([arguments, environment]).encode()
        socket.send_fds(self._socket, [message], [out.fileno(), log.fileno()])
        return Child(int(self._socket.recv(_MESSAGE)))

    def close(self) -> None:
        """End it; what it forked goes on."""
        self._socket.close()
        self._process.wait(10)


def _serve(place: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to wait for what it forks
    while True:
        message, handles, _, _ = socket.recv_fds(place, _MESSAGE, 2)
        if not message:
            return
        pid = os.fork()
        if not pid:
            place.close()
            _child(*json.loads(message), *handles)
        for handle in handles:
            os.close(handle)
        place.send(str(pid).encode())


def _child(arguments: list[str], environment: dict[str, str], out: int, log: int) -> None:
    from tests.service.crash.faulty import app, install

    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for target, handle in ((1, out), (2, log)):
            os.dup2(handle, target)
            os.close(handle)
        os.environ.update(environment)
        install(Path(arguments[0]))
        app(arguments[1:])
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _prepare() -> None:
    """Import and work out whatever a server would."""
    for name in (
        "gradwire_service.http.serve", "gradwire_service.host.durable.keeper",
        "gradwire_service.host.durable.change", "gradwire_service.http.idempotency.stored",
        "httptools", "psycopg", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite",
        "structlog", "tests.service.crash.faulty", "uvicorn.lifespan.on", "uvicorn.loops.auto",
        "uvloop",
    ):  # fmt: skip
        import_module(name)
    facts()
    gc.freeze()


if __name__ == "__main__":
    _prepare()
    _serve(socket.socket(fileno=int(sys.argv[1])))
