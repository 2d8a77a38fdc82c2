"""Processes in which calls run that can't be ended otherwise: killed when the time is over."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from gradwire_engine.kernels.blas_threads import of_lapack, of_products
from gradwire_engine.locks import lock
from gradwire_engine.long_calls import Function
from gradwire_service.host.long_calls.exchange import GoneError, answer, ask, receive, send

_LOOK = 0.02
"""Seconds between looks at the clock while a call runs."""

POSSIBLE = hasattr(socket, "send_fds") and sys.platform != "win32"
"""Whether memory can be handed to another process here."""


class Process:
    """One that runs one call at a time. It lives until it is ended, or this process is."""

    def __init__(self) -> None:
        self._peer, theirs = socket.socketpair()
        reading, self._lifeline = os.pipe()
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 (nothing of a request is in it)
                    [sys.executable, "-P", "-m", _CHILD, str(theirs.fileno()), str(reading)],
                    pass_fds=(theirs.fileno(), reading),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,  # a terminal's Ctrl-C is for this process alone
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            except BaseException:
                self._peer.close()
                os.close(self._lifeline)
                raise
            finally:
                os.close(reading)

        self._asked = False

    def ready(self, look: Callable[[], None]) -> None:
        """Wait until it takes a call; when it was just started that is half a second or more.

        look: as for `run`, but what it raises does no harm. GoneError where it has ended.
        """
        if not self._asked:
            self._peer.setblocking(True)
            ask(self._peer)
            self._asked = True
        self._peer.settimeout(_LOOK)
        while True:
            with suppress(TimeoutError):
                answer(self._peer)
                break
            look()
        self._asked = False

    def run(
        self, call: Function, args: Any, named: dict[str, Any], look: Callable[[], None]
    ) -> tuple[bool, Any]:
        """Return whether a call went well, and what it gave or raised, as if it had run here.

        look: called again and again meanwhile; what it raises comes out, and then this process is
        of no use any more. GoneError where it has ended by itself.
        """
        pools = (of_lapack(), of_products())
        threads = tuple(None if pool is None else pool.threads() for pool in pools)
        args = [np.ascontiguousarray(x) if _in_gaps(x) else x for x in args]
        self._peer.setblocking(True)
        send(self._peer, (threads, call.module, call.name, args, named))
        while True:
            self._peer.settimeout(_LOOK)
            with suppress(TimeoutError):
                well, found = receive(self._peer)
                break
            look()
        return well, tuple(map(_own, found)) if isinstance(found, tuple) else _own(found)

    def end(self) -> None:
        """End it at once, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._peer.close()
        os.close(self._lifeline)


_CHILD = "gradwire_service.host.long_calls.child"


def _in_gaps(x: Any) -> bool:
    """Whether it is an array whose elements don't lie side by side, and so can't be sent alone."""
    return type(x) is np.ndarray and not (x.flags.c_contiguous or x.flags.f_contiguous)


def _own(found: Any) -> Any:
    """A result that lies in memory of this process's own, as it lay."""
    return found.copy(order="K") if type(found) is np.ndarray else found


class Processes:
    """Those of this process: as many as calls run at a time, one of which is kept for the next."""

    def __init__(self) -> None:
        self._lock = lock()
        self._kept: Process | None = None
        self._starter: ThreadPoolExecutor | None = None

    def open(self) -> None:
        """Start processes with the priority of the caller's thread from now on.

        A process inherits that of the thread which starts it, and the threads that compute have
        stepped back: its own threads, which wait for each other, would then take several times as
        long beside other work.
        """
        if self._starter is None:
            self._starter = ThreadPoolExecutor(1, thread_name_prefix="starter")
            self._starter.submit(int)  # its thread is made now, by this one

    def run(
        self, call: Function, args: Any, named: dict[str, Any], look: Callable[[], None]
    ) -> Any:
        """Return what a call gives, in a process that ends if `look` raises.

        Where no process can be made, the call runs here. MemoryError where it was ended by others:
        the system does that when its memory is used up.
        """
        process = self._ready(look)
        if process is None:
            return call.own(*args, **named)
        try:
            well, found = process.run(call, args, named, look)
        except GoneError as problem:
            process.end()
            raise MemoryError from problem
        except BaseException:
            process.end()
            raise
        self._put_back(process)
        if not well:
            raise found
        return found

    def _ready(self, look: Callable[[], None]) -> Process | None:
        """One that takes a call: the one that was kept if it still lives, else a new one.

        One that is not ready when `look` raises is kept: else, where starting takes longer than
        anybody may wait, none would ever be.
        """
        with self._lock:
            kept, self._kept = self._kept, None
        if kept is not None and self._is_ready(kept, look):
            return kept
        try:
            starter = self._starter
            made = Process() if starter is None else starter.submit(Process).result()
        except OSError:
            return None
        return made if self._is_ready(made, look) else None

    def _is_ready(self, process: Process, look: Callable[[], None]) -> bool:
        """Wait for one; false where it has ended."""
        try:
            process.ready(look)
        except GoneError:
            process.end()
            return False
        except BaseException:
            self._put_back(process)
            raise
        return True

    def _put_back(self, process: Process) -> None:
        with self._lock:
            if self._kept is None:
                self._kept = process
                return
        process.end()

    def close(self) -> None:
        """End the one that is kept; those that work end with their calls."""
        with self._lock:
            process, self._kept = self._kept, None
        if process is not None:
            process.end()


PROCESSES = Processes()
"""This process's."""
atexit.register(PROCESSES.close)
