"""Control flow on the server: cond and while_loop with torch's names, and scan.

The user's functions are called once each, and travel as programs. Tensors from outside that they
use are arguments like any, the same in every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire import called
from gradwire.asking import flat, session_of
from gradwire.called import Wanted
from gradwire.carries import (
    arranged,
    described,
    need_carries,
    need_condition,
    need_same,
    need_sequence,
    need_tensors,
    wrong,
)
from gradwire.pytrees import each_once
from gradwire.tensor import Tensor
from gradwire.trace import Trace, Traced, innermost, trace

Function = Callable[..., Any]


def cond(pred: Any, true_fn: Function, false_fn: Function, operands: Any = ()) -> Any:
    """What `true_fn(*operands)` gives if `pred` is true, else what `false_fn` gives.

    Both have to give the same: structure, shapes, dtypes. As torch.cond.
    """
    operands = need_sequence("cond", "operands", operands)
    if not isinstance(pred, Tensor):
        return (true_fn if pred else false_fn)(*operands)
    session: Any = innermost() or session_of([pred, *operands], {})
    first = _traced(true_fn, operands, session)
    gives = first.restored(first.outputs)

    def other(*given: Any) -> Any:
        return arranged(false_fn(*given), gives)

    both = [first, _traced(_named(other, false_fn), operands, session)]
    need_same("cond", "true_fn", gives, "false_fn", both[1].restored(both[1].outputs))
    need_tensors("cond", "true_fn", gives, first.outputs)
    count = len(flat(operands))
    programs, captured = _together(both, count)
    inputs = [t for _, t in both[0].trace.inputs[:count]]
    parts = [Wanted(o.shape, o.dtype, "CondBackward") for o in both[0].outputs]
    found = called.record(
        {"cond": session.lifted(pred)._name, "true_fn": programs[0], "false_fn": programs[1]},
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
    carries = flat(init)
    rows = [session.lifted(x.movedim(dim, 0) if dim else x) for x in flat(xs)]
    count = _steps(xs, rows, length)
    left = iter([*[tuple(c.shape) for c in carries], *[tuple(r.shape[1:]) for r in rows]])

    def enter(inside: Trace, tensor: Tensor) -> Tensor:
        return inside.enter(session.lifted(tensor), next(left))

    def function(carry: Any, x: Any) -> Any:
        found = combine_fn(carry, x)
        if not isinstance(found, tuple) or len(found) != 2:
            raise wrong(f"scan: combine_fn gives {type(found).__name__}", "give (carry, y)")
        return each_once((arranged(found[0], init), found[1]))

    traced = trace(_named(function, combine_fn), (init, xs), session, enter)
    gives = traced.restored(traced.outputs)
    need_carries("scan", "combine_fn", init, gives[0])
    need_tensors("scan", "combine_fn", gives, traced.outputs)
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
    if session.runs_here:
        for made in found:
            if made._meta.grad_fn is not None:
                made._meta.grad_fn.annotate().label = named
    carry, ys = traced.restored(found)
    return carry, ys


def while_loop(
    cond_fn: Function, body_fn: Function, carried_inputs: Any, *, bound: int | None = None
) -> Any:
    """Call `body_fn(*carried)` on its own results as long as `cond_fn(*carried)` is true.

    As torch.while_loop. bound: it has to end within so many steps; backward needs one.
    """
    carried = need_sequence("while_loop", "carried_inputs", carried_inputs)
    session: Any = innermost() or session_of(carried, {})

    def body(*given: Any) -> Any:
        found = body_fn(*given)
        return arranged(found if isinstance(found, tuple) else (found,), carried)

    both = [_traced(cond_fn, carried, session), _traced(_named(body, body_fn), carried, session)]
    gives = both[1].restored(both[1].outputs)
    need_carries("while_loop", "body_fn", carried, gives)
    need_tensors("while_loop", "body_fn", gives, both[1].outputs)
    need_condition(both[0].restored(both[0].outputs), both[0].outputs)
    carries = flat(carried)
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


def _named(function: Function, like: Function) -> Function:
    function.__name__ = getattr(like, "__name__", type(like).__name__)
    return function


def _traced(function: Function, args: Sequence[Any], session: Any) -> Traced:
    """A function written down, with an input for each tensor of its arguments, in order."""

    def enter(inside: Trace, tensor: Tensor) -> Tensor:
        return inside.enter(session.lifted(tensor), tensor.shape)

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


def _steps(xs: Any, rows: Sequence[Tensor], length: int | None) -> int:
    if not rows and length is None:
        raise wrong(
            f"scan: xs is {described(xs)}, so there are no rows, and length is None",
            "give tensors, of which each step gets a row; or, without any, length",
        )
    if any(not row.ndim for row in rows):
        raise wrong(
            f"scan: xs is {described(xs)}, and each step gets a row of each",
            "give tensors that have an axis; what is the same in every step needs no place in xs",
            "shape_mismatch",
        )
    counts = {int(row.shape[0]) for row in rows} | ({length} if length is not None else set())
    if len(counts) != 1:
        raise wrong(
            f"scan: xs have {', '.join(str(r.shape[0]) for r in rows) or 'no'} rows, length is "
            f"{length}",
            "all have as many rows as there are steps",
            "shape_mismatch",
        )
    return counts.pop()


__all__ = ["cond", "loop", "scan", "while_loop"]
