"""Control flow on the server: cond and while_loop with torch's names, and scan.

The user's functions are called once each, and travel as programs. Tensors from outside that they
use are arguments like any, the same in every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire import called
from gradwire.asking import session_of
from gradwire.called import Wanted
from gradwire.pytrees import each_once
from gradwire.tensor import Tensor
from gradwire.trace import Trace, Traced, innermost, taken_apart, trace
from gradwire_engine.errors import GradwireError, error

Function = Callable[..., Any]


def cond(pred: Any, true_fn: Function, false_fn: Function, operands: Any = ()) -> Any:
    """What `true_fn(*operands)` gives if `pred` is true, else what `false_fn` gives.

    Both have to give the same: structure, shapes, dtypes. As torch.cond.
    """
    if not isinstance(pred, Tensor):
        return (true_fn if pred else false_fn)(*operands)
    session: Any = innermost() or session_of([pred, *operands], {})
    both = [_traced(f, operands, session) for f in (true_fn, false_fn)]
    _need_alike("cond", "true_fn", both[0], "false_fn", both[1])
    count = len(_tensors(operands))
    programs, captured = _together(both, count)
    inputs = [t for _, t in both[0].trace.inputs[:count]]
    parts = [Wanted(o.shape, o.dtype, "CondBackward") for o in both[0].outputs]
    found = called.record(
        {"cond": _inside(session, pred)._name, "true_fn": programs[0], "false_fn": programs[1]},
        both[0],
        parts,
        args=[t._name for t in (*inputs, *captured)],
    )
    return both[0].restored(found)


def scan(
    combine_fn: Function,
    init: Any,
    xs: Any = None,
    *,
    dim: int = 0,
    reverse: bool = False,
    length: int | None = None,
    checkpoint: bool = False,
) -> tuple[Any, Any]:
    """Call `carry, y = combine_fn(carry, x)` for each x along an axis of `xs`; all as one node.

    The last carry, and all y along a first axis. length: how many steps, where there are no xs.
    checkpoint: keep a square root of the carries for backward, and run what is between again.
    """
    return loop(combine_fn, init, xs, "ScanBackward", dim, reverse, length, checkpoint)


def loop(
    combine_fn: Function,
    init: Any,
    xs: Any,
    named: str,
    dim: int = 0,
    reverse: bool = False,
    length: int | None = None,
    checkpoint: bool = False,
) -> tuple[Any, Any]:
    """A scan; named: what the node of its results is called here."""
    session: Any = innermost() or session_of([init, xs], {})
    carries = _tensors(init)
    rows = [_inside(session, x.movedim(dim, 0) if dim else x) for x in _tensors(xs)]
    count = _steps(rows, length)
    left = iter([*[tuple(c.shape) for c in carries], *[tuple(r.shape[1:]) for r in rows]])

    def enter(inside: Trace, tensor: Tensor) -> Tensor:
        return inside.enter(_inside(session, tensor), next(left))

    def function(carry: Any, x: Any) -> Any:
        found = combine_fn(carry, x)
        if not isinstance(found, tuple) or len(found) != 2:
            raise _wrong(f"scan: combine_fn gives {type(found).__name__}", "give (carry, y)")
        return each_once(found)

    traced = trace(_named(function, combine_fn), (init, xs), session, enter)
    _need_carries("scan", "combine_fn", init, traced.structure[0], traced.outputs)
    collected = traced.outputs[len(carries) :]
    parts = [
        *[Wanted(c.shape, c.dtype, named) for c in carries],
        *[Wanted((count, *y.shape), y.dtype, named) for y in collected],
    ]
    args = [t._name for t in traced.args]
    first, last = len(carries), len(carries) + len(rows)
    found = called.record(
        {"scan": traced.id},
        traced,
        parts,
        init=args[:first],
        xs=[row._name for row in rows],
        args=args[last:],
        **({} if rows else {"length": count}),
        **({"reverse": True} if reverse else {}),
        **({"checkpoint": True} if checkpoint else {}),
    )
    carry, ys = traced.restored(found)
    return carry, ys


def while_loop(
    cond_fn: Function, body_fn: Function, carried_inputs: Any, *, bound: int | None = None
) -> Any:
    """Call `body_fn(*carried)` on its own results as long as `cond_fn(*carried)` is true.

    As torch.while_loop. bound: it has to end within so many steps; backward needs one.
    """
    carried = tuple(carried_inputs)
    session: Any = innermost() or session_of(carried, {})

    def body(*given: Any) -> Any:
        found = body_fn(*given)
        return each_once(found if isinstance(found, tuple) else (found,))

    both = [_traced(cond_fn, carried, session), _traced(_named(body, body_fn), carried, session)]
    _need_carries("while_loop", "body_fn", carried, both[1].structure, both[1].outputs)
    carries = _tensors(carried)
    programs, captured = _together(both, len(carries))
    inputs = [t for _, t in both[0].trace.inputs[: len(carries)]]
    parts = [Wanted(c.shape, c.dtype, "WhileLoopBackward") for c in carries]
    found = called.record(
        {"while_loop": programs[0], "body_fn": programs[1]},
        both[1],
        parts,
        init=[t._name for t in inputs],
        args=[t._name for t in captured],
        **({} if bound is None else {"bound": bound}),
    )
    session.flush()
    return both[1].restored(found)


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    taken_apart(value, found.append)
    return found


def _inside(session: Any, tensor: Tensor) -> Tensor:
    """A tensor as the place that records has it, which may be a trace."""
    found: Tensor = session.lifted(tensor) if isinstance(session, Trace) else tensor
    return found


def _named(function: Function, like: Function) -> Function:
    function.__name__ = getattr(like, "__name__", type(like).__name__)
    return function


def _traced(function: Function, args: Sequence[Any], session: Any) -> Traced:
    """A function written down, with an input for each tensor of its arguments, in order."""

    def enter(inside: Trace, tensor: Tensor) -> Tensor:
        return inside.enter(_inside(session, tensor), tensor.shape)

    def once(*given: Any) -> Any:
        return each_once(function(*given))

    return trace(_named(once, function), args, session, enter)


def _together(both: Sequence[Traced], count: int) -> tuple[list[str], list[Tensor]]:
    """Programs of two functions with the same inputs, and what both of them took from outside.

    count: how many inputs are arguments; the others were taken.
    """
    taken = {id(t): t for traced in both for _, t in traced.trace.inputs[count:]}
    programs = []
    for traced in both:
        inputs = traced.trace.inputs
        own = {id(t): name for name, t in inputs[count:]}
        names = [own.get(key, f"unused{place}") for place, key in enumerate(taken)]
        given = [name for name, _ in inputs[:count]]
        programs.append(traced.trace.program(traced.body | {"inputs": [*given, *names]}))
    return programs, list(taken.values())


def _described(outputs: Sequence[Tensor]) -> str:
    shown = [f"{o.dtype.name}{list(o.shape)}" for o in outputs]
    return ", ".join(shown) or "nothing"


def _need_alike(asked: str, one: str, first: Traced, other: str, second: Traced) -> None:
    shown = _described(first.outputs), _described(second.outputs)
    if shown[0] != shown[1] or not _same(first.structure, second.structure):
        raise _wrong(
            f"{asked}: {one} gives {shown[0]}, {other} gives {shown[1]}",
            "both have to give the same: structure, shapes and dtypes",
            "shape_mismatch",
        )


def _need_carries(
    asked: str, called: str, before: Any, after: Any, outputs: Sequence[Tensor]
) -> None:
    """Refuse carries that come out of a step as something else than went in."""
    went: list[Tensor] = []
    structure = taken_apart(before, went.append)
    came = outputs[: len(went)]
    shown = _described(went), _described(came)
    if shown[0] != shown[1] or not _same(structure, after):
        raise _wrong(
            f"{asked}: {called} gets the carries {shown[0]} and gives {shown[1]}",
            "carries keep their structure, shapes and dtypes from step to step",
            "shape_mismatch",
        )


def _same(one: Any, other: Any) -> bool:
    """Whether two structures are of the same make; tuples and lists count as the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other


def _steps(rows: Sequence[Tensor], length: int | None) -> int:
    counts = {int(row.shape[0]) for row in rows} | ({length} if length is not None else set())
    if len(counts) != 1:
        raise _wrong(
            f"scan: xs have {', '.join(str(r.shape[0]) for r in rows) or 'no'} rows, length is "
            f"{length}",
            "all have as many rows as there are steps; without xs, give length",
            "shape_mismatch",
        )
    return counts.pop()


def _wrong(detail: str, hint: str, code: str = "invalid_argument") -> GradwireError:
    return error(code, detail, hint)


__all__ = ["cond", "loop", "scan", "while_loop"]
