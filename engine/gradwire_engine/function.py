"""Custom functions: a node whose rule is a user's program.

The forward program runs with grad mode off; what it gives gets a node that holds what it saved. On
the way back the backward program gets that and the gradients of the outputs, and gives a gradient
or None for each argument. Recorded, it is differentiated like anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gradwire_engine.apply import unsaved
from gradwire_engine.errors import error
from gradwire_engine.function_rule import Application, Function, FunctionRecipe, Rule
from gradwire_engine.function_values import on_values
from gradwire_engine.inplace import check_writable, rebase
from gradwire_engine.journal import assign, transaction
from gradwire_engine.mode import local, no_grad
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.tape import Edge, Node, Output, next_seq
from gradwire_engine.tensor import INFERENCE, Tensor, View

ELSEWHERE = 1 << 30
"""The place of a saved value that is neither an argument nor a result."""


class Made(NamedTuple):
    """What a forward gave: outputs, of which those that are tensors count, and what it asks for.

    non_differentiable, dirty: tensors among the outputs, dirty ones being arguments that it wrote.
    looks: whether a walk looks if what is saved was written since; else who is handed it does.
    """

    function: Function
    outputs: Sequence[Any]
    saved: Sequence[Any] = ()
    non_differentiable: Sequence[Tensor] = ()
    dirty: Sequence[Tensor] = ()
    looks: bool = True


def apply(forward: Callable[..., Made], args: Sequence[Any]) -> list[Any]:
    """Run a custom function on tensors and whatever else; its outputs, in the graph.

    forward: runs with grad mode off, on the arguments themselves.
    """
    if any(type(a) in VALUE_TYPES and type(a) is not Tensor for a in args):
        return on_values(apply, forward, args)
    with transaction():
        edges = [a.edge for a in args if type(a) is Tensor]
        with no_grad():
            made = forward(*args)
        _check_dirty(made)
        if not local.state.grad or not any(edge is not None for edge in edges):
            return _unrecorded(made, args)
        return _recorded(made, args, tuple(edges))


def _among(tensor: Any, others: Iterable[Any]) -> bool:
    return any(tensor is other for other in others)


def _check_dirty(made: Made) -> None:
    for tensor in made.dirty:
        if not _among(tensor, made.outputs):
            raise error(
                "invalid_argument",
                f"{made.function.name}: an input that was marked as dirty is no output",
                "inputs that are modified in place must be outputs of the function",
            )
        assign(tensor.storage, "version", tensor.storage.next_version)


def _unrecorded(made: Made, args: Sequence[Any]) -> list[Any]:
    """Outputs where nothing is recorded; an argument given back is an alias of it."""
    return [
        out.detach() if type(out) is Tensor and _among(out, args) and not _among(out, made.dirty)
        else out
        for out in made.outputs
    ]  # fmt: skip


def _recorded(made: Made, args: Sequence[Any], edges: tuple[Edge | None, ...]) -> list[Any]:
    tensors = [a for a in args if type(a) is Tensor]
    given = [out for out in made.outputs if type(out) is Tensor]
    if not given:
        return list(made.outputs)
    call = Application(made.function, [t.spec for t in tensors], [t.spec for t in given])
    rule = Rule(
        made.function,
        call,
        tuple(edge is not None for edge in edges),
        tuple(type(a) is Tensor for a in args),
        tuple(type(out) is Tensor for out in made.outputs),
    )
    saved = tuple(_place(item, tensors, given) for item in made.saved)
    recipe = FunctionRecipe(call, rule, saved)
    node = Node(recipe, edges, (), (), next_seq())
    results = []
    for out in made.outputs:
        if type(out) is not Tensor:
            results.append(out)
            continue
        place = sum(type(other) is Tensor for other in made.outputs[: len(results)])
        edge = node if recipe.call.single else Output(node, place)
        results.append(_output(made, out, edge, _among(out, args), _among(out, results)))
    _save(node, made, [r for r in results if type(r) is Tensor])
    return results


def _output(made: Made, out: Tensor, edge: Edge, is_argument: bool, again: bool) -> Tensor:
    """One output with its place in the graph; torch's rules for arguments and views among them."""
    dirty = _among(out, made.dirty)
    if not out.dtype.differentiable or _among(out, made.non_differentiable):
        return out.detach() if is_argument and not dirty else out
    if dirty:
        return _rebased(made, out, edge)
    if is_argument:
        base = out if out.view is None or out.view.base is None else out.view.base
        chain = () if out.view is None else out.view.chain
        view = View(chain, base, "custom", out.storage.version)
        return Tensor.sharing(out.storage, out.spec, edge, view).marked()
    if again:
        return out.alias(edge)
    if out.view is not None:
        assign(out.view, "creation", "custom")
        assign(out.view, "version", out.storage.version)
    assign(out, "_edge", edge)
    return out


def _rebased(made: Made, out: Tensor, edge: Edge) -> Tensor:
    if out.view is not None and len(made.outputs) > 1:
        raise error(
            "view_in_place",
            f"{made.function.name}: it modifies in place an input that is a view of another "
            "tensor, so it cannot return more than one tensor",
            "clone() the input first, or give one tensor only",
        )
    check_writable(made.function.name, out, requires_grad=True)
    rebase(out, edge)
    return out


def _save(node: Node, made: Made, results: Sequence[Tensor]) -> None:
    """Keep what the function saved: results without their edge, so that no node holds itself."""
    kept = []
    for place, item in zip(node.recipe.saved, made.saved, strict=True):
        if type(item) is Tensor and item.flags & INFERENCE:
            raise unsaved(made.function.name)
        kept.append(results[~place].alias(None) if place < 0 else item)
    node.saved = tuple(kept)
    versions: list[Any] = [s.version if type(s) is Tensor else 0 for s in kept]
    node.versions = tuple(versions if made.looks else [_ANY] * len(kept))


class _AnyVersion:
    """Equal to each version of a saved tensor."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return True


_ANY: Any = _AnyVersion()


def _place(item: Any, tensors: Sequence[Tensor], given: Sequence[Tensor]) -> int:
    """Where a saved value comes from: an argument's number, ~ an output's, or elsewhere."""
    if type(item) is Tensor:
        for index, out in enumerate(given):
            if out is item and not _among(item, tensors):
                return ~index
        for index, arg in enumerate(tensors):
            if arg is item:
                return index
    return ELSEWHERE
