"""A session as the SDK sees it: calls are recorded here and sent together, in order.

Each recorded step keeps the line of the user's program that made it, so that an error which only
the elements reveal names that line. Steps travel with `"atomic": false`: what came before a failed
step is kept, as a program that raised would leave it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from threading import RLock
from types import FrameType
from typing import Any
from weakref import finalize

import numpy as np

from gradwire.transport import Received, Transport
from gradwire_engine import mode
from gradwire_engine.errors import GradwireError
from gradwire_engine.spec import DTYPES, DType

MAX_STEPS = 1000
"""Steps recorded before they are sent by themselves."""
MAX_BYTES = 64 * 2**20
"""Bytes of arrays recorded before they are sent by themselves."""

_PACKAGE = __name__.partition(".")[0] + "."


class Session:
    """One session on a server, or embedded; made on first use unless asked for by hand."""

    def __init__(
        self,
        transport: Transport,
        *,
        device: str = "cpu",
        dtype: DType | None = None,
        seed: int | None = None,
        label: str | None = None,
    ) -> None:
        self.transport = transport
        self.device = device
        self.dtype = dtype or mode.current().default_dtype
        body = {"device": device, "dtype": self.dtype.name, "seed": seed, "label": label}
        self.id: str = transport.create({k: v for k, v in body.items() if v is not None})["id"]
        self._close = finalize(self, _close, transport, self.id)
        self._lock = RLock()
        self._names = count(1)
        self._steps: list[dict[str, Any]] = []
        self._lines: list[str] = []
        self._arrays: dict[str, np.ndarray] = {}
        self._bytes = 0
        self._forgotten: list[str] = []

    def new_name(self) -> str:
        """A name that no other tensor of the session has."""
        return f"t{next(self._names)}"

    def forget(self, name: str) -> None:
        """Free a tensor that Python forgot, with the next request."""
        self._forgotten.append(name)

    def record(self, step: dict[str, Any], arrays: dict[str, np.ndarray] | None = None) -> None:
        """Add a step to what is sent next; the grad mode in force goes with it."""
        state = mode.current()
        if state.inference:
            step["grad_mode"] = "inference_mode"
        elif not state.grad:
            step["grad_mode"] = "no_grad"
        with self._lock:
            self._steps.append(step)
            self._lines.append(users_line())
            for name, array in (arrays or {}).items():
                self._arrays[name] = array
                self._bytes += array.nbytes
            full = len(self._steps) >= MAX_STEPS or self._bytes >= MAX_BYTES
        if full:
            self.flush()

    def flush(self, returns: Sequence[str] = (), *, data: bool = True) -> dict[str, Received]:
        """Send what is recorded and read tensors back; errors are raised as torch would."""
        with self._lock:
            if not self._steps and not returns and not self._forgotten:
                return {}
            forgotten, self._forgotten = self._forgotten, []
            steps, lines, arrays = self._steps, self._lines, self._arrays
            if forgotten:
                steps.append({"free": forgotten})
                lines.append("")
            self._steps, self._lines, self._arrays, self._bytes = [], [], {}, 0
            try:
                return self.transport.steps(self.id, steps, list(returns), arrays, data)
            except GradwireError as problem:
                raise _at_line(problem, lines) from None

    def read(self, name: str) -> np.ndarray:
        """The elements of one tensor, after all that is recorded before it."""
        array = self.flush([name])[name].array
        assert array is not None
        return array

    def info(self) -> dict[str, Any]:
        """The session resource: counts, bytes held, last use, expiry."""
        self.flush()
        return self.transport.describe(self.id)

    def graph(self, format: str = "svg", tensor: str | None = None) -> Any:
        """The graph as a picture or as data: "json", "dot", "mermaid" or "svg"."""
        self.flush()
        return self.transport.graph(self.id, format, tensor)

    def close(self) -> None:
        """End the session and free what it holds."""
        self._close()

    def __enter__(self) -> Session:
        from gradwire import current

        current.enter(self)
        return self

    def __exit__(self, *exc: object) -> None:
        from gradwire import current

        current.leave(self)
        self.close()


def _close(transport: Transport, session_id: str) -> None:
    transport.delete(session_id)


def _at_line(problem: GradwireError, lines: list[str]) -> GradwireError:
    """The error with the line that recorded the failed step."""
    step = problem.step
    if step is not None and 0 <= step < len(lines) and lines[step]:
        problem.add_note(f"recorded at {lines[step]}")
    return problem


def users_line() -> str:
    """Where the caller outside of this package stands: "file.py:12"."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("gradwire.", "gradwire_")) and name != "gradwire":
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


__all__ = ["DTYPES", "Session", "users_line"]
