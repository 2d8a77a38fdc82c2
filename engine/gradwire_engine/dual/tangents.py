"""Tangents through a call: forward rules, derived from what is declared for reverse mode.

A linear op is applied to the tangent. The derivative of an elementwise op is diagonal, so its rule
serves as it is; for holomorphic functions of complex numbers between two conjugations. All other
rules are linear in the cotangent, so each is transposed: it is run on a variable, and the gradient
of what it gives, by that variable, with the tangent as cotangent, is the tangent of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gradwire_engine.backward import grad_of_moving
from gradwire_engine.call import Call, Recipe
from gradwire_engine.levels import abandon, fresh
from gradwire_engine.mode import enable_grad, local
from gradwire_engine.ops.arithmetic import conj
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.expand import expand
from gradwire_engine.reading import fit, ones, zeros
from gradwire_engine.rule import linear_part
from gradwire_engine.spec import Spec

Tangents = Sequence[Any]
"""A tangent for each flat operand, or for each result; None for zero."""


def pushed(
    call: Call,
    args: tuple[Any, ...],
    flat: list[Any],
    tangents: Tangents,
    outs: tuple[Any, ...],
    level: int,
) -> Tangents:
    """The tangents of a call's results, from those of its operands.

    args: what the op was applied to, in the order of its parameters; flat: its operands singly;
    all values are below the level.
    """
    op = call.op
    needs = tuple(t is not None and ruled for t, ruled in zip(tangents, call.ruled, strict=True))
    if True not in needs or not any(_moves(out) for out in outs):
        return [None] * len(outs)
    # what some views show depends on how the tangent lies
    if op.linear is True or (
        op.view and (not op.by_strides or flat[0].strides == tangents[0].strides)
    ):
        return _linear(call, args, flat, tangents)
    recipe = call.recipe(needs)
    values = [flat[place] if place >= 0 else outs[~place] for place in recipe.saved]
    if op.linear:
        return _multilinear(call, args, flat, tangents, outs, level)
    if _diagonal(call, outs[0].spec):
        return [_elementwise(recipe, values, tangents, outs[0].spec)]
    return _transposed(recipe, values, tangents, outs, level)


def _moves(value: Any) -> bool:
    return bool(value.spec.dtype.differentiable)


def _linear(call: Call, args: tuple[Any, ...], flat: list[Any], tangents: Tangents) -> Tangents:
    """The op itself on the tangents, zeros where there is none."""
    given = list(args)
    for place, span in zip(call.op.places, call.spans, strict=True):
        if not call.ruled[span.start]:
            continue
        items = [_or_zero(flat[i], tangents[i]) for i in range(span.start, span.stop)]
        given[place] = tuple(items) if span.many else items[0]
    moved = call.op.dispatch(tuple(given), {})
    return [moved] if call.single else list(moved)


def _or_zero(value: Any, tangent: Any) -> Any:
    if tangent is not None or value is None:
        return tangent
    return zeros(value.spec) if hasattr(value, "spec") else 0


def _multilinear(
    call: Call,
    args: tuple[Any, ...],
    flat: list[Any],
    tangents: Tangents,
    outs: tuple[Any, ...],
    level: int,
) -> Tangents:
    """The op on the tangent of one operand at a time; what else has a rule, an offset, left out."""
    factors, total = call.op.linear, None
    assert isinstance(factors, tuple)
    given = list(args)
    rest: list[Any] = [None] * len(flat)
    for place, span in zip(call.op.places, call.spans, strict=True):
        if span.name not in factors and call.ruled[span.start]:
            given[place] = None
            rest[span.start] = tangents[span.start]
    for place, span in zip(call.op.places, call.spans, strict=True):
        tangent = tangents[span.start]
        if span.name in factors and tangent is not None:
            moved = call.op.dispatch((*given[:place], tangent, *given[place + 1 :]), {})
            total = moved if total is None else total + moved
    if any(t is not None for t in rest):
        recipe = call.recipe(tuple(t is not None for t in rest))
        values = [flat[place] if place >= 0 else outs[~place] for place in recipe.saved]
        (moved,) = _transposed(recipe, values, rest, outs, level)
        total = moved if total is None else total + moved
    return [total]


def _diagonal(call: Call, out: Spec) -> bool:
    """Whether the rule, between conjugations, is the forward rule too."""
    if call.op.symmetric:
        return True
    specs = [spec for spec in call.inputs if isinstance(spec, Spec)]
    if not (call.op.fuses and call.single):
        return False
    turned = any(spec.dtype.is_complex for spec in specs)
    return out.dtype.is_complex == turned and (call.op.holomorphic or not turned)


def _elementwise(recipe: Recipe, values: list[Any], tangents: Tangents, out: Spec) -> Any:
    """Σ rule(tangent): broadcast and cast first, as the edge would undo it."""
    turn: Callable[[Any], Any] = (lambda value: value) if recipe.call.op.symmetric else conj
    total: Any = None
    for step in recipe.steps:
        tangent = tangents[step.target]
        if tangent is None:  # a rule for all operands, of which this one does not move
            continue
        if tangent.dtype is not out.dtype:
            tangent = to_dtype(tangent, out.dtype)
        if tangent.shape != out.shape:
            tangent = expand(tangent, out.shape)
        arguments = [values[place] for place in step.arguments]
        if len(arguments) > 2:  # clamp's rule refuses, backwards, some that broadcast
            arguments = [
                expand(v, out.shape) if getattr(v, "shape", out.shape) != out.shape else v
                for v in arguments
            ]
        part = turn(step.function(turn(tangent), *arguments))
        total = part if total is None else total + part
    return None if total is None else fit(total, out)


def _transposed(
    recipe: Recipe, values: list[Any], tangents: Tangents, outs: tuple[Any, ...], level: int
) -> Tangents:
    """Each rule as a linear map of the cotangents, transposed."""
    call = recipe.call

    def rules(variables: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for step in recipe.steps:
            chosen = range(len(outs)) if call.op.many else step.cotangents
            cotangents: list[Any] = [variables[i] for i in chosen]
            arguments = [values[place] for place in step.arguments]
            given = [tuple(cotangents)] if call.op.many else cotangents
            result = linear_part(step.function)(*given, *arguments)
            parts = result if step.several else (result,)
            for place, part in zip(step.targets, parts, strict=True):
                if part is not None and tangents[place] is not None:
                    yield fit(part, flat_spec(call, place)), tangents[place]

    return transposed(rules, outs, list(map(_moves, outs)), (*values, *tangents), level)


def transposed(
    linear: Callable[[Sequence[Any]], Iterable[tuple[Any, Any]]],
    outs: Sequence[Any],
    moves: Sequence[bool],
    known: Sequence[Any],
    level: int,
) -> Tangents:
    """The tangents of results, by a local walk over a map that is linear in their cotangents.

    linear: from the cotangents to gradients of operands, each with that operand's tangent. moves:
    which of the results can have a tangent. known: what the map is made of.
    """
    tracked = any(getattr(v, "requires_grad", False) for v in known)
    recording = local.state.grad and tracked
    with enable_grad():
        variables = [
            fresh(ones(out.spec), below=level)
            if m
            else zeros(out.spec)
            if hasattr(out, "spec")
            else None
            for out, m in zip(outs, moves, strict=True)
        ]
        pairs = list(linear(variables))
    asked = [v for v, m in zip(variables, moves, strict=True) if m]
    roots, weights = [y for y, _ in pairs], [t for _, t in pairs]
    options = {"create_graph": recording, "allow_unused": True}
    found = iter(grad_of_moving(roots, asked, weights, **options) if asked else [])
    for variable in asked:
        abandon(variable)
    return [next(found) if m else None for m in moves]


def flat_spec(call: Call, place: int) -> Spec:
    """The spec of an operand that has a tangent, which no number has."""
    spec = call.inputs[place]
    assert isinstance(spec, Spec)
    return spec
