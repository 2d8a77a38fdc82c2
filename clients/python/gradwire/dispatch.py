"""From a call in Python to the engine, or to a recorded step.

A tensor that is here holds the engine's, on which the op runs at once. Any other mirrors its twin
on the host by a `meta` tensor of the engine: shape, dtype, requires_grad, is_leaf, version and
graph, without elements. The engine's own rules run on those first: so what they decide raises here,
on the user's line, with the host's own text; and reading them costs no round trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from gradwire import current
from gradwire.asked import asked, told, unknown
from gradwire.at_once import NOT_DONE, note_base, recorded
from gradwire.defaults import DEFAULT
from gradwire.in_force import innermost as innermost_in_force
from gradwire.layouts import laid
from gradwire.options import Options, take_options
from gradwire.pending import end_stale_recordings, may_fail
from gradwire.session import Session
from gradwire.size import Size
from gradwire.tensor import Tensor, held_tensor
from gradwire.thread import NO_DRAWS, WouldDraw, quiet_context, quietly, threads, timed
from gradwire.trace import Trace, innermost
from gradwire.trial import harmless, structure, went_well
from gradwire.wire import mirrored, plain, tensors_in, wire, wire_index
from gradwire.within import end_stale_modes
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.inplace import run, write
from gradwire_engine.mode import local
from gradwire_engine.op import Op
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import INTEGER, DType
from gradwire_engine.tensor import Tensor as Value

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def call(op: Op, args: Args, kwargs: Kwargs) -> Any:  # noqa: C901 (one hot frame)
    """Apply a catalogue op: at once where its tensors are here.

    Elsewhere infer, record, and give back tensors without elements yet.
    """
    thread = threads.here
    if (thread.entries or thread.blocks or thread.recordings) and is_written_down():
        return with_care(op, args, kwargs)
    session: Any = None
    given: list[Any] = []
    values = (*args, *kwargs.values()) if kwargs else args
    for arg in values:
        kind = type(arg)
        if kind in _NUMBERS_AND_SUCH:
            given.append(arg)
        elif kind is Tensor or isinstance(arg, Tensor):
            if arg.session is not session:
                if session is not None:
                    return with_care(op, args, kwargs)
                session = arg.session
                if not session.takes_calls:
                    return there(session, op, args, kwargs)
            given.append(arg._meta)
        elif kind is tuple or kind is list or kind is Size:
            items = []
            for item in arg:
                if type(item) in _NUMBERS_AND_SUCH:
                    items.append(item)
                elif isinstance(item, Tensor):
                    if item.session is not session:
                        if session is not None:
                            return with_care(op, args, kwargs)
                        session = item.session
                        if not session.takes_calls:
                            return there(session, op, args, kwargs)
                    items.append(item._meta)
                else:
                    return with_care(op, args, kwargs)
            given.append(items if kind is list else tuple(items))
        else:
            return with_care(op, args, kwargs)
    state = local.state
    if (
        session is None
        or state.anomaly
        or state.default_dtype is not DEFAULT[0]
        or op.name in TRUTHS
        or (op in _drawing and _settings(values) in _drawing[op])
        or (kwargs and not kwargs.keys() <= _parameters(op))
    ):
        return with_care(op, args, kwargs)
    before = state.generator
    context, thread.context = thread.context or quiet_context(), None
    try:
        state.generator = NO_DRAWS
        if kwargs:
            count = len(args)
            named = dict(zip(kwargs, given[count:], strict=True))
            result = context.run(op.way, *given[:count], **named)
        else:
            result = context.run(op.way, *given)
    except WouldDraw:  # perhaps at its end: it isn't begun in vain again
        _drawing.setdefault(op, set()).add(_settings(values))
        return with_care(op, args, kwargs)
    except (GradwireError, AttributeError):
        return with_care(op, args, kwargs)
    finally:
        state.generator, thread.context = before, context
    if type(result) is not Value or result.view is not None:
        return wrapped(session, result, values)
    for meta in given:
        if meta is result:
            return wrapped(session, result, values)
    made = _new(Tensor)
    made.session, made._meta, made._grad = session, result, None
    return made


def there(session: Session, op: Op, args: Args, kwargs: Kwargs) -> Any:
    """Record an op for the host of its tensors, by the short way if there is nothing to look at."""
    if op.name not in TRUTHS and (not kwargs or kwargs.keys() <= _parameters(op)):
        found = recorded(session, op, args, kwargs, adopt, op.way)
        if found is not NOT_DONE:
            return found
    return with_care(op, args, kwargs)


def with_care(op: Op, args: Args, kwargs: Kwargs) -> Any:
    """Apply an op with all that may have to be looked at, here or where it is recorded."""
    args, kwargs, options = _prepared(op, args, kwargs)
    lying = options.lying
    if lying is not None and op.name == "contiguous":
        return laid(args[0], lying)
    session = session_of(args, kwargs) or current.session()
    options.check(session.device)
    run_op = _done_here if session.runs_here else _recorded
    found = run_op(session, op, args, kwargs, options)
    if op.name in TRUTHS:
        return bool(found)
    found = laid(found, lying) if lying is not None else found
    return found.requires_grad_() if options.requires_grad else found


def _recorded(session: Session, op: Op, args: Args, kwargs: Kwargs, options: Options) -> Any:
    """What an op gives as the host will have it: inferred at once, and recorded."""
    with session.recording() as mark:
        try:
            result = op(*map(mirrored, args), **{k: mirrored(v) for k, v in kwargs.items()})
        except GradwireError as problem:
            if problem.code == "data_dependent_shape":
                return _ask(session, op, args, kwargs, mark)
            numbers = _with_numbers(op, args, kwargs) if isinstance(problem, TypeError) else None
            if numbers is None:
                if _has_places(op, args, kwargs):
                    _ask_why(session, step_of(op.name, args, kwargs), mark)
                raise
            return call(op, numbers[0], numbers[1] | options.drawing)
        step = options.on(step_of(op.name, args, kwargs))
        found = adopt(session, step, result, args, mark)
        if may_fail() and not harmless(op, args, kwargs):
            session.flush()
            if session.is_up_to_date:
                went_well(op, args, kwargs)
    return found


TRUTHS = frozenset({"allclose", "equal"})
"""Ops that torch gives Python's True or False for."""
_NUMBERS_AND_SUCH = frozenset(
    {int, float, bool, str, complex, slice, type(None), type(Ellipsis), DType}
)
"""Types of arguments that an op takes as they are."""


_new = object.__new__
_drawing: dict[Op, set[Args]] = {}
"""Ops that were seen to draw random numbers, and with which numbers and flags."""


def _settings(values: Args) -> Args:
    """The numbers and flags among arguments, which say whether an op draws."""
    return tuple([value for value in values if type(value) is float or type(value) is bool])


def is_written_down() -> bool:
    """Whether what runs now is written down; blocks that an interrupt left open end before."""
    thread = threads.here
    if thread.blocks:
        end_stale_modes()
    if thread.recordings:
        end_stale_recordings()
    return bool(thread.entries) and isinstance(innermost_in_force(), Trace)


@cache
def _parameters(op: Op) -> frozenset[str]:
    """The keywords of an op that are its own, and mean nothing else here."""
    names = {name for signature in op.signatures for name in signature.by_name}
    return frozenset(names - {"device", "generator", "layout", "memory_format", "out"})


def wrapped(session: Session, result: Any, args: Args) -> Any:
    """What an op gave, as tensors of a session that is here."""
    if type(result) in VALUE_TYPES:
        for operand in args:
            if getattr(operand, "_meta", None) is result:
                return operand  # the op gave its operand back, as contiguous() may
        made = held_tensor(session, result)
        if getattr(result, "view", None) is not None:
            note_base(made, args)
        return made
    if not isinstance(result, list | tuple):
        return result
    return like(result, [None if part is None else wrapped(session, part, args) for part in result])


def _done_here(session: Session, op: Op, args: Args, kwargs: Kwargs, options: Options) -> Any:
    """What an op gives in a session that is here."""
    with session.recording(), options.lent(session):
        try:
            given, named = [*map(mirrored, args)], {k: mirrored(v) for k, v in kwargs.items()}
            result = timed("op", op.name, quietly, op, *given, **named)
        except GradwireError as problem:
            numbers = _with_numbers(op, args, kwargs) if isinstance(problem, TypeError) else None
            if numbers is None:
                raise
            return call(op, numbers[0], numbers[1] | options.drawing)
        found = wrapped(session, result, tuple(tensors_in((*args, *kwargs.values()))))
        if local.state.anomaly:
            session.note_line([*tensors_in([found])])
        session.through()
    return found


def call_inplace(name: str, op: Op, args: Args, kwargs: Kwargs) -> Tensor:
    """Apply the in-place form of an op: in grad mode sent at once, for it may be refused."""
    args, kwargs, options = _prepared(op, args, kwargs)
    target = args[0] if args else None
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): the first argument must be the tensor that is written")
    session_of(args, kwargs)
    session = target.session
    if session.runs_here:
        return _written_here(session, name, op, args, kwargs, options)
    with session.recording() as mark:
        overload, values = op.bind(
            [mirrored(a) for a in args], {k: mirrored(v) for k, v in kwargs.items()}
        )
        try:
            run(name, overload, values)
        except GradwireError as problem:
            if problem.code != "data_dependent_shape":
                if _has_places(overload, args, kwargs):
                    _ask_why(session, step_of(name, args, kwargs), mark)
                raise
            write(name, values[0], asked(values, target.shape, target.dtype, _WRITTEN))
        session.record(options.on(step_of(name, args, kwargs)), mark=mark)
        if local.state.grad or may_fail():
            session.flush()
    return target


def _written_here(
    session: Session, name: str, op: Op, args: Args, kwargs: Kwargs, options: Options
) -> Tensor:
    """The in-place form of an op on tensors that are here."""
    with session.recording(), options.lent(session):
        overload, values = op.bind(
            [mirrored(a) for a in args], {k: mirrored(v) for k, v in kwargs.items()}
        )
        timed("op", name, quietly, run, name, overload, values)
        if local.state.anomaly:
            session.note_line(args[:1])
        session.through()
    target: Tensor = args[0]
    return target


def _has_places(op: Op, args: Args, kwargs: Kwargs) -> bool:
    """Whether tensors of ints say places, which may be out of range: only the host can know."""
    if innermost() is not None or not (op.name in _INDEXED or getattr(op, "fallible", False)):
        return False
    others = tensors_in((*args[1:], *kwargs.values()))
    return any(t.dtype.category == INTEGER for t in others)


def _ask_why(session: Session, step: dict[str, Any], mark: int) -> None:
    """Let the host raise what it finds wrong first, which need not be what was found here."""
    session.journal.rollback(mark)
    session.record(step, mark=mark)
    session.flush()


_WRITTEN = "IndexPutBackward0"
"""What torch calls the node of a write to places that only elements decide."""


def session_of(args: Any, kwargs: Kwargs) -> Session | None:
    """The session that these arguments' tensors live in; an error where they live in two."""
    found: Session | None = None
    for tensor in tensors_in((*args, *kwargs.values())):
        if tensor.session.left:
            tensor.session.check_tensor(tensor._name)
        if found is not None and tensor.session is not found:
            raise error(
                "invalid_argument",
                f"the tensors live in two sessions, {found.id} and {tensor.session.id}",
                "bring one over: torch.tensor(x.numpy()) makes it anew in the session in force",
            )
        found = tensor.session
    return found


def step_of(name: str, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """A call as a step of the contract, without `out`."""
    if name in _INDEXED:
        return {"op": name, "args": [wire(args[0]), wire_index(args[1]), *map(wire, args[2:])]}
    step: dict[str, Any] = {"op": name, "args": [wire(a) for a in args]}
    if kwargs:
        step["kwargs"] = {k: wire(v) for k, v in kwargs.items()}
    return step


_INDEXED = ("__getitem__", "__setitem__")


def _prepared(op: Op, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs, Options]:
    """Arguments as ops take them: no NumPy scalars, no keywords that mean nothing here."""
    options = take_options(op, kwargs) if kwargs else Options()
    args, kwargs = tuple(map(plain, args)), {k: plain(v) for k, v in kwargs.items()}
    inside = innermost()
    if inside is not None:
        args, kwargs = inside.lifted(args), {k: inside.lifted(v) for k, v in kwargs.items()}
    return args, kwargs, options


def adopt(session: Session, step: dict[str, Any], result: Any, args: Args, mark: int) -> Any:
    """Record the step with names for its results, and wrap their mirrors."""
    if type(result) in VALUE_TYPES:  # in a batched walk that records it isn't a Meta
        for operand in tensors_in(args):
            if operand._meta is result:
                return operand  # the op gave its operand back, as contiguous() may
        made = Tensor(session, result)
        note_base(made, args)
        session.record({**step, "out": made._name}, [made], mark=mark)
        return made
    if not isinstance(result, list | tuple):
        return result
    parts = [None if part is None else Tensor(session, part) for part in result]
    for part in parts:
        if part is not None:
            note_base(part, args)
    names = [None if part is None else part._name for part in parts]
    session.record({**step, "out": names}, parts, mark=mark)
    return like(result, parts)


def _with_numbers(op: Op, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs] | None:
    """The arguments with scalars looked at where the op takes numbers only; None if there are none.

    torch takes them there too: torch.full((2,), x), torch.add(x, y, alpha=x).
    """
    for signature in op.signatures:
        kinds = {p.name: p.kind for p in signature.parameters}
        pairs = [*zip(kinds, args, strict=False), *kwargs.items()]
        loose = [n for n, v in pairs if kinds.get(n) in _NUMBERS and isinstance(v, Tensor)]
        if loose and not any(v.ndim for n, v in pairs if n in loose):
            found = {n: v.item() if n in loose else v for n, v in pairs}
            return tuple(found.pop(n) for n, _ in pairs[: len(args)]), found
    return None


_NUMBERS = ("number", "float", "int", "ints", "dim", "dims", "bool")


def _with_ints(op: Op, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with ints for those tensors in whose place another overload takes ints."""
    rows = [list(signature.parameters) for signature in op.signatures]
    at = {p.name: place for row in rows for place, p in enumerate(row)}
    ints = {place: p.name for row in rows for place, p in enumerate(row) if p.kind in _NUMBERS}
    given = tuple(_looked_at(v) if place in ints else v for place, v in enumerate(args))
    named = ((ints.get(at[name], name), at[name] in ints, v) for name, v in kwargs.items())
    return given, {name: _looked_at(v) if known else v for name, known, v in named}


def _looked_at(value: Any) -> Any:
    whole = isinstance(value, Tensor) and value.dtype.category == INTEGER
    return value.tolist() if whole else value


def like(result: Any, parts: Sequence[Tensor | None]) -> Any:
    """The parts in what the op gave its results in: a list, a tuple or one with names."""
    return result._make(parts) if hasattr(result, "_make") else type(result)(parts)


def _ask(session: Session, op: Op, args: Args, kwargs: Kwargs, mark: int) -> Any:
    """An op whose result's shape depends on elements: the host says what came out.

    Where even the number of results does, as in tensor_split, the ints that decide are looked at.
    """
    try:
        kind = structure(op, args, kwargs)
    except GradwireError:
        known, named = _with_ints(op, args, kwargs)
        given = zip((*args, *kwargs.values()), (*known, *named.values()), strict=True)
        if all(before is after for before, after in given):
            _ask_why(session, step_of(op.name, args, kwargs), mark)
            raise
        return call(op, known, named)
    several = isinstance(kind, tuple | list)
    parts = [Tensor(session, unknown()) for _ in (kind if several else [kind])]
    names = [part._name for part in parts]
    step = {**step_of(op.name, args, kwargs), "out": names if several else names[0]}
    session.record(step, parts, mark=mark)
    found = session.flush(names, data=False)
    operands = [t._meta for t in tensors_in((*args, *kwargs.values()))]
    for part, name in zip(parts, names, strict=True):
        part._meta = told(operands, found[name])
    return like(kind, parts) if several else parts[0]


__all__ = [
    "adopt",
    "call",
    "call_inplace",
    "is_written_down",
    "like",
    "session_of",
    "step_of",
    "with_care",
    "wrapped",
]
