"""What is recorded and not sent yet, and what becomes of it when a step fails."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gradwire import defaults
from gradwire.in_force import is_running
from gradwire.thread import threads
from gradwire.transport import Step
from gradwire.within import end_stale_modes
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.locks import depth
from gradwire_engine.mode import local

if TYPE_CHECKING:
    from gradwire.tensor import Tensor


Place = tuple[CodeType, int]
"""A place in the user's program: the code and the last instruction in it."""


def line_of(place: Place | None) -> str:
    """The place as "file.py:12", found when somebody asks; "" for none."""
    if place is None:
        return ""
    code, lasti = place
    number = code.co_firstlineno
    for begin, end, line in code.co_lines():
        if line is not None and begin <= lasti < end:
            number = line
    return f"{code.co_filename}:{number}"


Recorded = tuple[
    Step, Place | None, int, Sequence[tuple[str, ref["Tensor"]]], Mapping[str, np.ndarray]
]
"""A step, its place in the user's program (None: nobody asked for it), the journal's length before
it, what it makes, and the arrays that it brings. A tuple with names takes three times as long."""


class Pending:
    """Steps in the order in which they were recorded.

    nbytes: of tensors that they make, of arrays that go up or of others, and let go at the host.
    freed: names of what Python forgot, which these steps free.
    """

    __slots__ = ("freed", "nbytes", "recorded")

    def __init__(self, recorded: Iterable[Recorded] = ()) -> None:
        self.recorded = list(recorded)
        self.nbytes = 0
        self.freed: list[str] = []

    def __len__(self) -> int:
        return len(self.recorded)

    @property
    def steps(self) -> list[Step]:
        """The steps as they travel."""
        return [step for step, *_ in self.recorded]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of all steps."""
        found: dict[str, np.ndarray] = {}
        for *_, arrays in self.recorded:
            if arrays:
                found |= arrays
        return found

    def add(
        self,
        step: Step,
        place: Place | None = None,
        mark: int = 0,
        made: Sequence[Tensor | None] = (),
        arrays: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Add one step, whole or, where an interrupt comes, not at all."""
        named = []
        for tensor in made:
            if tensor is not None:
                named.append((tensor._name, ref(tensor)))
                array = tensor._meta._array  # none of a view, which has its base's memory
                if array is not None:
                    self.nbytes += array.nbytes
        self.recorded.append((step, place, mark, named, arrays or {}))

    def extend(self, later: Pending, mark: int) -> None:
        """Add steps that were kept aside; what they changed in mirrors is not undone any more."""
        self.recorded += [  # at once: an interrupt leaves all of them, or none
            (step, place, mark, made, arrays) for step, place, _, made, arrays in later.recorded
        ]
        self.nbytes += later.nbytes
        self.freed += later.freed

    def first_not_done(self, problem: GradwireError, *, atomic: bool) -> int:
        """The step that failed, which is named in the error's notes; 0 if none was begun.

        It is the number of all steps where they were done and only reading a tensor failed.
        """
        step = problem.step
        if step is None or not 0 <= step <= len(self):
            return 0
        _, place, *_ = self.recorded[step] if step < len(self) else (None, None)
        if place is not None:
            problem.add_note(f"recorded at {line_of(place)}")
        return 0 if atomic or problem.code == "invalid_request" else step

    def without_freed(self, problem: GradwireError, *, atomic: bool) -> Pending | None:
        """What is left to do where a name was to be freed and is not there any more; else None."""
        step = problem.step
        if problem.code != "tensor_not_found" or step is None or step >= len(self):
            return None
        failed, *_ = self.recorded[step]
        names = failed.get("free", ())
        gone = next((name for name in names if repr(name) in problem.detail), None)
        if gone is None:
            return None
        left = {"free": [name for name in names if name != gone]}
        found = Pending(self.recorded if atomic else self.recorded[step:])
        at = step if atomic else 0
        found.recorded[at] = (left, *found.recorded[at][1:])
        return found

    def lose(self, problem: GradwireError, first: int) -> tuple[list[str], set[str]]:
        """Give up the steps from `first` on.

        The names that still have to be freed, for Python forgot them: such a step has no place. And
        names that the host never had, of which Python may speak nevertheless: it forgot them
        already, or holds no tensor by them.
        """
        lost = self.recorded[first:]
        where = line_of(lost[0][1]) if lost else ""
        steps = [step for step, *_ in lost]
        given = [step.get(field) for step in steps for field in ("tensor", "out", "keep")]
        never = {*texts_in(given)}
        unfreed = [
            name for step, place, *_ in lost if place is None for name in step.get("free", ())
        ]
        self.freed = [name for name in self.freed if name not in unfreed]
        gone = never.difference(unfreed)
        for _, _, _, made, _ in lost:
            for name, reference in made:
                tensor = reference()
                if tensor is not None:
                    tensor._lose(Lost(problem, where))
                    gone.discard(name)
        return [name for name in unfreed if name not in never], gone


def texts_in(value: Any) -> Iterator[str]:
    """The strings in a part of a step, but for the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


class Lost:
    """In the place of a lost tensor's mirror: asked for anything, it says why there is none."""

    __slots__ = ("_problem", "_where")

    def __init__(self, problem: GradwireError, where: str) -> None:
        self._problem = problem.detail
        self._where = where

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        where = f", recorded at {self._where}," if self._where else ""
        raise error(
            "tensor_not_found",
            f"this tensor was never made: a step before it{where} failed: {self._problem}",
            "make it again, after mending what failed",
            raised=RuntimeError,
        )


class Recording:
    """Changes to mirrors, or to tensors that are here, in the journal of their session.

    The session is held meanwhile.

    Its `with` gives how long the journal was before. If the block raises, its changes are undone.
    Where an interrupt comes before `__exit__` begins, it ends as soon as nothing holds it, at the
    latest with the next call: see `end_stale_recordings`.
    """

    __slots__ = (
        "__weakref__", "_at", "_before", "_block", "_depth", "_late", "_mark", "_pending",
        "_session", "_state", "frame", "through",
    )  # fmt: skip

    def __init__(self, session: Any) -> None:
        self._session = session
        self.frame: FrameType | None = None
        self.through = False  # all of it is done, where nothing is recorded for a host
        self._late = False

    def __enter__(self) -> int:
        session = self._session
        lock = session._lock
        held = depth(lock)
        try:
            lock.acquire()
            recordings = threads.here.recordings
            if threads.here.blocks:
                end_stale_modes()
            if recordings:
                end_stale_recordings()
            session._prepare()
            state = self._state = local.state
            wanted = defaults.dtype()
            if state.default_dtype is not wanted:
                state.set_default_dtype(wanted)
            pending = self._pending = session._pending
            self._at = len(pending.recorded)
            mark = self._mark = len(session.journal.entries)
            self._before = (
                state.journal, state.device, state.fallible, state.generator, state.meter,
                state.grad, state.inference,
            )  # fmt: skip
            self._block = session.journal.block
            self._depth = len(recordings)
            recordings.append(ref(self))
            self.__class__ = _OpenRecording
            self.frame = sys._getframe(1)
        except BaseException:
            while depth(lock) > held:
                lock.release()
            raise
        journal = session.journal
        journal.block = object()  # what was made before the block isn't written to in place
        state.journal, state.device, state.fallible = journal, session.runs_on, False
        state.generator = session.generator
        if session.runs_here:
            if threads.here.generator is not None:
                state.generator = threads.here.generator
            if getattr(state.meter, "inner", state.meter) is not session.meter:
                state.meter = session.meter
        return mark

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        session, state = self._session, self._state
        recordings = threads.here.recordings
        while len(recordings) > self._depth + 1:
            inner = recordings[-1]()
            if inner is None or inner.frame is None:
                recordings.pop()
            elif kind is None:
                inner.end_late()
            else:
                inner.__exit__(kind)
        if kind is not None:
            session._undo(self._mark, self._pending, self._at)
            if not self._late:
                state.grad, state.inference = self._before[5:]
        state.journal, state.device, state.fallible, state.generator, state.meter = self._before[:5]
        session.journal.block = self._block
        if session.runs_here and not any(_is_of(r(), session) for r in recordings[: self._depth]):
            session.let_go()
        self.frame = None
        session._lock.release()  # first of all: an interrupt would leave it locked
        del recordings[self._depth :]
        self.__class__ = Recording

    def end_late(self) -> None:
        """End a block that nothing of `__exit__` was done for.

        If its step was recorded the block was through, and it stays: it was seen already. Modes
        that were set in it have ended by themselves.
        """
        pending, self._late = self._session._pending, True
        recorded = pending is not self._pending or len(pending.recorded) > self._at
        through = self.through or recorded
        self.__exit__(None if through else KeyboardInterrupt)


class _OpenRecording(Recording):
    """A recording while its block is open; as the block ends, the class becomes `Recording`.

    Only this class has `__del__`, since Python swallows an interrupt that comes in one.
    """

    __slots__ = ()

    def __del__(self) -> None:
        if self.frame is not None:
            self.end_late()


def _is_of(block: Recording | None, session: Any) -> bool:
    return block is not None and block._session is session and block.frame is not None


def is_open(session: Any) -> bool:
    """Whether a block of a session is under way on this thread."""
    return any(_is_of(reference(), session) for reference in threads.here.recordings)


def end_stale_recordings() -> None:
    """End what an interrupt left open on this thread: nothing that runs now is part of it."""
    recordings = threads.here.recordings
    while recordings:
        last = recordings[-1]()
        if last is not None and is_running(last.frame):
            return
        if last is None or last.frame is None:
            recordings.pop()
        else:
            last.end_late()


def may_fail() -> bool:
    """Whether an op was recorded in the block under way whose elements may make it fail."""
    return local.state.fallible


_inside: dict[str, bool] = {}
"""Whether modules are of this package, by their names."""


def users_place(above: int = 1) -> Place | None:
    """Where the caller outside of this package stands. above: frames that are known to be in it."""
    frame: FrameType | None = sys._getframe(above)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        inside = _inside.get(name)
        if inside is None:
            inside = name.partition(".")[0] in ("gradwire", "gradwire_engine")
            _inside[name] = inside
        if not inside:
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


def users_line() -> str:
    """Where the caller outside of this package stands, as text: "file.py:12"."""
    return line_of(users_place(2))


__all__ = [
    "Lost", "Pending", "Recorded", "Recording", "end_stale_recordings", "is_open", "line_of",
    "may_fail", "texts_in", "users_line", "users_place",
]  # fmt: skip
