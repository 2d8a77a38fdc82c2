"""compile: a function that is written down once for each kind of arguments, and runs by its plan.

What is written down is a program on the host. Later calls send its id and its tensors, and run none
of the function's Python.
"""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import copy
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire import called, current
from gradwire.called import Wanted
from gradwire.explained import Explanation, described
from gradwire.modes import set_grad_enabled
from gradwire.pytrees import each_once
from gradwire.tensor import Tensor
from gradwire.thread import refuse_others
from gradwire.trace import Trace, Traced, innermost, restored, taken_apart, trace
from gradwire.watched import Watched
from gradwire_engine.errors import GradwireError
from gradwire_engine.mode import local

if TYPE_CHECKING:
    from gradwire.session import Session

KEPT = 64
"""Kinds of arguments that are known at a time."""
_PLANNED = 10
"""Calls after which there is a plan, if there can be one, and after which that is looked at."""
_MODES = (
    None,
    "default",
    "lite",
    "reduce-overhead",
    "max-autotune-no-cudagraphs",
    "max-autotune",
)
"""What torch calls its ways to compile."""


_PYTHONS = ("untraceable", "leaf_in_place")
"""Errors that may only mean that it was written down: what comes in is a leaf there."""


class Kind(NamedTuple):
    """What has to be the same for a program to serve again, by what it is called in reports."""

    session: int
    modes: tuple[Any, ...]
    tensors: tuple[Any, ...]
    static: Any


class Variant:
    """The function for one kind of arguments. traced: None where it runs as Python, and why.

    outputs: what the function gives. written: what it writes to, by name, with the places of these
    arguments: the program works on copies, and gives them as they are in the end.
    """

    def __init__(self, traced: Traced | None, seen: Watched, why: str, seconds: float) -> None:
        self.traced, self.seen, self.why, self.seconds = traced, seen, why, seconds
        self.calls = 0
        self.outputs = [] if traced is None else traced.outputs
        self.written = {} if traced is None else traced.write_to_copies()
        self.may_lose = traced is not None and bool(self.written) and traced.trace.fallible
        if traced is not None:
            inputs = traced.trace.inputs
            self._places = {name: place for place, (name, _) in enumerate(inputs)}
            self._given = [self._places.get(o._name) for o in traced.outputs]
            self._wanted = [self._part(o) for o in traced.outputs]
            self._named = [o._name for o in self.outputs]
            self._program: Any = None

    def run(self, args: Sequence[Tensor]) -> Any:
        """Record a call on these tensors."""
        traced = self.traced
        assert traced is not None
        given = [*args, *traced.args[len(args) :]]
        parts: list[Any] = [
            wanted if place is None else given[place]
            for place, wanted in zip(self._given, self._wanted, strict=True)
        ]
        if not self.written:
            return traced.restored(self._called(given, parts) if None in self._given else parts)
        found = {name: given[place] for name, place in (self._places | self.written).items()}
        if None in self._given:
            for place in self.written.values():  # what is kept for gradients is not written to
                given[place] = given[place].clone()
            parts = self._called(given, parts)
        for output, part in zip(traced.outputs, parts, strict=True):
            if output._name in self.written:
                _write(found[output._name], part, output)
            else:
                found[output._name] = part
        return traced.restored([found[name] for name in self._named])

    def _called(self, given: list[Tensor], parts: Sequence[Any]) -> list[Any]:
        """The results of the program; where its failing leaves writes undone, raise _Undone."""
        assert self.traced is not None
        session: Any = self.traced.trace.outer
        if not session.runs_here:
            again = copy(self.traced)
            again.args = given
            found = called.record({"call": again.id}, again, parts, planned=True)
            if self.may_lose:
                _sent(session)
            return found
        if self._program is None:
            self._program = session.host.program(self.traced.id)
        try:
            results = session.planned(self._program, given)
        except GradwireError as problem:
            if self.may_lose:
                raise _Undone from problem
            raise
        return [
            part if isinstance(part, Tensor) else result
            for part, result in zip(parts, results, strict=True)
        ]

    def _part(self, output: Tensor) -> Wanted:
        """What stands outside for an output of the program that is no argument."""
        moves = output.requires_grad and not (output._name in self.written and output.is_leaf)
        return Wanted(output.shape, output.dtype, "CallBackward" if moves else None)


def _write(target: Tensor, found: Tensor, inside: Tensor) -> None:
    """Write what was written to a copy; with its history if it has one, and is no leaf still."""
    moves = inside.requires_grad and not inside.is_leaf
    with set_grad_enabled(moves):
        target.copy_(found if moves else found.detach())


class _Undone(Exception):
    """The function raised, and what it wrote before that is not written: its error is the cause."""


def _sent(session: Session) -> None:
    """Have the call that was recorded last run; if it is what fails, raise _Undone."""
    place = session.waiting - 1
    try:
        session.flush()
    except GradwireError as problem:
        if problem.step != place:
            raise
        raise _Undone from problem


_told = Event()


def _tell_of_compiler() -> None:
    """Say once how this process gets the compiler that one of its plans could have used."""
    if _told.is_set() or not import_module("gradwire_engine.plan.compiled.llvm").Missed.compiler:
        return
    _told.set()
    warnings.warn(
        "compile: parts of this program would run faster compiled by LLVM, which is not installed; "
        "pip install 'gradwire[compiled]' brings it",
        stacklevel=3,
    )


class Compiled:
    """A function that runs by programs; attributes are the function's own."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        self._function, self._fullgraph = function, fullgraph
        self._variants: OrderedDict[Kind, Variant] = OrderedDict()
        self.retraces: list[str] = []
        self.hits = 0
        self._calls = 0
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy is of the function, and writes it down for itself."""
        return type(self), (self._function, self._fullgraph)

    def __repr__(self) -> str:
        kinds = _counted(len(self._variants), "kind of arguments", "kinds of arguments")
        return f"<compiled {self.__name__}: {kinds}, {_counted(self._calls, 'call', 'calls')}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if innermost() is not None:  # it becomes a part of what is being written down
            return self._function(*args, **kwargs)
        self._calls += 1
        try:
            variant, tensors, known = self._variant(args, kwargs)
            self.hits += known
            variant.calls += 1
            if variant.traced is not None:
                found = variant.run(tensors)
                if not variant.calls % _PLANNED:
                    _tell_of_compiler()
                return found
        except _Undone:
            pass  # run as Python it raises again, after its writes
        return self._function(*args, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What a call with these arguments runs, what it takes, and why there were traces so far.

        The function is written down if it wasn't yet; nothing is run.
        """
        try:
            variant, tensors, _ = self._variant(args, kwargs)
        except _Undone as undone:
            raise undone.__cause__ or undone from None
        return described(self.__name__, variant, tensors, self.retraces, self.hits)

    def _variant(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Variant, list[Tensor], bool]:
        """What serves these arguments, the tensors among them, and whether it was there already."""
        tensors: list[Tensor] = []
        static = _fixed((args, kwargs), tensors)
        session = tensors[0].session if tensors else current.session()
        state = local.state
        modes = (state.grad, state.inference, state.default_dtype)
        kind = Kind(id(session), modes, _tensors(tensors, session), static)
        found, stale = self._variants.get(kind), None
        if found is not None and found.seen.stands():
            self._variants.move_to_end(kind)
            return found, tensors, True
        now = Watched(self._function)
        if found is not None:
            stale = found.seen.changed(now)
            if stale is None:
                found.seen = now
                self._variants.move_to_end(kind)
                return found, tensors, True
        self.retraces.append(self._reason(kind, stale))
        structure = taken_apart((args, kwargs), lambda _: None)
        made = self._variants[kind] = self._written(structure, tensors, session, now)
        if len(self._variants) > KEPT:
            self._variants.popitem(last=False)
        return made, tensors, False

    def _written(
        self, structure: Any, tensors: Sequence[Tensor], session: Any, seen: Watched
    ) -> Variant:
        began = time.perf_counter()
        inside: list[Trace | None] = []

        def once(*given: Any) -> Any:
            inside.append(innermost())
            args, kwargs = restored(structure, iter(given))
            return each_once(self._function(*args, **kwargs))

        once.__name__ = self.__name__

        def enter(found: Trace, tensor: Tensor) -> Tensor:
            return found.enter(tensor, tensor.shape)

        try:
            traced = trace(once, tensors, session, enter)
        except Exception as problem:
            code = problem.code if isinstance(problem, GradwireError) else ""
            if code == "untraceable" and self._fullgraph:
                raise
            if code in _PYTHONS:
                return Variant(None, seen, str(problem), time.perf_counter() - began)
            if any(found is not None and found.wrote for found in inside):
                raise _Undone from problem
            raise
        why = "it writes to tensors that share elements" if traced.writes_to_shared else ""
        spent = time.perf_counter() - began
        return Variant(None if why else traced, seen, why, spent)

    def _reason(self, kind: Kind, stale: str | None) -> str:
        """Why the function is written down now."""
        if stale is not None:
            return f"{stale} is not what it was"
        if not self._variants:
            return "first call"
        last = next(reversed(self._variants))
        if kind.session != last.session:
            return "another session"
        if kind.modes != last.modes:
            return "another grad mode or default dtype"
        if kind.tensors != last.tensors:
            pairs = zip(last.tensors, kind.tensors, strict=False)
            for place, (old, new) in enumerate(pairs):
                if old != new:
                    return f"tensor {place} was {_said(old)}, and is {_said(new)}"
            return f"{len(last.tensors)} tensors before, {len(kind.tensors)} now"
        return "another static argument"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _tensors(tensors: Sequence[Tensor], session: Any) -> tuple[Any, ...]:
    """Each tensor as far as a program depends on it, or the number of the one that it is.

    Those of another session are refused.
    """
    met: dict[int, int] = {}
    found: list[Any] = []
    for place, tensor in enumerate(tensors):
        first = met.setdefault(id(tensor), place)
        if tensor.session is not session:
            refuse_others(session, tensors)
        meta = tensor._meta
        found.append((meta.spec, meta.requires_grad) if first == place else first)
    return tuple(found)


def _said(tensor: Any) -> str:
    """The same in words."""
    if type(tensor) is int:
        return f"the same as tensor {tensor}"
    spec, requires_grad = tensor
    said = f"{spec.dtype.name}{list(spec.shape)}"
    return said + (" that requires grad" if requires_grad else "")


_TENSOR = object()
"""Stands for a tensor in a structure."""


def _fixed(value: Any, tensors: list[Tensor]) -> Any:
    """A structure as a key, around its tensors; what can't be hashed counts by who it is.

    tensors: to which those are added.
    """
    if isinstance(value, Tensor):
        tensors.append(value)
        return _TENSOR
    if isinstance(value, dict):
        return (dict, tuple([(key, _fixed(item, tensors)) for key, item in value.items()]))
    if isinstance(value, list | tuple):
        return (type(value), tuple([_fixed(item, tensors) for item in value]))
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), repr(value) if type(value) in (float, complex) else value)


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "gradwire",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A function, or a module, that is written down as a program and runs by that.

    It is called once for each kind of arguments: shapes, dtypes, requires_grad, whatever is no
    tensor; and again when what it looks up outside has changed. A function that looks at values, or
    writes to one of several tensors that share elements, runs as Python; with `fullgraph` the
    former is an error. Also a decorator. `explain(*args)` of the result says what a call runs, and
    why there were traces.
    dynamic, backend, mode, options: torch's, without effect: the host has one way to run a program.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode not in _MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(filter(None, _MODES))}"
        )
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, disable=disable)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model if disable else Compiled(model, fullgraph)


__all__ = ["Compiled", "compile"]
