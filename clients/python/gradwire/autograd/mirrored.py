"""What the mirrors know of a backward that was written down: a node as the host has it.

The engine's own rules for custom functions decide what becomes of outputs, dirty arguments and
gradients that don't fit. In place of the backward's ops stand results of the same specs that
depend on what they depend on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradwire.autograd.written import Backward, Forward, belongs
from gradwire.called import Wanted, of_mirrors
from gradwire.faults import Fault
from gradwire.tensor import Tensor
from gradwire.trace import leaves
from gradwire.within import within
from gradwire_engine.arrays import phantom_of
from gradwire_engine.errors import GradwireError
from gradwire_engine.function import Made
from gradwire_engine.function_rule import Function
from gradwire_engine.journal import assign
from gradwire_engine.recipe import Step
from gradwire_engine.tape import Node, target
from gradwire_engine.tensor import Tensor as Meta


class Part(NamedTuple):
    """One gradient: what it is, and the places of the inputs that it depends on.

    same: the place of the input that it is itself.
    """

    wanted: Wanted
    depends: tuple[int, ...]
    same: int | None = None


class Derived:
    """A backward as the mirrors run it. parts: for each gradient a Part, or what was given.

    fault: what it raises instead.
    """

    def __init__(self, key: str, parts: Sequence[Any], fault: Fault | None) -> None:
        self.id, self.parts, self.fault = key, parts, fault

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """Gradients of the specs that the backward gave."""
        if self.fault is not None:
            raise self.fault.again()
        return tuple([_made(p, given) if isinstance(p, Part) else p for p in self.parts])


def _made(part: Part, given: Sequence[Any]) -> Any:
    if part.same is not None:
        return given[part.same]
    return of_mirrors([given[i] for i in part.depends if given[i] is not None], part.wanted)


def parts_of(found: Sequence[Any], inputs: Sequence[Tensor | None]) -> list[Any]:
    """The gradients that a backward gave, from the placeholders of its inputs."""
    given = [(place, t) for place, t in enumerate(inputs) if t is not None]
    # by the leaf behind each placeholder, which is it or a copy of it
    places = {next(leaves(t._meta.edge)): place for place, t in given if t._meta.edge is not None}
    itself = {id(t): place for place, t in given}
    return [_part(t, places, itself) if isinstance(t, Tensor) else t for t in found]


def _part(t: Tensor, places: dict[Any, int], itself: dict[int, int]) -> Part:
    node = t._meta.grad_fn
    wanted = Wanted(t.shape, t.dtype, None if node is None else node.name())
    ends = sorted({places[leaf] for leaf in leaves(t._meta.edge) if leaf in places})
    return Part(wanted, tuple(ends), itself.get(id(t)))


def keep_only(node: Node, parts: Sequence[Any]) -> None:
    """Let gradients flow only where the backward gives some. parts: one for each edge."""
    recipe: Any = node.recipe
    (step,) = recipe.steps
    kept = tuple([place for place in step.targets if parts[place] is not None])
    rule = _Kept(step.function, kept)
    recipe.steps = (Step(rule.__call__, step.cotangents, step.arguments, kept, True, None),)


class _Kept(NamedTuple):
    """A rule of which only some results are wanted."""

    rule: Any
    places: tuple[int, ...]

    def __call__(self, *given: Any) -> list[Any]:
        found = self.rule(*given)
        return [found[place] for place in self.places]


class Mirror:
    """A use of a custom function in the mirrors. fault: what its walk raises, if it must fail."""

    def __init__(self, forward: Forward, backward: Backward | None) -> None:
        self.forward, self.backward = forward, backward
        self.fault = None if backward is None else backward.fault
        self._made: Made | None = None
        parts = [] if backward is None else parts_of(backward.found, backward.inputs)
        used = forward.used
        self._derived = Derived(f"{used.name}.backward", parts, self.fault)
        fills_in = forward.ctx.materialize_grads if backward is None else backward.fills_in
        self._function = Function(used.name, self._derived, fills_in, used.once_differentiable)

    def run(self, *values: Any) -> Made:
        """The forward on mirrors: what it gave, wrote and keeps."""
        ctx, trace = self.forward.ctx, self.forward.trace
        known = {name: tensor._meta for name, tensor in trace.inputs}
        self._write(known)
        kept = {} if self.backward is None else self.backward.kept
        for name, made in ({t._name: t for t in self.forward.tensors} | kept).items():
            if name not in known:
                known[name] = Meta.of(made._meta.array, device="meta")
        outputs = iter([known[t._name] for t in self.forward.tensors])
        self._made = Made(
            self._function,
            [next(outputs) if isinstance(o, Tensor) else o for o in self.forward.outputs],
            [known[name] for name in kept],
            [known[t._name] for t in ctx.non_differentiable],
            [known[t._name] for t in ctx.dirty_tensors],
        )
        return self._made

    def _write(self, known: dict[str, Meta]) -> None:
        """Arguments that were written in place are at a later version."""
        trace = self.forward.trace
        for tensor in trace.held:
            meta = known.get(tensor._name) if belongs(tensor, trace) else None
            writes = tensor._meta.storage.version
            if meta is not None and writes:
                assign(meta.storage, "version", meta.storage.version + writes)

    def node(self, metas: Sequence[Any]) -> Node | None:
        """The node, through which gradients go from here on only where the backward gives some."""
        found = next((n for m in metas if type(m) is Meta for n in _near(m, self._function)), None)
        if found is None:
            return None
        recipe: Any = found.recipe
        if self.fault is None:
            self._find_out(found, recipe)
        if self.fault is not None:
            recipe.fault = self.fault.again
        return found

    def _find_out(self, node: Node, recipe: Any) -> None:
        """Where gradients flow; or what is wrong with them."""
        rule = recipe.steps[0].function
        made = self._made
        assert made is not None
        gradients = [Meta.of(phantom_of(spec)) for spec in recipe.call.outputs]
        try:
            with within(grad=False):
                parts = rule(*gradients, *made.saved)
        except GradwireError as problem:
            self.fault = self._derived.fault = Fault(self._derived.id, problem)
        else:
            keep_only(node, parts)


def _near(meta: Meta, function: Function) -> Iterator[Node]:
    """The node of this function behind a result: its own, or below that of a write to a view."""
    node = meta.grad_fn
    below = () if node is None else [target(e) for e in node.edges if e is not None]
    for found in (node, *below):
        if type(found) is Node and getattr(found.call, "function", None) is function:
            yield found


__all__ = ["Derived", "Mirror", "Part"]
