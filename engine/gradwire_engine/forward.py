"""Forward mode: one walk that carries each value with its tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine import nest
from gradwire_engine.backward import numbered
from gradwire_engine.dual import dual, unpacked
from gradwire_engine.levels import entered
from gradwire_engine.op import APPLY
from gradwire_engine.ops.cast import clone
from gradwire_engine.pullback import Argnums, need_tensors, replaced, without_aux
from gradwire_engine.reading import zeros


class Pushed:
    """What a function gives on dual numbers.

    result: its result, as a nest of values. tangents: of these in order; None where one is zero.
    """

    def __init__(self, result: Any, tangents: list[Any], aux: Any) -> None:
        self.result, self.tangents, self.aux = result, tangents, aux

    @property
    def full_tangents(self) -> list[Any]:
        """The tangents with zeros where there is none."""
        values = nest.leaves(self.result)
        pairs = zip(values, self.tangents, strict=True)
        return [zeros(y.spec) if t is None else t for y, t in pairs]


def push(
    asked: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    argnums: Argnums = None,
    moved: Any = None,
    has_aux: bool = False,
    tensors_only: bool = True,
    names: Sequence[str] | None = None,
) -> Pushed:
    """Run a function on arguments of which some tensors have tangents.

    primals: the tensors among the arguments that argnums say, tangents: one for each, or None.
    moved: these arguments as a nest, where argnums are given. tensors_only: refuse other results.
    names: what error texts call the primals.
    """
    with entered() as level:
        duals = [
            x if t is None else dual(x, clone(t), level, numbered("input", place, names))
            for place, (x, t) in enumerate(zip(primals, tangents, strict=True))
        ]
        again = nest.filled(args if argnums is None else moved, iter(duals))
        result, aux = function(*replaced(args, argnums, again)), None
        if has_aux:
            result, aux = without_aux(asked, result)
        if tensors_only:
            need_tensors(asked, "results", nest.leaves(result))
        pairs = [unpacked(y, level) for y in nest.leaves(result)]
        aux = nest.mapped(lambda v: unpacked(v, level)[0] if type(v) in APPLY else v, aux)
    return Pushed(nest.filled(result, iter([y for y, _ in pairs])), [t for _, t in pairs], aux)
