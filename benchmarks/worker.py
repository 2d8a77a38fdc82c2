"""The process of one side: prepares a case once, then measures it whenever it is told to.

Requests and replies are lines of JSON on stdin and stdout. Nothing but the standard library is
imported before the cores are chosen, so that thread pools see the right number of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any, TextIO

SAMPLE = 100e-6  # seconds: shorter calls are timed several at a time
FEWEST = 3


def main() -> None:
    """Serve one parent until it closes the pipe."""
    replies = sys.stdout
    order = json.loads(sys.stdin.readline())
    os.sched_setaffinity(0, order["cores"])
    module, function = order["target"].split(":")
    with contextlib.redirect_stdout(sys.stderr):
        if order["first"]:
            import_module(order["first"])
        case = getattr(import_module(module), function)(**order["arguments"])
        _reply(replies, {"ready": True})
        for line in sys.stdin:
            _reply(replies, _measure(case, float(json.loads(line)["seconds"])))


def _reply(stream: TextIO, message: dict[str, Any]) -> None:
    stream.write(json.dumps(message) + "\n")
    stream.flush()


def _measure(case: Any, seconds: float) -> dict[str, Any]:
    """A case that measures itself does; any other is a call to time."""
    if hasattr(case, "measure"):
        found: dict[str, Any] = case.measure(seconds)
        return found
    return {"times": timed(case, seconds)}


def timed(call: Callable[[], object], seconds: float) -> list[float]:
    """Seconds per call, sampled for `seconds` and at least three times."""
    repeats = _repeats(call)
    times: list[float] = []
    end = perf_counter() + seconds
    while perf_counter() < end or len(times) < FEWEST:
        started = perf_counter()
        for _ in range(repeats):
            call()
        times.append((perf_counter() - started) / repeats)
    return times


def _repeats(call: Callable[[], object]) -> int:
    started = perf_counter()
    call()
    return max(1, int(SAMPLE / max(perf_counter() - started, 1e-9)))


if __name__ == "__main__":
    main()
