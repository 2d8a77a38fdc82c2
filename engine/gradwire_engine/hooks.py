"""Hooks: a user's programs that see gradients during a walk, and may replace them.

A tensor's hooks run once a walk, on the summed gradient; what retains that gradient, or captures it
where the walk ends, gets what they made of it. A node's hooks run around its rules. They are
attachments of nodes and leaves (see tape.py): a walk that meets none pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.anomaly import check_nan
from gradwire_engine.errors import error
from gradwire_engine.mode import local
from gradwire_engine.reading import Pending, Reading, Useful, add_pending, in_form
from gradwire_engine.recipe import Recipe
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import Shape, Spec
from gradwire_engine.tape import (
    ACCUMULATED,
    AFTER,
    BEFORE,
    RETAIN,
    TENSOR,
    AccumulateGrad,
    GradientEdge,
    Handle,
    Node,
    Program,
    place,
    target,
)
from gradwire_engine.tensor import RETAINS, Tensor

Retained = list[tuple[Tensor, Any, Shape]]
"""Tensors that keep their gradient, each with it, and the shape the tensor had at that place."""


def register_hook(tensor: Tensor, program: Program) -> Handle:
    """Run a program on this tensor's gradient; what it gives, if anything, replaces the gradient.

    It stays with what made the tensor: after a later in-place op the old history has it.
    """
    edge = _required(tensor)
    return target(edge).annotate().attach(TENSOR, place(edge), program)


def register_post_accumulate_grad_hook(tensor: Tensor, program: Program) -> Handle:
    """Run a program on this leaf after a backward added to its `.grad`."""
    edge = _required(tensor)
    if type(edge) is not AccumulateGrad:
        raise error(
            "invalid_argument",
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
            "use a tensor hook, or retain_grad",
        )
    return edge.annotate().attach(ACCUMULATED, 0, program)


def _required(
    tensor: Tensor,
    refused: str = "cannot register a hook on a tensor that doesn't require gradient",
) -> Any:
    """Where gradients of this tensor arrive: also of a view made in no_grad, which does as its
    base; then nothing leads to it.
    """
    edge = tensor.edge
    if edge is None and tensor.requires_grad:
        return tensor.leaf_edge()
    if edge is None:
        hint = "set requires_grad on it first, or make it from tensors that do"
        raise error("requires_no_grad", refused, hint)
    return edge


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where gradients of this tensor arrive: what `grad` takes in place of the tensor."""
    edge = _required(
        tensor,
        "it is not possible to get the gradient edge for a tensor that does not require gradients",
    )
    return GradientEdge(target(edge), place(edge))


def arrived(node: Node | AccumulateGrad, g: Any, reading: Reading, retained: Retained) -> Any:
    """What tensor hooks make of a gradient that is complete; notes what retains it.

    What retains it, or might, may have got another form in place in no_grad, of which the node
    knows nothing: the gradient has to come in the first one.

    g: one gradient, or for a node with several outputs a dict of them by output number.
    """
    extra = node.extra
    if extra is None or not extra.attached:
        return g
    for index in dict.fromkeys(a.output for a in extra.attached if a.kind == RETAIN):
        part, wanted = _part(g, index), _spec(node, index).shape
        if getattr(part, "shape", wanted) != wanted:
            g = _put(g, index, in_form(wanted, part))
    if reading.parts is not None:
        for index in dict.fromkeys(a.output for a in extra.attached if a.kind == TENSOR):
            programs = [a.what for a in extra.attached if (a.kind, a.output) == (TENSOR, index)]
            g = _put(g, index, _through(programs, _part(g, index), _spec(node, index), reading))
    for attached in extra.attached:
        tensor = attached.what() if attached.kind == RETAIN else None
        part = _part(g, attached.output)
        if tensor is None or part is None or not tensor.flags & RETAINS:
            continue
        if not any(tensor is known for known, *_ in retained):
            retained.append((tensor, part, _spec(node, attached.output).shape))
    return g


def _spec(node: Node | AccumulateGrad, index: int) -> Spec:
    return GradientEdge(node, index).spec


def _part(g: Any, index: int) -> Any:
    return g.get(index) if type(g) is dict else g


def _put(g: Any, index: int, part: Any) -> Any:
    if type(g) is not dict:
        return part
    return g if part is None else g | {index: part}


def _through(programs: Sequence[Program], g: Any, spec: Spec, reading: Reading) -> Any:
    """A gradient after one hook after the other; a hook may also write to it in place."""
    value = _shown(g, spec, reading)
    for program in programs:
        found = program(value)
        if found:
            value = _replaced(program, value, found[0])
    return _taken(value, reading, g)


def _shown(g: Any, spec: Spec, reading: Reading) -> Any:
    """A gradient as a program sees it: a walk on raw arrays makes a tensor of each."""
    if g is None or type(g) in VALUE_TYPES:
        return g
    return (reading.shown or reading.tensor)(g, spec)


def _taken(value: Any, reading: Reading, like: Any) -> Any:
    """What a program gave, as the walk goes on with it: an array where it was one."""
    return value if value is None or type(like) in VALUE_TYPES else reading.cotangent(value)


def _replaced(program: Program, old: Any, new: Any) -> Any:
    """What a hook gave in place of a gradient, refused as torch does; null leaves it."""
    if new is None:
        return old
    if old is None:
        raise error(
            "invalid_argument",
            f"hook {program.id!r}: can't replace a null gradient with a non-null value",
            "return nothing where no gradient came",
        )
    if type(new) not in VALUE_TYPES:
        raise error(
            "invalid_argument",
            f"hook {program.id!r}: expected a tensor, but the hook returned {type(new).__name__!r}",
            "return a tensor, or nothing",
            raised=TypeError,
        )
    if new.shape != old.shape:
        raise error(
            "shape_mismatch",
            f"hook {program.id!r} has changed the size of value "
            f"(was {list(old.shape)}, got {list(new.shape)})",
            "return a gradient of the shape that came",
        )
    if (new.dtype, new.device) != (old.dtype, old.device):
        raise error(
            "dtype_mismatch",
            f"hook {program.id!r} has changed the type of value (was {old.spec}, got {new.spec})",
            "return a gradient of the dtype that came",
        )
    return new


def _replaced_all(program: Program, given: Sequence[Any], old: Sequence[Any]) -> Sequence[Any]:
    """What a node's hook gave in place of some gradients: one for each, or nothing at all."""
    found = program(*given)
    if not found:
        return old
    if len(found) != len(old):
        raise error(
            "invalid_argument",
            f"hook {program.id!r} has returned an incorrect number of values "
            f"(got {len(found)}, but expected {len(old)})",
            "return one for each, or nothing",
        )
    return [
        None if new is None else _replaced(program, was, new)
        for was, new in zip(old, found, strict=True)
    ]


def refuse_replaced(program: Program, given: Sequence[Any], count: int) -> None:
    """Run a hook where no gradient came, of which it can make none."""
    _replaced_all(program, given, [None] * count)


def careful_step(
    reading: Reading, node: Node, recipe: Recipe, g: Any, pending: Pending, useful: Useful
) -> None:
    """A node's step with its hooks before and after, and in anomaly mode a look for NaN."""
    attached = node.extra.attached if node.extra is not None else ()
    before = [a.what for a in attached if a.kind == BEFORE]
    after = [a.what for a in attached if a.kind == AFTER]
    checks = local.state.anomaly and local.state.check_nan
    if reading.parts is None or not (before or after or checks):
        reading.step(node, recipe, g, pending, useful)
        return
    call = recipe.call
    places = call.tracked
    outputs: Sequence[Any] = [_shown(_part(g, i), call.outputs[i], reading) for i in places]
    if before:
        for program in before:
            outputs = _replaced_all(program, outputs, outputs)
        g = _joined(dict(zip(places, outputs, strict=True)), g, reading)
        if g is None:
            return
    parts = dict(reading.parts(node, recipe, g, useful))
    if after:
        parts = _after(node, after, parts, outputs, reading)
    for index, part in parts.items():
        if checks and part is not None:
            check_nan(node, index, part, call.outputs[0].device)
        edge = node.edges[index]
        if part is not None and edge is not None:
            add_pending(pending, edge, part)


def _joined(values: dict[int, Any], old: Any, reading: Reading) -> Any:
    """Gradients of outputs as the walk hands them to rules; None where there are none."""
    if type(old) is not dict:
        return _taken(values[0], reading, old)
    like = next(iter(old.values()))
    present = {i: _taken(v, reading, like) for i, v in values.items() if v is not None}
    return present or None


def _after(
    node: Node,
    programs: Sequence[Program],
    parts: dict[int, Any],
    outputs: Sequence[Any],
    reading: Reading,
) -> dict[int, Any]:
    call = node.recipe.call
    places = call.counted
    values: Sequence[Any] = [_shown(parts.get(i), call.inputs[i], reading) for i in places]
    for program in programs:
        values = _replaced_all(program, [*values, *outputs], values)
    return {i: _taken(v, reading, parts.get(i)) for i, v in zip(places, values, strict=True)}


def accumulated(
    edge: AccumulateGrad,
    leaf: Tensor,
    g: Any,
    reading: Reading,
    accumulate: Callable[[Tensor, Any, Reading], None],
) -> None:
    """Add a gradient to a leaf, with the hooks before, after it and on the leaf.

    To one that was frozen since, nothing is added; its hooks run.
    """
    attached = edge.extra.attached if edge.extra is not None else ()
    if not attached or reading.parts is None:
        if leaf.requires_grad:
            accumulate(leaf, g, reading)
        return
    given: Sequence[Any] = [_shown(g, leaf.spec, reading)]
    for program in [a.what for a in attached if a.kind == BEFORE]:
        given = _replaced_all(program, given, given)
    if given[0] is None:
        return
    if leaf.requires_grad:
        accumulate(leaf, _taken(given[0], reading, g), reading)
    for program in [a.what for a in attached if a.kind == ACCUMULATED]:
        program(leaf)
    for program in [a.what for a in attached if a.kind == AFTER]:
        _replaced_all(program, given, ())
