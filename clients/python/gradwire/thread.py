"""What is under way on a thread: sessions in force, blocks of modes, changes that can be undone."""

from __future__ import annotations

from contextvars import Context, copy_context
from functools import partial
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire_engine.mode import local as state_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from weakref import ref

    from gradwire.pending import Recording
    from gradwire.within import within


class Thread:
    """What is under way on one thread.

    entries: sessions that `with` put in force, innermost last, with the frame that they end by.
    blocks: modes that were set around a user's Python. recordings: changes to tensors. quiet:
    contexts in which NumPy warns of no numbers, and nothing runs now.
    """

    __slots__ = ("blocks", "entries", "quiet", "recordings")

    def __init__(self) -> None:
        self.entries: list[tuple[Any, FrameType | None]] = []
        self.blocks: list[ref[within]] = []
        self.recordings: list[ref[Recording]] = []
        self.quiet: list[Context] = []


class _Threads(local):
    def __init__(self) -> None:
        self.here = Thread()


threads = _Threads()


def quiet_context() -> Context:
    """A context in which NumPy says nothing of numbers that overflow or are none."""
    made = copy_context()
    made.run(np.seterr, all="ignore")
    return made


def quietly(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What some work of the engine gives, without NumPy's warnings.

    It runs in a context of its own, so that an interrupt leaves NumPy's settings as they were.
    """
    free = threads.here.quiet
    context = free.pop() if free else quiet_context()
    try:
        return context.run(work, *args, **kwargs)
    finally:
        free.append(context)


def timed(kind: str, name: str, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What some work gives, which is a row of the profile that is under way on this thread."""
    profile = state_of.state.profile
    if profile is None:
        return work(*args, **kwargs)
    return profile.timed(kind, name, partial(work, *args, **kwargs))


__all__ = ["quiet_context", "quietly", "threads", "timed"]
