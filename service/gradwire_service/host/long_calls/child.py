"""The process that long calls run in: it takes them one by one, and gives what they gave.

It ends when its parent does, at once and also in the middle of a call: a signal tells it that the
other end of its lifeline was closed, and its default action needs nothing of Python.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from gradwire_engine.kernels.blas_threads import of_lapack, of_products
from gradwire_service.host.long_calls.exchange import GoneError, answer, ask, receive, send


def hold_on(lifeline: int) -> None:
    """Have this process ended as soon as nobody holds the other end of a pipe."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        if not os.read(lifeline, 1):  # it was closed before anybody was told of it
            sys.exit()


def work(peer: socket.socket) -> None:
    """Do calls until the parent wants no more."""
    while True:
        try:
            answer(peer)
            ask(peer)
            reply = done(*receive(peer))
            send(peer, reply)
        except GoneError:
            return
        del reply  # the memory of its arrays


def done(
    threads: tuple[int | None, int | None], module: str, name: str, args: Any, named: Any
) -> tuple[bool, Any]:
    """Return whether a call went well, and its result, or what it raised."""
    for pool, count in zip((of_lapack(), of_products()), threads, strict=True):
        if pool is not None and count is not None:
            pool.use(count)
    try:
        with np.errstate(all="ignore"):
            return True, getattr(import_module(module), name)(*args, **named)
    except Exception as problem:
        return False, problem.with_traceback(None)


def main() -> None:
    """Talk to the parent by the sockets that it gave, until it is gone."""
    talk, lifeline = map(int, sys.argv[1:])
    hold_on(lifeline)
    for number in (signal.SIGINT, signal.SIGTERM):  # they mean the parent, which ends its calls
        signal.signal(number, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    for name in ("scipy.linalg", "scipy.linalg.lapack"):  # before the first call's time runs
        import_module(name)
    with socket.socket(fileno=talk) as peer:
        work(peer)


if __name__ == "__main__":
    main()
