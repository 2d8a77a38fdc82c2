"""Parts of rules with a kernel of their own, which saves passes over memory in the plain walk.

On raw arrays such a part is its kernel; on values it is the formula that the kernel computes,
written in ops, which therefore has every further derivative. In a plan, where that is not asked
for, it is the kernel again if the plan can't make anything as good of the formula.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.families import internal
from gradwire_engine.mode import local
from gradwire_engine.op import APPLY
from gradwire_engine.signature import parameter_names
from gradwire_engine.symbol import SYMBOLIC

if TYPE_CHECKING:
    from gradwire_engine.batch.frame import Frame

Part = Callable[..., Any]


def one_pass(formula: Part, spec: Part | None = None) -> Callable[[Part], Part]:
    """Give a formula a kernel: `xp` first, then the same parameters, with the same result.

    spec: from whichever of the operands (as Specs) and attributes it names to the result's Spec, or
    a tuple of them and None, of a kernel that plans keep as it is.
    """

    def declare(kernel: Part) -> Part:
        traced = None if spec is None else _traced(kernel, spec)

        def run(*args: Any) -> Any:
            for arg in args:  # a rule is read on arrays or on values: the first one tells which
                kind = type(arg)
                if kind in NAMESPACE_OF:
                    return kernel(NAMESPACE_OF[kind], *args)
                if kind in APPLY:
                    break
            plain = traced is None or local.state.grad or not _symbolic(args)
            return (formula if plain else traced)(*args)  # type: ignore[misc]

        return run

    return declare


def _symbolic(args: tuple[Any, ...]) -> bool:
    """Whether all values are tensors of a trace, and none what a transform wraps around one."""
    values = [arg for arg in args if type(arg) in APPLY]
    return all(value.level == 0 and value.spec.device == SYMBOLIC for value in values)


def _traced(kernel: Part, spec: Part) -> Part:
    """The kernel as an op without derivatives, which a trace writes down as it does all others."""
    wanted, names = parameter_names(spec), parameter_names(kernel)[1:]

    @wraps(spec)
    def given(*specs: Any) -> Any:
        found = spec(*specs)
        return tuple(s for s in found if s is not None) if type(found) is tuple else found

    @wraps(kernel)
    def dense(*args: Any, **attributes: Any) -> Any:
        found = kernel(*args, **attributes)
        return tuple(x for x in found if x is not None) if type(found) is tuple else found

    op = internal(spec=given, batch=_never)(dense)

    def run(*args: Any) -> Any:
        found = op(*args)
        named = dict(zip(names, args, strict=True))
        kept = spec(*[getattr(named[n], "spec", named[n]) for n in wanted])
        if type(kept) is not tuple:
            return found
        parts = iter(found)
        return tuple(None if s is None else next(parts) for s in kept)

    return run


def _never(frame: Frame) -> Any:
    """A transform's value runs the formula, whose ops have rules."""
    raise AssertionError(f"{frame.op.name} is a kernel of traces, which take no batched values")
