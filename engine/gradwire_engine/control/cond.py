"""cond: one of two programs, by a bool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.batch.value import Batched
from gradwire_engine.control.known import known
from gradwire_engine.control.outlined import graph_of, outlining
from gradwire_engine.control.rounds import refuse_symbols
from gradwire_engine.dual import Dual
from gradwire_engine.errors import error
from gradwire_engine.ops.choose import where
from gradwire_engine.plan.figures import work
from gradwire_engine.spec import Spec
from gradwire_engine.tape import Program


def cond(
    pred: Any, true_fn: Program, false_fn: Program, operands: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """What the first program gives if `pred` is true, else what the second gives.

    pred: one bool. Both have to give as many results, of the same shapes and dtypes. Under vmap
    with another bool for each example both run, and each example has its own.
    """
    while type(pred) is Dual:
        pred = pred.primal
    need_bool("cond: pred", pred.spec)
    refuse_symbols("cond", [pred])
    if outlining([pred]):
        return _larger(true_fn, false_fn, operands)
    both = [known(program, operands).outputs for program in (true_fn, false_fn)]
    if both[0] is not None and both[1] is not None:
        _check_alike(both[0], both[1])
    if type(pred) is Batched:
        true, false = true_fn(*operands), false_fn(*operands)
        _check_alike(*[[y.spec for y in branch] for branch in (true, false)])
        return tuple([where(pred, a, b) for a, b in zip(true, false, strict=True)])
    return tuple((true_fn if bool(pred.numpy().reshape(())) else false_fn)(*operands))


def _larger(true_fn: Program, false_fn: Program, operands: Sequence[Any]) -> tuple[Any, ...]:
    """In a trace that is only looked at, which knows no values: what the program gives that does
    more, or where only the other's has a gradient, that.
    """
    specs = [value.spec._replace(device="cpu") for value in operands]
    (true, gives), (false, others) = (graph_of(one, specs) for one in (true_fn, false_fn))
    _check_alike(gives, others)
    programs = (true_fn, false_fn) if work(true) >= work(false) else (false_fn, true_fn)
    larger, smaller = (program(*operands) for program in programs)
    pairs = zip(larger, smaller, strict=True)
    return tuple([b if b.requires_grad and not a.requires_grad else a for a, b in pairs])


def need_bool(what: str, spec: Spec) -> None:
    """Refuse what is not one bool."""
    if spec.dtype.name != "bool":
        raise error("dtype_mismatch", f"{what} is {spec}", "compare: it must be one bool")
    if any(n != 1 for n in spec.shape):
        raise error("not_scalar", f"{what} is {spec}", "it must be one bool: use all() or any()")


def _check_alike(true: Sequence[Spec], false: Sequence[Spec]) -> None:
    """Refuse branches that give different things."""
    if [(s.shape, s.dtype) for s in true] == [(s.shape, s.dtype) for s in false]:
        return
    shown = [", ".join(map(str, specs)) or "nothing" for specs in (true, false)]
    shapes = [[spec.shape for spec in specs] for specs in (true, false)]
    raise error(
        "dtype_mismatch" if shapes[0] == shapes[1] else "shape_mismatch",
        f"cond: true_fn gives {shown[0]}, false_fn gives {shown[1]}",
        "both have to give as many results, of the same shapes and dtypes",
    )
