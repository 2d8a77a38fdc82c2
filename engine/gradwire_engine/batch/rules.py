"""Batch rules: what an op does where some operands have a batch axis in front.

A rule takes a `Frame` and gives the result, or a tuple of results, with the batch axis in front.
Most families have one rule for all their ops; an op whose family has none, or another one, names
its rule in its declaration: `batch=along("dim")`, `batch=leading`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradwire_engine.signature import parameter_names

if TYPE_CHECKING:
    from gradwire_engine.batch.frame import Frame

BatchRule = Callable[["Frame"], Any]


def leading(b: Frame) -> Any:
    """The op takes further axes in front as they are: it works on the last ones, or on each."""
    return b.again(**{name: b.front(name) for name in names(b)})


def leading_of(*named: str) -> BatchRule:
    """The same for some operands; the others are the same for all examples."""
    return lambda b: b.again(**{name: b.front(name) for name in named})


def names(b: Frame) -> list[str]:
    """The names of the operands that are single tensors."""
    parameters = b.op.signature.parameters
    return [parameters[place].name for place in b.op.places if parameters[place].kind == "tensor"]


def elementwise(b: Frame) -> Any:
    """Operands broadcast: those with fewer axes get more, behind the batch axis.

    A scalar that got a batch axis is no scalar to type promotion any more: it is converted first.
    """
    given = names(b)
    ndim = max(map(b.axes, given))
    values = {name: b.behind(b.operand(name), ndim) for name in given}
    if any(b.batched(name) and not b.axes(name) for name in given):
        values |= _promoted(b, values)
    return b.again(**values)


def _promoted(b: Frame, values: dict[str, Any]) -> dict[str, Any]:
    tensors = {name: value for name, value in values.items() if hasattr(value, "spec")}
    if len({value.dtype for value in tensors.values()}) == 1:
        return {}
    named = dict(zip(b.op.signature.by_name, b.call.arguments, strict=True))
    inferred = b.op.infer(named)
    if inferred.compute is None:
        return {}
    wanted = b.call.outputs[0].with_(dtype=inferred.compute)
    return {n: b.cast(v, wanted) for n, v in tensors.items() if n not in inferred.kept}


def along(
    *dims: str, flat: bool = False, sized: str | None = None, alone: tuple[str, ...] = ()
) -> BatchRule:
    """The op works along axes that these attributes name: each of them is one further back.

    Without names: all attributes that are dims. An example without axes gets one. Where no dim is
    given the op means all axes; flat: it means all elements in a row. sized: the attribute that is
    the result's shape. alone: operands without a batch axis stay so, as an index of one axis does.
    """

    def rule(b: Frame) -> Any:
        parameters = b.op.signature.parameters
        named = dims or [parameters[place].name for place, _ in b.op.signature.dims]
        moved = [n for n in names(b) if n not in alone or b.batched(n)]
        operands = {name: b.raised(b.operand(name)) for name in moved}
        first = parameters[b.op.places[0]].name
        ndim = len(operands[first].shape) - 1
        changed: dict[str, Any] = {}
        for name in named:
            dim = b[name]
            if dim is None and flat:
                operands[first] = b.shaped(operands[first], (-1,))
                changed[name] = 1
            elif dim is None or (dim == () and _means_all(b, name)):
                changed[name] = tuple(range(1, ndim + 1))
            else:
                several = isinstance(dim, tuple)
                changed[name] = tuple(n % ndim + 1 for n in dim) if several else dim % ndim + 1
        if sized is not None:
            changed[sized] = (b.size, *(b[sized] or (1,)))
        return b.again(**operands, **changed)

    return rule


def _means_all(b: Frame, name: str) -> bool:
    """Whether an empty list of dims stands for all, as in reductions, and not for none."""
    signature = b.op.signature
    return signature.parameters[signature.by_name[name]].kind == "dims"


def by_vector(rule: BatchRule, otherwise: BatchRule, *operands: str) -> BatchRule:
    """A rule for operands that are the same for all examples, another one where one is not."""
    return lambda b: otherwise(b) if any(map(b.batched, operands)) else rule(b)


def stacked(**cores: int) -> BatchRule:
    """The op takes stacks that broadcast: of operands whose last so many axes belong together."""

    def rule(b: Frame) -> Any:
        deepest = max(b.axes(name) - core for name, core in cores.items())
        found = {n: b.behind(b.operand(n), deepest + core) for n, core in cores.items()}
        return b.again(**found)

    return rule


def in_rows(formula: Callable[..., Any]) -> BatchRule:
    """The op takes all elements of its first operand: the formula gets them as rows of a matrix.

    It goes on to take, by name, whichever of the attributes it wants.
    """
    _, *wanted = parameter_names(formula)

    def rule(b: Frame) -> Any:
        first = b.op.signature.parameters[b.op.places[0]].name
        rows = b.shaped(b.front(first), (-1,))
        return formula(rows, *[b[name] for name in wanted])

    return rule


def folding(b: Frame) -> Any:
    """A reduction: along its dims; one that knows no dims names its rule."""
    flat = any(p.name == "dim" and p.kind == "dim" for p in b.op.signature.parameters)
    return along("dim", flat=flat)(b)


def parts(formula: Callable[..., Any]) -> BatchRule:
    """The op written in other ops, which see the operands as one example's.

    The formula takes, by name, whichever of the operands and attributes it wants.
    """
    wanted = parameter_names(formula)

    def rule(b: Frame) -> Any:
        attributes = b.call.attributes
        found = formula(*[attributes[n] if n in attributes else b.operand(n) for n in wanted])
        return b.fronted(found) if b.call.single else [b.fronted(part) for part in found]

    return rule
