"""Reverse mode: `grad` and `backward`, with torch's arguments and torch's refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gradwire_engine.batch.reading import batched_dry, batched_reading, rows_of
from gradwire_engine.dry import dry
from gradwire_engine.errors import error
from gradwire_engine.journal import transaction
from gradwire_engine.layout import lying_like
from gradwire_engine.mode import local
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.reading import Reading, in_form, ones, raw, recorded, zeros
from gradwire_engine.spec import Spec
from gradwire_engine.symbol import SYMBOLIC
from gradwire_engine.tape import AccumulateGrad, Edge, GradientEdge, Node, place, target
from gradwire_engine.tensor import Tensor
from gradwire_engine.walk import edge_key, walk

Cotangents = Sequence[Tensor | None] | None
Place = Tensor | GradientEdge
"""What a gradient is asked for, or taken of: a tensor, or where one stood in the graph."""


GRADS: dict[type, Callable[..., list[Any]]] = {}
"""How `grad` is taken where values of a transform are among its arguments: by the type of the one
of the highest level. Takes that level, then outputs, inputs, grad_outputs and options of `grad`."""


def refuse_needless(allow_unused: bool | None, materialize_grads: bool) -> None:
    """Raise if unused inputs are forbidden and get zeros all the same."""
    if allow_unused is False and materialize_grads:
        raise error(
            "invalid_argument",
            "grad: materialize_grads=true needs allow_unused to be left out or true",
            "leave allow_unused out",
            raised=ValueError,
        )


def grad(
    outputs: Sequence[Place],
    inputs: Sequence[Place],
    grad_outputs: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
    names: Sequence[str] | None = None,
    is_grads_batched: bool = False,
    output_names: Sequence[str] | None = None,
) -> list[Tensor | None]:
    """The gradients of the sum of outputs · grad_outputs by each input; touches no `.grad`.

    grad_outputs: one per output, of its shape and dtype; None stands for 1 at a scalar.
    retain_graph: keep the saved tensors; by default as create_graph, which records the gradients.
    allow_unused: None for an input that the outputs don't depend on, in place of unused_input.
    materialize_grads: zeros there. names, output_names: what error texts call inputs and outputs.
    is_grads_batched: the first axis of each of grad_outputs, and of the results, is a batch, for
    which one walk is done. Values of transforms have gradients that are values of them.
    """
    refuse_needless(allow_unused, materialize_grads)
    allowed = materialize_grads if allow_unused is None else allow_unused
    if not inputs:
        raise error("invalid_argument", "grad: inputs is empty", "name at least one input")
    highest = _highest((*outputs, *inputs, *(grad_outputs or ())))
    if highest is not None:
        options = {"retain_graph": retain_graph, "create_graph": create_graph}
        if is_grads_batched:
            options["is_grads_batched"] = True
        parts = GRADS[type(highest)](highest.level, outputs, inputs, grad_outputs, **options)
        return _completed(parts, inputs, allowed, materialize_grads, names)
    rows = _rows(outputs, grad_outputs) if is_grads_batched else None
    wanted = [_input_edge("grad", i, x, names) for i, x in enumerate(inputs)]
    keep = create_graph if retain_graph is None else retain_graph
    cast = _cast(outputs, grad_outputs)
    state = local.state
    before = state.level, state.grad
    state.level += 1  # a transform in progress: see levels.py
    state.grad = create_graph and not state.inference
    try:
        reading = _reading(outputs, create_graph, rows, state.level)
        called = [numbered("output", i, output_names) for i in range(len(outputs))]
        roots = _roots("grad", outputs, cast, reading, called, batched=is_grads_batched)
        found = walk(roots, reading, keep, wanted=wanted, into_grad=False)
        results: list[Tensor | None] = []
        for index, (x, edge) in enumerate(zip(inputs, wanted, strict=True)):
            value = found.get(edge_key(edge))
            if value is None and not allowed:
                raise _unused(index, names)
            if value is not None and grad_outputs is None and type(edge) is AccumulateGrad:
                results.append(_handed_out(value, x, edge, reading, None))  # the commonest
            elif value is not None:
                first = None if rows is not None else _first_form(x, edge)
                if first is not None and hasattr(value, "shape"):  # a dry walk knows none
                    value = in_form(first.shape, value)
                itself = _cotangent_of(value, edge, roots, cast)
                if itself is not None and not any(itself is g for g in grad_outputs or ()):
                    results.append(itself)  # with its history: it is cast before the walk begins
                else:
                    results.append(_handed_out(value, x, edge, reading, itself))
            else:
                results.append(_nothing(x, create_graph) if materialize_grads else None)
        return results
    finally:
        state.level, state.grad = before
        state.moves += 1  # what an interrupt left to be put back later is of no account any more


def grad_of_moving(
    outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], **options: Any
) -> list[Any]:
    """`grad` of those outputs that require it.

    Where none does, each gradient is None, or zeros with materialize_grads.
    """
    pairs = zip(outputs, cotangents, strict=True)
    moving = [(y, g) for y, g in pairs if y is not None and y.requires_grad]
    if not moving:
        return [zeros(x.spec) if options.get("materialize_grads") else None for x in inputs]
    ys, gs = zip(*moving, strict=True)
    return grad(ys, inputs, gs, **options)


def _cast(outputs: Sequence[Place], cotangents: Cotangents) -> Cotangents:
    """Cotangents that require grad in the dtypes of their outputs."""
    if cotangents is None or not local.state.grad:
        return cotangents
    return [
        to_dtype(g, y.spec.dtype) if g is not None and _differs(g, y.spec) else g
        for g, y in zip(cotangents, outputs, strict=False)
    ] + list(cotangents[len(outputs) :])


def _differs(g: Tensor, spec: Spec) -> bool:
    known = g.dtype.is_complex is spec.dtype.is_complex  # else it is refused
    return g.dtype is not spec.dtype and known and g.requires_grad


def _cotangent_of(value: Any, edge: Edge, roots: Any, cotangents: Cotangents) -> Tensor | None:
    """The cotangent that a gradient is: that of an output which is asked for itself."""
    for (root, g), given in zip(roots, cotangents or (), strict=False):
        if g is value and given is not None and edge_key(root) == edge_key(edge):
            return given
    return None


def _handed_out(
    value: Any, x: Place, edge: Edge, reading: Reading, itself: Tensor | None
) -> Tensor:
    """A gradient as a tensor: it lies as its input does, or as the cotangent that it is.

    Torch has it as the last rule lays it, which is mostly so; one that records does here too.
    """
    made = reading.tensor(value, _form(x, edge))
    if local.state.grad or type(x) is not Tensor or type(made) is not Tensor:
        return made
    return lying_like(made, x if itself is None else itself)


def _form(x: Place, edge: Edge) -> Spec:
    """The form of gradients of an input, which may have had another one when it was used."""
    if type(edge) is AccumulateGrad:
        return edge.spec or x.spec
    if (first := _first_form(x, edge)) is not None:
        return first
    if type(x) is not Tensor or x.view is None or not x.view.back:
        return x.spec
    return GradientEdge(target(edge), place(edge)).spec


def _first_form(x: Place, edge: Edge) -> Spec | None:
    """The form that a tensor was made in, if it got another one in place in no_grad since.

    Its node knows nothing of that, and takes gradients in the first form, or what that expands to.
    """
    if type(x) is not Tensor or type(edge) is AccumulateGrad:
        return None
    if type(edge) is Node and edge.recipe.call.outputs[0] is x.spec:  # mostly
        return None
    if x.view is not None and x.view.base is not None:  # which has its form by a node of its own
        return None
    known = GradientEdge(target(edge), place(edge)).spec
    return known if known.shape != x.shape and prod(known.shape) == prod(x.shape) else None


def _nothing(x: Place, create_graph: bool) -> Tensor:
    """The zeros that stand for the gradient of an input that was not reached."""
    if type(x) is GradientEdge:
        raise error(
            "invalid_argument",
            "grad: materialize_grads=true makes no zeros for a gradient edge, and nothing came "
            "to one of the inputs, which is one",
            "name the tensor itself, or leave materialize_grads out",
            raised=RuntimeError,
        )
    made: Tensor = zeros(x.spec)
    if type(x) is Tensor:
        made = lying_like(made, x)
    return made.requires_grad_() if create_graph else made


_PLAIN = frozenset({Tensor, type(None)})


def _highest(values: Sequence[Any]) -> Any:
    """The value of the highest level; None where all are tensors."""
    if {*map(type, values)} <= _PLAIN:
        return None
    wrapped = [v for v in values if v is not None and type(v) is not Tensor and type(v) in GRADS]
    return max(wrapped, key=lambda v: v.level, default=None)


def _completed(
    found: list[Any],
    inputs: Sequence[Any],
    allowed: bool,
    materialize: bool,
    names: Sequence[str] | None,
) -> list[Any]:
    """Gradients with what was not reached refused or filled in."""
    for index, value in enumerate(found):
        if value is None and not allowed:
            raise _unused(index, names)
    if not materialize:
        return found
    return [zeros(x.spec) if g is None else g for g, x in zip(found, inputs, strict=True)]


def backward(
    tensors: Sequence[Place],
    grad_tensors: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Place] | None = None,
    names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> None:
    """Add the gradients of the sum of tensors · grad_tensors into `.grad` of the leaves.

    inputs: only these get gradients; non-leaves among them retain theirs from now on. The rest as
    for `grad`.
    """
    if _highest((*tensors, *(inputs or ()), *(grad_tensors or ()))) is not None:
        raise error(
            "untraceable",
            "backward: it adds to .grad, which a function that a transform runs must not do",
            "use grad, or call backward outside of the transform",
        )
    if inputs is not None and not inputs:
        raise error(
            "invalid_argument", "backward: inputs is empty", "leave it out to reach all leaves"
        )
    reading = _reading(tensors, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    state = local.state
    before = state.grad
    state.grad = create_graph and not state.inference
    try:
        called = [numbered("output", i, output_names) for i in range(len(tensors))]
        roots = _roots("backward", tensors, grad_tensors, reading, called)
        if inputs is None:
            walk(roots, reading, keep, into_grad=True)
            return
        wanted = [_input_edge("backward", i, x, names) for i, x in enumerate(inputs)]
        with transaction():
            for x, edge in zip(inputs, wanted, strict=True):
                if type(x) is Tensor and type(edge) is not AccumulateGrad:
                    x.retain_grad()
            walk(roots, reading, keep, wanted=wanted, into_grad=True)
    finally:
        state.grad = before
        state.moves += 1  # what an interrupt left to be put back later is of no account any more


def _reading(
    tensors: Sequence[Place], create_graph: bool, rows: int | None = None, level: int = 0
) -> Reading:
    """How the rules are read: on tensors to record, on arrays if there are any, else not at all.

    rows: of batched cotangents, which are those of a transform of this level.
    """
    devices = {t.spec.device for t in tensors}
    create_graph = create_graph or SYMBOLIC in devices  # to be traced
    meta = not create_graph and "meta" in devices
    if rows is not None:
        return batched_dry(rows) if meta else batched_reading(level, rows, create_graph)
    if create_graph:
        return recorded
    return dry if meta else raw


def _rows(outputs: Sequence[Place], cotangents: Cotangents) -> int:
    """How many rows batched cotangents have; each has one more axis than its output.

    Torch looks at one pair after the other first, and then at whether there are equally many.
    """
    given = [None] * len(outputs) if cotangents is None else list(cotangents)
    return rows_of([_rows_at(*each) for each in zip(range(len(given)), outputs, given)])  # noqa: B905


def _rows_at(index: int, output: Place, g: Tensor | None) -> int | None:
    """The rows of one; None where there is no cotangent, nor one implied that has an axis."""
    if g is None:
        if type(output) is not GradientEdge and not getattr(output, "requires_grad", True):
            return None
        return 1 if implicit("grad", output).shape else None
    if not g.shape or not g.shape[0]:
        raise error(
            "shape_mismatch",
            f"grad: with is_grads_batched the cotangent of output {index} is a batch of "
            f"cotangents; it has shape {list(g.shape)}, which is no row",
            "give at least one row",
            raised=IndexError,
        )
    one = g.spec.with_(shape=g.shape[1:])
    if one.shape != output.spec.shape:
        raise error(
            "shape_mismatch",
            f"grad: with is_grads_batched the cotangent of output {index} is a batch of "
            f"cotangents; it has shape {list(g.shape)}, the output {list(output.spec.shape)}",
            "its axes after the first must be the output's",
        )
    check_cotangent("grad", numbered("output", index, None), output.spec, one)
    g.edge  # noqa: B018 (torch asks for its history, which a view that may not be used refuses)
    return g.shape[0]


def numbered(kind: str, index: int, names: Sequence[str] | None) -> str:
    """What error texts call an input or output, by its number and, where it has one, name."""
    return f"{kind} {index}" if names is None else f"{kind} {index} ({names[index]})"


def _input_edge(asked: str, index: int, x: Place, names: Sequence[str] | None) -> Edge:
    edge = x.edge
    if edge is None and type(x) is Tensor and x.requires_grad:
        return AccumulateGrad(x)  # a view made in no_grad: nothing ever arrives there
    if edge is None:
        dtype = getattr(x, "dtype", None)
        able = dtype is None or dtype.differentiable
        raise error(
            "requires_no_grad",
            f"{asked}: {numbered('input', index, names)} does not require grad"
            + ("" if able else f": it is {dtype.name}, and such numbers have no gradients"),  # type: ignore[union-attr]
            "set requires_grad on it before it is used"
            if able
            else "make it floating: write 2.0 for 2, or give its dtype as float32",
        )
    return edge


def _unused(index: int, names: Sequence[str] | None) -> Exception:
    return error(
        "unused_input",
        f"grad: {numbered('input', index, names)} was not used in making the outputs",
        "pass allow_unused=true to get null for it, or materialize_grads=true for zeros",
    )


def _roots(
    asked: str,
    tensors: Sequence[Place],
    cotangents: Cotangents,
    reading: Reading,
    called: Sequence[str],
    *,
    batched: bool = False,
) -> list[tuple[Edge, Any]]:
    """The edges to start from with their cotangents, checked as torch does."""
    given = [None] * len(tensors) if cotangents is None else list(cotangents)
    if len(given) != len(tensors):
        raise error(
            "invalid_argument",
            f"{asked}: {len(tensors)} outputs, but {len(given)} cotangents",
            "give one for each output, or null",
        )
    if not tensors:
        raise error("invalid_argument", f"{asked}: there are no outputs", "name at least one")
    roots = []
    for tensor, g, name in zip(tensors, given, called, strict=True):
        if g is not None:
            one = g.spec.with_(shape=g.spec.shape[1:]) if batched else g.spec
            check_cotangent(asked, name, tensor.spec, one)
            if one.dtype is not tensor.spec.dtype:
                g = to_dtype(g, tensor.spec.dtype)
        edge = tensor.edge
        if edge is None:
            raise error(
                "requires_no_grad",
                f"{asked}: {name}, {tensor.spec}, does not require grad "
                "and does not have a grad_fn",
                "make it from tensors that require grad, with grad mode on",
            )
        if g is None:
            g = implicit(asked, tensor, name)
            if batched:  # the first axis of the ones that stand for it counts rows, too
                check_cotangent(asked, name, tensor.spec, g.spec.with_(shape=g.shape[1:]))
        had = _form(tensor, edge).shape  # another one where only the tensor's was changed in place
        if had != tensor.spec.shape and not batched:
            g = in_form(had, g)
        roots.append((edge, reading.cotangent(g)))
    return roots


def implicit(asked: str, output: Place, called: str = "this one") -> Tensor:
    """The cotangent 1 of a scalar; any other output needs one given."""
    spec = output.spec
    if spec.size != 1:
        raise error(
            "not_scalar",
            f"{asked}: grad can be implicitly created only for scalar outputs, "
            f"but {called} has shape {list(spec.shape)}",
            "reduce it with .sum() or .mean(), pass a cotangent of its shape (grad_outputs or "
            "grad_tensors), or ask for a jacobian",
        )
    if spec.dtype.is_complex:
        raise error(
            "dtype_mismatch",
            f"{asked}: grad can be implicitly created only for real scalar outputs, "
            f"but {called} is {spec.dtype.name}",
            "pass a cotangent, or take the real part",
        )
    return ones(spec)


def check_cotangent(asked: str, called: str, spec: Spec, g: Spec) -> None:
    """Refuse the cotangent of an output that has not its shape, or is real where that is not."""
    if g.shape != spec.shape:
        raise error(
            "shape_mismatch",
            f"{asked}: {called} has shape {list(spec.shape)}, its cotangent has {list(g.shape)}",
            "they must be equal",
        )
    if g.dtype.is_complex != spec.dtype.is_complex:
        raise error(
            "dtype_mismatch",
            f"{asked}: {called} is {spec.dtype.name}, its cotangent {g.dtype.name}; "
            "both must be complex or both real",
            "convert the cotangent",
        )
