"""Processes without the seconds that their imports take: one that has imported everything forks.

`python -m tests.nursery FD` serves a Unix socket: for each message, a JSON list of a program with
its arguments, environment and folder, it forks and answers a pid. With the message come
descriptors, for standard output, for errors and for the exit status. What is forked calls the
program, and ends or is killed as any process is.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import TracebackType
from typing import IO

ROOT = Path(__file__).parents[1]
COMMAND = "gradwire_service.__main__:main"
"""What the script `gradwire` calls."""
_MESSAGE = 2**17


class Child:
    """A forked process, with as much of subprocess.Popen as is needed."""

    def __init__(self, pid: int, status: int, out: IO[str] | None, errors: IO[str] | None) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdout, self.stderr = out, errors
        self._status = status
        try:
            self._handle = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already
            self._handle = -1

    def poll(self) -> int | None:
        """How it ended, as subprocess says it; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; how it ended."""
        if self.returncode is None:
            milliseconds = None if timeout is None else timeout * 1000
            poll = select.poll()
            poll.register(self._status, select.POLLIN)
            if not poll.poll(milliseconds):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self.returncode = int(os.read(self._status, 16))
            os.close(self._status)
            if self._handle >= 0:
                os.close(self._handle)
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """What it still says until it ends."""
        with ThreadPoolExecutor(2) as pool:
            reading = [pool.submit(_rest, stream) for stream in (self.stdout, self.stderr)]
            try:
                out, errors = [one.result(timeout) for one in reading]
                self.wait(timeout)
            except (TimeoutError, subprocess.TimeoutExpired):
                self.kill()  # or what is read has no end
                raise
        return out, errors

    def send_signal(self, how: int) -> None:
        """Send it a signal, if it is still there."""
        if self.poll() is None and self._handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, how)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.kill()
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def _rest(stream: IO[str] | None) -> str:
    return "" if stream is None or stream.closed else stream.read()


class Nursery:
    """The process that forks."""

    def __init__(self) -> None:
        own, other = socket.socketpair(type=socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.nursery", str(other.fileno())]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, pass_fds=[other.fileno()]
        )
        other.close()
        self._socket, self._lock = own, threading.Lock()

    def spawn(
        self,
        program: str,
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        out: IO[str] | None = None,
        errors: IO[str] | None = None,
    ) -> Child:
        """Fork one that calls a program, `module:function`; what is not written is to be read."""
        given = [program, *map(str, arguments)]
        message = json.dumps([given, {**os.environ, **(environment or {})}, str(folder or Path())])
        with ExitStack() as stack:
            read_out, write_out = _pipe(out, stack)
            read_errors, write_errors = _pipe(errors, stack)
            reading, writing = os.pipe()
            stack.callback(os.close, writing)
            with self._lock:
                handles = [write_out, write_errors, writing]
                socket.send_fds(self._socket, [message.encode()], handles)
                pid = int(self._socket.recv(_MESSAGE))
        return Child(pid, reading, read_out, read_errors)

    def close(self) -> None:
        """End it; what it forked goes on."""
        self._socket.close()
        self._process.wait(10)


def _pipe(file: IO[str] | None, stack: ExitStack) -> tuple[IO[str] | None, int]:
    """What is written to, and how it is read where that is a pipe."""
    if file is not None:
        return None, file.fileno()
    reading, writing = os.pipe()
    stack.callback(os.close, writing)
    return os.fdopen(reading), writing


@cache
def nursery() -> Nursery:
    """The one of this process."""
    made = Nursery()
    atexit.register(made.close)
    return made


def run(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    with nursery().spawn(program, *arguments, environment=environment) as process:
        out, errors = process.communicate(60)
        return subprocess.CompletedProcess([program, *arguments], process.wait(), out, errors)


def _serve(place: socket.socket) -> Callable[[], None] | None:
    """Fork until nobody asks any more; in what is forked, what it has to do."""
    children: dict[int, tuple[int, int]] = {}
    poll = select.poll()
    poll.register(place, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready in children:
                poll.unregister(ready)
                _tell(ready, *children.pop(ready))
                continue
            message, handles, _, _ = socket.recv_fds(place, _MESSAGE, 3)
            if not message:
                return None
            out, errors, status = handles
            pid = os.fork()
            if not pid:
                place.close()
                for handle, (_, other) in [*children.items(), (status, (0, -1))]:
                    os.close(handle)
                    if other >= 0:
                        os.close(other)
                return lambda: _become(*json.loads(message), out, errors)
            os.close(out)
            os.close(errors)
            handle = os.pidfd_open(pid)
            children[handle] = pid, status
            poll.register(handle, select.POLLIN)
            place.send(str(pid).encode())


def _tell(handle: int, pid: int, status: int) -> None:
    """Tell whoever asked for a process how it ended."""
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError):  # nobody wants to know
        os.write(status, str(ended).encode())
    os.close(status)
    os.close(handle)


def _become(
    given: list[str], environment: dict[str, str], folder: str, out: int, errors: int
) -> None:
    for target, handle in ((1, out), (2, errors)):
        os.dup2(handle, target)
        os.close(handle)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["gradwire", *given[1:]]
    status: object = 0
    try:
        resolve_name(given[0])()
    except SystemExit as ending:
        status = ending.code
        if isinstance(status, str):
            sys.stderr.write(f"{status}\n")
    except BaseException:
        traceback.print_exc()
        status = 1
    # What an interpreter does at its end, but for taking apart what it shares with the nursery:
    # that would copy all of it.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def _prepare() -> None:
    """Import and work out whatever a server or a client would."""
    for name in (
        "gradwire", "gradwire_service.__main__", "gradwire_service.commands.run",
        "gradwire_service.http.serve", "gradwire_service.host.durable.keeper",
        "gradwire_service.host.durable.change", "gradwire_service.http.idempotency.stored",
        "httptools", "httpx", "psycopg", "sqlalchemy.dialects.postgresql",
        "sqlalchemy.dialects.sqlite", "structlog", "tests.clients.training",
        "tests.service.crash.faulty", "uvicorn.lifespan.on", "uvicorn.loops.auto", "uvloop",
    ):  # fmt: skip
        import_module(name)
    import_module("gradwire_service.host.durable.machine").facts()
    gc.freeze()


if __name__ == "__main__":
    _prepare()
    forked = _serve(socket.socket(fileno=int(sys.argv[1])))
    if forked is not None:
        forked()
