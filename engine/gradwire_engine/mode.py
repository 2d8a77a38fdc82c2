"""What is in force on this thread: grad mode, inference mode, journal, meter, random generator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any, Protocol

from gradwire_engine.errors import error
from gradwire_engine.promote import Weak, weak_kinds
from gradwire_engine.spec import DType, float32

if TYPE_CHECKING:
    from gradwire_engine.journal import Journal
    from gradwire_engine.long_calls import Watch
    from gradwire_engine.profile import Profile
    from gradwire_engine.random import Generator


class Meter(Protocol):
    """Asked before anything is allocated; raises memory_limit when the bytes are not to be had.

    flops, ops: what is about to run for it, for those who count work.
    """

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None: ...


class Layer(Protocol):
    """A vmap in progress, by which random numbers are drawn.

    lift: a value as one with a row for each example, of this vmap and of those around it, so that
    each example can have a gradient of its own by it.
    """

    @property
    def level(self) -> int: ...

    @property
    def columns(self) -> bool: ...

    @property
    def outer(self) -> Layer | None: ...

    def draw(self, op: Any, args: tuple[Any, ...]) -> Any: ...

    def lift(self, value: Any) -> Any: ...


class State:
    """The modes of one thread; `current()` gives it."""

    __slots__ = (
        "anomaly",
        "check_nan",
        "default_dtype",
        "device",
        "fallible",
        "generator",
        "grad",
        "inference",
        "journal",
        "level",
        "meter",
        "moves",
        "origin",
        "profile",
        "recomputed",
        "vmap",
        "watch",
        "weak",
        "writing",
    )  # fmt: skip

    def __init__(self) -> None:
        self.grad = True
        self.inference = False
        self.anomaly = False  # whether walks look for the node that made the first NaN
        self.recomputed: dict[Any, Any] | None = None  # what a walk ran again: see checkpoint.py
        self.check_nan = True  # false: anomaly mode without that look
        self.fallible = False  # set when an op ran on shapes alone whose elements may make it fail
        self.journal: Journal | None = None
        self.meter: Meter | None = None
        self.watch: Watch | None = None  # asked about calls that may take long
        self.generator: Generator | None = None
        self.profile: Profile | None = None  # told what each op takes, where somebody asked
        self.origin: Callable[[int], str] | None = None  # seq of a node -> "step 1, tensor y"
        self.default_dtype: DType = float32
        self.level = 0  # transforms in progress, one inside the other: what the next wraps is above
        self.vmap: Layer | None = None  # the innermost vmap
        self.moves = 0  # blocks that set modes which began or ended
        self.device = "cpu"  # of results that no operand and no attribute decides
        self.weak: dict[type, Weak] = weak_kinds(float32)
        self.writing = False  # an op runs for its form in place: see unrecorded.py

    def set_default_dtype(self, dtype: DType) -> None:
        """The dtype of float results that no operand decides; a floating dtype."""
        if not dtype.is_floating_point:
            raise error("dtype_mismatch", f"the default dtype must be floating, not {dtype.name}")
        self.default_dtype = dtype
        self.weak = weak_kinds(dtype)


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = State()


local = _Local()


def current() -> State:
    """The modes of this thread."""
    return local.state


class _Before:
    """The values that fields of a thread's state had before a block set them.

    moves: the state's own count as the block began; it is another one once other modes were set.
    """

    __slots__ = ("fields", "moves", "state")

    def __init__(self, state: State, fields: dict[str, Any]) -> None:
        self.state, self.fields, self.moves = state, fields, state.moves

    def put_back(self) -> None:
        for name, value in self.fields.items():
            setattr(self.state, name, value)


class _Open(_Before):
    """The values to put back of a block that is open: done as soon as nothing holds this object.

    As the block ends, the class becomes `_Before`: Python swallows an interrupt that comes in
    `__del__`, so none is called where no block was broken off.
    """

    __slots__ = ()

    def __del__(self) -> None:
        if self.state.moves == self.moves:
            self.put_back()
            self.state.moves += 1


class using(ContextDecorator):
    """Set fields of this thread's state for a block or a function, and put them back after.

    They are put back as well where an interrupt comes before `__exit__` begins, as soon as nothing
    holds what was entered; unless other modes were set since, which know better. `kept` is for
    modes that may be entered without a block.
    """

    kept = False
    """Whether `__enter__` called by hand holds for good, as scripts use torch.no_grad()."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields
        self._saved: list[_Before] = []

    def __enter__(self) -> None:
        state = local.state
        fields = {name: getattr(state, name) for name in self._fields}
        state.moves += 1
        before = _Before(state, fields)
        if not self.kept:
            before.__class__ = _Open
        self._saved.append(before)
        for name, value in self._fields.items():
            setattr(state, name, value)
        if state.inference and "grad" in self._fields:
            state.grad = False  # enable_grad records nothing inside inference mode

    def _recreate_cm(self) -> using:
        """A decorated function may run on several threads: each call has its own."""
        return using(**self._fields)

    def __exit__(self, *exc: object) -> None:
        before = self._saved[-1]
        before.put_back()
        before.__class__ = _Before  # as all is put back: before that it is left to `__del__`
        del self._saved[-1]
        before.state.moves += 1


def charge(nbytes: int, flops: int = 0, ops: int = 0) -> None:
    """Ask the meter, if there is one, before so much is allocated outside of ops."""
    meter = local.state.meter
    if meter is not None:
        meter.charge(nbytes, flops, ops)


def no_grad() -> using:
    """Record nothing: results require no grad."""
    return using(grad=False)


def enable_grad() -> using:
    """Record again, inside a no_grad block."""
    return using(grad=True)


def set_grad_enabled(flag: bool) -> using:
    """no_grad or enable_grad by a flag."""
    return using(grad=bool(flag))


def inference_mode(flag: bool = True) -> using:
    """Record nothing and make inference tensors, which autograd can never use."""
    return using(inference=True, grad=False) if flag else using(inference=False, grad=True)


GRAD_MODES: dict[str, Callable[[], using]] = {
    "enable_grad": enable_grad,
    "no_grad": no_grad,
    "inference_mode": inference_mode,
}
