"""A call: an op with the specs and attributes of one use, worked out once and kept.

Everything that doesn't depend on elements is decided here: the outputs' specs, casts, the bound
kernel, and for each set of operands that require grad the recipe of what to save and which rules to
run. The second call with the same specs is a dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from gradwire_engine.arrays import memory_installed
from gradwire_engine.binding import BIND as BIND
from gradwire_engine.binding import bind
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.flops import operations
from gradwire_engine.op import Inferred, Primitive, needs_tensor
from gradwire_engine.promote import Weak
from gradwire_engine.recipe import Recipe as Recipe
from gradwire_engine.recipe import Span as Span
from gradwire_engine.recipe import Step as Step
from gradwire_engine.signature import Unnamed, axes, axis
from gradwire_engine.spec import Spec

CACHE_SIZE = 4096
"""Calls kept per op; when full they are forgotten together."""
ADDRESSABLE = 2**47
"""Bytes that a process can address at all: a result beyond that is refused, also as a phantom."""
INSTALLED = memory_installed() or ADDRESSABLE
"""Bytes of this machine's memory: no array that holds elements can be larger."""


class Call:
    """One use of an op. inputs: a Spec, Weak or None per flat operand; outputs: Specs."""

    __slots__ = (
        "arguments", "attributes", "device", "differentiable", "flops", "in_rows", "inputs", "name",
        "nbytes", "op", "orders", "outputs", "promoted", "recipes", "ruled", "run", "single",
        "spans", "unrecorded",
    )  # fmt: skip

    fills_in = True  # zeros for a rule, where no gradient came to an output; else None

    def __init__(self, op: Primitive, arguments: tuple[Any, ...], device: str) -> None:
        self.op, self.device = op, device
        if op.first is not None:
            op.first(dict(zip(op.signature.by_name, arguments, strict=True)))
        arguments = _normal_dims(op, arguments)
        named = dict(zip(op.signature.by_name, arguments, strict=True))
        arguments = tuple([tuple(a) if type(a) is Unnamed else a for a in arguments])
        self.arguments = arguments
        places = set(op.places)
        self.attributes = {
            p.name: arguments[i] for i, p in enumerate(op.signature.parameters) if i not in places
        }
        self.spans, flat = _flatten(op, arguments)
        self.inputs: tuple[Any, ...] = tuple(flat)
        inferred = _infer(op, named)
        found = inferred.outputs
        self.single = isinstance(found, Spec)
        outputs: tuple[Any, ...] = (found,) if self.single else tuple(found)
        self.outputs: tuple[Spec, ...] = tuple(spec._replace(device=device) for spec in outputs)
        self.nbytes = 0 if op.view else sum(spec.nbytes for spec in self.outputs)
        if self.nbytes > (ADDRESSABLE if device == "meta" else INSTALLED):
            raise error(
                "memory_limit",
                f"{op.name}: the result would take {self.nbytes} bytes",
                "the machine has less memory than that; work on smaller tensors",
            )
        given = [spec for spec in self.inputs if isinstance(spec, Spec)]
        self.flops = operations(op, given, self.outputs)
        self.name = op.grad_name(named)
        rules = op.rules
        self.ruled = tuple(
            rules.joint is not None or span.name in rules.by_operand
            for span in self.spans
            for _ in range(span.start, span.stop)
        )
        whole = self._loses_gradients()
        self.differentiable = whole or any(spec.dtype.differentiable for spec in self.outputs)
        in_complex = op.real_gradients and any(s.dtype.is_complex for s in self.outputs)
        self.unrecorded = whole or in_complex
        self.run: Callable[..., Any]
        self.in_rows: Callable[..., Any]  # the same for operands that are row-major
        self.promoted: tuple[int, ...]  # see bind
        self.orders: dict[Any, Any] = {}  # see laid.relaid
        bind(self, inferred)
        self.recipes: dict[tuple[bool, ...], Recipe] = {}

    def _loses_gradients(self) -> bool:
        """Whether only whole numbers or bools come of floats by which the op has a derivative."""
        if self.op.sheds or any(spec.dtype.differentiable for spec in self.outputs):
            return False
        pairs = zip(self.inputs, self.ruled, strict=True)
        return bool(self.outputs) and any(
            ruled and isinstance(given, Spec) and given.dtype.differentiable
            for given, ruled in pairs
        )

    def recipe(self, needs: tuple[bool, ...]) -> Recipe:
        """What to save and which rules to run when just these operands need a gradient."""
        found = self.recipes.get(needs)
        if found is None:
            found = self.recipes[needs] = Recipe(self, needs)
        return found

    @property
    def counted(self) -> tuple[int, ...]:
        """Flat places of the operands that the graph shows, and hooks see: those with a rule.

        A number counts as the tensor that it stands for, but where torch has an overload for it:
        then the node has a name of its own, and no place for what isn't there either. A rule for
        all operands together has nothing to say of indices.
        """
        tensors = (s if isinstance(s, Spec) else self.outputs[0] for s in self.inputs)
        numbers = any(isinstance(given, Weak) for given in self.inputs)
        apart = numbers and self._named(iter(tensors)) != self.name
        together = self.op.rules.joint is not None
        return tuple(
            place
            for place, given in enumerate(self.inputs)
            if self.ruled[place]
            and not (
                together and not given.dtype.differentiable if isinstance(given, Spec) else apart
            )
        )

    @property
    def tracked(self) -> tuple[int, ...]:
        """Numbers of the results that hooks see: those that can have a gradient."""
        return tuple(i for i, spec in enumerate(self.outputs) if spec.dtype.differentiable)

    def _named(self, flat: Iterator[Any]) -> str:
        """What the node is called with these operands."""
        given: dict[str, Any] = dict(self.attributes)
        for span in self.spans:
            items = tuple(islice(flat, span.stop - span.start))
            given[span.name] = items if span.many else items[0]
        return self.op.grad_name(given)

    def static(self, name: str, needs: tuple[bool, ...]) -> Any:
        """The value of a rule's static parameter: an attribute, a spec, or `needs`."""
        if name in self.attributes:
            return self.attributes[name]
        if name == "needs":
            return needs
        owner = name.removesuffix("_spec")
        for span in self.spans:
            if span.name == owner:
                specs = self.inputs[span.start : span.stop]
                return specs if span.many else specs[0]
        return self.outputs[self.op.outputs.index(owner)]


def follow(chain: tuple[tuple[Call, int], ...], array: Any) -> Any:
    """Take the views of a chain, one after the other, from an array."""
    for call, index in chain:
        array = call.run(array)
        if not call.single:
            array = array[index]
    return array


def find_call(op: Primitive, key: tuple[Any, ...], arguments: tuple[Any, ...], device: str) -> Call:
    """The call for these specs and attributes, from the op's cache or worked out now."""
    found: Call | None = op.calls.get(key)
    if found is None:
        if len(op.calls) >= CACHE_SIZE:
            op.calls.clear()
        found = op.calls[key] = Call(op, arguments, device)
    return found


def moved(value: Any, device: str) -> Any:
    """Arguments with their specs on a device, and so the calls of chains of views."""
    if type(value) is Call:
        return Call(value.op, moved(value.arguments, device), device)
    if type(value) is Spec:
        return value._replace(device=device)
    return tuple([moved(item, device) for item in value]) if type(value) is tuple else value


def _normal_dims(op: Primitive, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Negative dims counted from the first operand's last axis become non-negative ones."""
    if not op.signature.dims:
        return arguments
    first = next((a for a in arguments if isinstance(a, Spec)), None)
    ndim = len(first.shape) if first is not None else 0
    if op.any_axis_of_none and first is not None and 0 in first.shape:
        return tuple(0 if isinstance(a, int) else a for a in arguments)
    found = list(arguments)
    for place, many in op.signature.dims:
        if found[place] is not None:
            find: Any = axes if many else axis
            found[place] = find(op.name, found[place], ndim)
    return tuple(found)


def _flatten(op: Primitive, arguments: tuple[Any, ...]) -> tuple[list[Span], list[Any]]:
    spans, flat = [], []  # type: ignore[var-annotated]
    for place in op.places:
        parameter, given = op.signature.parameters[place], arguments[place]
        many = parameter.kind == "tensors"
        items = given if many else (given,)
        spans.append(Span(parameter.name, len(flat), len(flat) + len(items), many))
        flat.extend(items)
    return spans, flat


def _infer(op: Primitive, named: dict[str, Any]) -> Inferred:
    try:
        return op.infer(named)
    except GradwireError:
        raise
    except (ValueError, IndexError, TypeError, OverflowError, AttributeError) as problem:
        numbers = [name for name, value in named.items() if isinstance(value, Weak)]
        if isinstance(problem, AttributeError):
            if not numbers:
                raise
            raise needs_tensor(op.name, numbers) from problem
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in named.items())
        raised = IndexError if isinstance(problem, IndexError) else RuntimeError
        raise error(
            "invalid_argument", f"{op.name}: {problem}; it was called with {shown}", raised=raised
        ) from problem


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and not isinstance(value, Spec):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value)
