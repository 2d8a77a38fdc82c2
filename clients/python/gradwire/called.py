"""Programs that the user's functions became, as steps of a session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from gradwire.tensor import Tensor
from gradwire.trace import Trace, Traced, innermost
from gradwire.within import within
from gradwire_engine.arrays import phantom
from gradwire_engine.catalogue import resolve
from gradwire_engine.families import primitive
from gradwire_engine.layout import mirrored_as
from gradwire_engine.mode import local
from gradwire_engine.ops.cast import clone, to_dtype
from gradwire_engine.signature import Arrays, Ints
from gradwire_engine.spec import DType, Spec
from gradwire_engine.tensor import Tensor as Meta


def _gradients(g: Any, inputs: Any, inputs_spec: Sequence[Spec]) -> tuple[Any, ...]:
    """Stand-ins for the gradients: of the right specs, made of all that they may depend on."""
    total = resolve("sum")(g)
    for x in inputs:  # exp: gradients of this, of any order, depend on it too
        total = total * resolve("sum")(resolve("exp")(x))
    real = resolve("real")(total)
    parts = [to_dtype(total if s.dtype.is_complex else real, s.dtype) for s in inputs_spec]
    return tuple(resolve("expand")(p, s.shape) for p, s in zip(parts, inputs_spec, strict=True))


@primitive(
    {"joint": _gradients},
    spec=lambda inputs, shape, dtype: Spec(shape, dtype, ""),
    name="called",
    public=False,
    grad_name=lambda named: named["label"],
)
def _called(xp: Any, inputs: Arrays, shape: Ints, dtype: DType, label: str) -> Any:
    """The mirror of what a program gives."""
    return phantom(shape, dtype.numpy)


def result(operands: Sequence[Tensor], wanted: Wanted) -> Meta:
    """The mirror of a result of these operands."""
    of = wanted.of
    metas = [t._meta for i, t in enumerate(operands) if of is None or i in of]
    return of_mirrors(metas, wanted)


def of_mirrors(operands: Sequence[Meta], wanted: Wanted) -> Meta:
    """The mirror of a result of operands that have these mirrors."""
    shape, dtype, label = tuple(wanted.shape), wanted.dtype, wanted.label
    metas = [meta for meta in operands if meta.requires_grad]
    if label is None or not metas or not local.state.grad or not dtype.differentiable:
        found = Meta.of(phantom(shape, dtype.numpy), device="meta")
    else:
        found = _called(tuple(map(clone, metas)), shape, dtype, label)
    return found if wanted.lying is None else mirrored_as(found, wanted.lying)


def call(traced: Traced, **fields: Any) -> Any:
    """Record the call of a traced function; its results in what the function gave them in."""
    outside = dict(traced.trace.inputs)
    parts: list[Any] = []
    for output in traced.outputs:
        same = outside.get(output._name)
        lying = traced.lying_of(output)
        parts.append(wanted(traced, output)._replace(lying=lying) if same is None else same)
    return traced.restored(record({"call": traced.id}, traced, parts, **fields))


def _stand_in(session: Any, operands: Sequence[Tensor], wanted: Wanted) -> Meta:
    """The mirror of a result; where the host is to put the result itself, a phantom."""
    if session.runs_here:
        return Meta.of(phantom(tuple(wanted.shape), wanted.dtype.numpy), device="meta")
    return result(operands, wanted)


class Wanted(NamedTuple):
    """A result that a step is to make. label: its node's name, None where it has none.

    of: the arguments that it is made of, by their places; None: maybe of all. lying: a phantom that
    lies in memory as the result will; None: it will be row-major.
    """

    shape: Sequence[int]
    dtype: DType
    label: str | None = None
    of: frozenset[int] | None = None
    lying: Any = None


def wanted(traced: Traced, output: Tensor, shape: Sequence[int] | None = None) -> Wanted:
    """What stands outside for an output of a function; shape: where that is another one there."""
    shown = output.shape if shape is None else shape
    return Wanted(shown, output.dtype, node_of(output), traced.arguments_of(output))


def record(word: dict[str, Any], traced: Traced, parts: Sequence[Any], **fields: Any) -> list[Any]:
    """Record a step on a program; parts: what it gives, Wanted each, or a tensor that is there.

    fields: those of the step; one that is a function is given the names of the results.
    """
    session = traced.trace.outer
    with session.recording() as mark:
        found = [
            Tensor(session, _stand_in(session, traced.args, part))
            if isinstance(part, Wanted)
            else part
            for part in parts
        ]
        made = [f for f, part in zip(found, parts, strict=True) if isinstance(part, Wanted)]
        out = [
            f._name if isinstance(part, Wanted) else None
            for f, part in zip(found, parts, strict=True)
        ]
        _pass_on(traced, session)
        step = word | {"args": [t._name for t in traced.args], "out": out} | fields
        session.record(step, made, mark=mark)
    return found


def derived(
    traced: Traced,
    transform: str,
    parts: Sequence[Wanted | None],
    values: Sequence[Wanted],
    **fields: Any,
) -> tuple[list[Any], list[Any]]:
    """Record a transform; its parts, and the program's outputs. Part of the graph if there is one.

    parts: those that nobody wants are None, and are not among what comes back; they are part of the
    graph of their directions as well, which stand in fields as tensors, by name.
    Sent at once: what is wrong with it is said at the call.
    """
    # A function that pulls back may be called in a trace that began after its own.
    session: Any = innermost() or traced.trace.outer
    args: list[Tensor] = session.lifted(traced.args)
    said = {name: value for name, value in fields.items() if value is not None}
    directions = [name for name in _DIRECTIONS if name in said]
    along = [v for name in directions for v in said[name].values() if isinstance(v, Tensor)]
    every = [*args, *along]
    create_graph = local.state.grad and any(x.requires_grad for x in every)
    key = traced.id
    _pass_on(traced, session)
    with _outside_of_inference(traced), session.recording() as mark:
        kept = [part for part in parts if part is not None]
        own = frozenset(range(len(args), len(every)))
        made = [
            Tensor(
                session,
                _stand_in(
                    session, every, part._replace(of=None if part.of is None else part.of | own)
                ),
            )
            for part in kept
        ]
        made += [Tensor(session, _stand_in(session, args, value)) for value in values]
        names = iter([m._name for m in made])
        said |= {name: _by_name(said[name]) for name in directions}
        step = {
            "transform": transform,
            "call": key,
            "args": [t._name for t in args],
            "create_graph": create_graph,
            "out": [None if part is None else next(names) for part in parts],
            "values": list(names),
        }
        session.record(step | said, made, mark=mark)
        session.flush()
    return made[: len(kept)], made[len(kept) :]


def _outside_of_inference(traced: Traced) -> AbstractContextManager[object]:
    """What torch.func gives in inference mode is a normal tensor: its levels record there."""
    if local.state.inference and traced.trace.transforms:
        return within(grad=False, inference=False)
    return nullcontext()


_DIRECTIONS = ("cotangents", "tangents", "vector")
"""Fields of a transform that have a tensor or a number by each name."""


def _by_name(given: dict[str, Any]) -> dict[str, Any]:
    """Tensors by what they are called."""
    return {key: v._name if isinstance(v, Tensor) else v for key, v in given.items()}


def _pass_on(traced: Traced, session: Any) -> None:
    """What is called may be refused, or fail, where the program that calls it runs."""
    if isinstance(session, Trace):
        session.may_be_refused |= traced.trace.may_be_refused
        session.fallible |= traced.trace.fallible


def node_of(tensor: Tensor) -> str | None:
    """The name of the node that made a tensor."""
    node = tensor._meta.grad_fn
    return None if node is None else node.name()


__all__ = ["Wanted", "call", "derived", "node_of", "of_mirrors", "record"]
