"""What is under way on a thread: sessions in force, blocks of modes, changes that can be undone."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import partial
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import local as state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from weakref import ref

    from gradwire.pending import Recording
    from gradwire.within import within


def quiet_context() -> Context:
    """A context of the engine's own in which NumPy says nothing of numbers that overflow."""
    made = Context()
    made.run(np.seterr, all="ignore")
    return made


class Thread:
    """What is under way on one thread.

    entries: sessions that `with` put in force, innermost last, with the frame that they end by.
    blocks: modes that were set around a user's Python. recordings: changes to tensors. context:
    one in which NumPy warns of no numbers, for ops; none while an op runs in it, in which a
    signal's handler may call others. quiet: such contexts for longer work. generator: what
    sessions here draw from in the place of their own. warns: NumPy's settings of the program, while
    a walk that may call its functions has others.
    """

    __slots__ = ("blocks", "context", "entries", "generator", "quiet", "recordings", "warns")

    def __init__(self) -> None:
        self.entries: list[tuple[Any, FrameType | None]] = []
        self.blocks: list[ref[within]] = []
        self.recordings: list[ref[Recording]] = []
        self.context: Context | None = None
        self.quiet: list[Context] = []
        self.generator: Any = None
        self.warns: list[Any] = []


class _Threads(local):
    def __init__(self) -> None:
        self.here = Thread()


threads = _Threads()


class Draws:
    """Stands for random numbers where none may be drawn."""

    def next_stream(self, device: str) -> Any:
        """Raise that the op draws."""
        raise WouldDraw


NO_DRAWS: Any = Draws()


class WouldDraw(Exception):
    """An op draws random numbers, which has to be possible to undo."""


def quietly(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do some work of the engine that calls nobody's Python, without NumPy's warnings.

    It runs in a context of its own, so that an interrupt leaves NumPy's settings as they were.
    """
    free = threads.here.quiet
    context = free.pop() if free else quiet_context()
    try:
        return context.run(work, *args, **kwargs)
    finally:
        free.append(context)


def _numpys() -> tuple[ContextVar[Any], Any]:
    """The variable that has NumPy's settings, and its value where nothing is told."""
    found = quiet_context()
    variable = next(iter(found))
    return variable, found[variable]


_WARNS, _SILENT = _numpys()


def with_callbacks(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same for work that calls functions of the user by `as_user`.

    What these set of context variables is set after it.
    """
    context, warns = copy_context(), threads.here.warns
    context.run(_WARNS.set, _SILENT)
    warns.append(_WARNS.get(None))
    try:
        return context.run(work, *args, **kwargs)
    finally:
        warns.pop()
        for variable, value in context.items():
            if variable is not _WARNS and variable.get(_MISSING) is not value:
                variable.set(value)


_MISSING: Any = object()


def as_user(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of the user from within such work, under the program's own settings."""
    warns = threads.here.warns
    if not warns or warns[-1] is None:
        return function(*args)
    token = _WARNS.set(warns[-1])
    try:
        return function(*args)
    finally:
        _WARNS.reset(token)


@contextmanager
def drawing_from(generator: Any) -> Iterator[None]:
    """A block in which sessions here draw from a generator on this thread."""
    thread, state = threads.here, state_of.state
    before = thread.generator, state.generator
    thread.generator = state.generator = generator
    try:
        yield
    finally:
        thread.generator, state.generator = before


def timed(kind: str, name: str, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do some work that is a row of the profile that is under way on this thread."""
    profile = state_of.state.profile
    if profile is None:
        return work(*args, **kwargs)
    return profile.timed(kind, name, partial(work, *args, **kwargs))


def refuse_others(session: Any, tensors: Any) -> None:
    """Refuse tensors of another session in what a user's function gives."""
    for tensor in tensors:
        other = getattr(tensor, "session", session)
        if other is not session:
            raise _of_two(session, other)


def _of_two(one: Any, other: Any) -> GradwireError:
    return error(
        "invalid_argument",
        f"the tensors live in two sessions, {one.id} and {other.id}",
        "bring one over: torch.tensor(x.numpy()) makes it anew in the session in force",
    )


__all__ = [
    "NO_DRAWS", "WouldDraw", "as_user", "drawing_from", "quiet_context", "quietly", "refuse_others",
    "threads", "timed", "with_callbacks",
]  # fmt: skip
