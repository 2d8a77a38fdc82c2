"""A call: an op with the specs and attributes of one use, worked out once and kept.

Everything that doesn't depend on elements is decided here: the outputs' specs, casts, the bound
kernel, and for each set of operands that require grad the recipe of what to save and which rules to
run. The second call with the same specs is a dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradwire_engine.arrays import backend, memory_installed, phantom_like, phantom_of
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.kernels.direct import direct
from gradwire_engine.mode import local
from gradwire_engine.op import Inferred, Primitive, needs_tensor
from gradwire_engine.promote import Weak
from gradwire_engine.random import running
from gradwire_engine.rule import Rule
from gradwire_engine.signature import axes, axis
from gradwire_engine.spec import BOOL, INTEGER, DType, Spec, float32

CACHE_SIZE = 4096
"""Calls kept per op; when full they are forgotten together."""
ADDRESSABLE = 2**47
"""Bytes that a process can address at all: a result beyond that is refused, also as a phantom."""
INSTALLED = memory_installed() or ADDRESSABLE
"""Bytes of this machine's memory: no array that holds elements can be larger."""

BIND: dict[str, Callable[[Call, Callable[..., Any]], Callable[..., Any]]] = {}
"""What runs in a kernel's place on devices without elements, by device. It gets a function from the
operands' phantoms to the results'."""


class Span:
    """Where an operand stands among the flat operands of a call."""

    __slots__ = ("many", "name", "start", "stop")

    def __init__(self, name: str, start: int, stop: int, many: bool) -> None:
        self.name, self.start, self.stop, self.many = name, start, stop, many


class Call:
    """One use of an op. inputs: a Spec, Weak or None per flat operand; outputs: Specs."""

    __slots__ = (
        "arguments", "attributes", "device", "differentiable", "inputs", "name", "nbytes", "op",
        "outputs", "recipes", "ruled", "run", "single", "spans",
    )  # fmt: skip

    fills_in = True  # zeros for a rule, where no gradient came to an output; else None

    def __init__(self, op: Primitive, arguments: tuple[Any, ...], device: str) -> None:
        self.op, self.device = op, device
        self.arguments = arguments = _normal_dims(op, arguments)
        named = dict(zip(op.signature.by_name, arguments, strict=True))
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
        self.name = op.grad_name(named)
        self.differentiable = any(spec.dtype.differentiable for spec in self.outputs)
        rules = op.rules
        self.ruled = tuple(
            rules.joint is not None or span.name in rules.by_operand
            for span in self.spans
            for _ in range(span.start, span.stop)
        )
        self.run: Callable[..., Any] = _bind_kernel(self, inferred)
        self.recipes: dict[tuple[bool, ...], Recipe] = {}

    def recipe(self, needs: tuple[bool, ...]) -> Recipe:
        """What to save and which rules to run when just these operands need a gradient."""
        found = self.recipes.get(needs)
        if found is None:
            found = self.recipes[needs] = Recipe(self, needs)
        return found

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


class Recipe:
    """How a node of this call is made and walked.

    saved: flat operand positions to save, outputs as ~index; rules: `Step`s to run.
    """

    __slots__ = ("call", "gradient_bytes", "half", "needs", "plain", "saved", "simple", "steps")

    def __init__(self, call: Call, needs: tuple[bool, ...]) -> None:
        self.call, self.needs = call, needs
        rules = call.op.rules
        by_name = {span.name: span for span in call.spans}
        wanted = [
            rule
            for rule in rules.all()
            if rule is rules.joint
            or any(needs[by_name[rule.operand].start : by_name[rule.operand].stop])
        ]
        places: dict[str, list[int]] = {}
        for rule in wanted:
            for name in rule.saved:
                if name in by_name:
                    places[name] = list(range(by_name[name].start, by_name[name].stop))
                else:
                    places[name] = [~call.op.outputs.index(name)]
        self.saved: tuple[int, ...] = tuple(p for found in places.values() for p in found)
        index = {place: i for i, place in enumerate(self.saved)}
        self.steps = tuple(self._step(rule, by_name, places, index) for rule in wanted)
        specs = [s for s in call.inputs if isinstance(s, Spec)]
        self.gradient_bytes = sum(
            spec.nbytes
            for spec, needed in zip(call.inputs, needs, strict=True)
            if needed and isinstance(spec, Spec)
        )
        self.half = not call.op.exact and any(s.dtype.half for s in (*specs, *call.outputs))
        self.plain = call.single and not self.half and all(s.plain for s in self.steps)
        self.simple = self.plain and len(self.steps) == 1 and len(self.saved) <= 1

    def _step(
        self,
        rule: Rule,
        by_name: dict[str, Span],
        places: dict[str, list[int]],
        index: dict[int, int],
    ) -> Step:
        statics = {name: self.call.static(name, self.needs) for name in rule.static}
        function = partial(rule.function, **statics) if statics else rule.function
        arguments: list[int | slice] = []
        for name in rule.saved:
            found = [index[p] for p in places[name]]
            many = name in by_name and by_name[name].many
            arguments.append(
                slice(found[0], found[-1] + 1) if many and found else slice(0) if many else found[0]
            )
        span = None if rule.operand == "joint" else by_name[rule.operand]
        targets = range(len(self.needs)) if span is None else range(span.start, span.stop)
        several = span is None or span.many
        first = self.call.inputs[targets[0]] if targets else None
        spec = None if several else first
        return Step(function, rule.cotangents, tuple(arguments), tuple(targets), several, spec)


class Step:
    """One rule of a recipe, with its static parameters bound.

    plain: takes the only cotangent and single values, gives one operand's gradient; that operand
    stands at `target` and its gradient has to have this shape and dtype.
    """

    __slots__ = (
        "arguments", "cotangents", "dtype", "function", "plain", "several", "shape", "target",
        "targets",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        cotangents: tuple[int, ...],
        arguments: tuple[int | slice, ...],
        targets: tuple[int, ...],
        several: bool,
        spec: Spec | None,
    ) -> None:
        self.function = function
        self.cotangents = cotangents
        self.arguments = arguments
        self.targets = targets
        self.several = several
        self.plain = (
            isinstance(spec, Spec)
            and cotangents == (0,)
            and not any(isinstance(place, slice) for place in arguments)
        )
        self.target = targets[0] if targets else -1
        self.shape = spec.shape if isinstance(spec, Spec) else ()
        self.dtype = spec.dtype.numpy if isinstance(spec, Spec) else None


def follow(chain: tuple[tuple[Call, int], ...], array: Any) -> Any:
    """Take the views of a chain, one after the other, from an array."""
    for call, index in chain:
        array = call.run(array)
        if not call.single:
            array = array[index]
    return array


def write_through(chain: tuple[tuple[Call, int], ...], array: Any, value: Any) -> None:
    """Write where the views of a chain show; an expanded view writes one place several times."""
    part = follow(chain, array)
    if not getattr(part.flags, "writeable", True):  # NumPy's guard of broadcast arrays
        part.flags.writeable = True
    part[...] = value


def find_call(op: Primitive, key: tuple[Any, ...], arguments: tuple[Any, ...], device: str) -> Call:
    """The call for these specs and attributes, from the op's cache or worked out now."""
    found: Call | None = op.calls.get(key)
    if found is None:
        if len(op.calls) >= CACHE_SIZE:
            op.calls.clear()
        found = op.calls[key] = Call(op, arguments, device)
    return found


def _normal_dims(op: Primitive, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Negative dims counted from the first operand's last axis become non-negative ones."""
    if not op.signature.dims:
        return arguments
    first = next((a for a in arguments if isinstance(a, Spec)), None)
    ndim = len(first.shape) if first is not None else 0
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


def _bind_kernel(call: Call, inferred: Inferred) -> Callable[..., Any]:
    op = call.op
    xp = backend(call.device).xp
    bind = BIND.get(call.device)
    if not op.view and bind is not None:
        return bind(call, _phantoms(call))
    if call.device == "meta" and not op.view:
        return _phantoms(call)
    leading = op.places == tuple(range(len(op.places))) and not any(s.many for s in call.spans)
    base: Callable[..., Any]
    kernel: Callable[..., Any] = partial(op.kernel, xp)
    if op.random:
        kernel = partial(_with_generator, op.kernel, xp, call.device)
    if leading:
        base = partial(kernel, **call.attributes)
    else:
        base = partial(_regroup, kernel, call.spans, call.attributes)
    if op.view:
        return base if bind is None else bind(call, base)
    if leading and not op.random and op.family == "elementwise":
        base = direct(op.kernel, xp, len(call.inputs), call.attributes) or base
    casts = [
        _cast(call.inputs[i], None if s.name in inferred.kept else inferred.compute, op.exact)
        for s in call.spans
        for i in range(s.start, s.stop)
    ]
    if any(casts):
        base = partial(_run_cast, base, casts)
    return Finisher(call, base, xp)


def _with_generator(
    kernel: Callable[..., Any], xp: Any, where: str, /, *operands: Any, **attributes: Any
) -> Any:
    return kernel(xp, running(where), *operands, **attributes)


def _regroup(
    kernel: Callable[..., Any], spans: list[Span], attributes: dict[str, Any], *flat: Any
) -> Any:
    operands = {s.name: list(flat[s.start : s.stop]) if s.many else flat[s.start] for s in spans}
    return kernel(**operands, **attributes)


def _cast(
    spec: Spec | Weak | None, compute: DType | None, exact: bool
) -> Callable[[Any], Any] | None:
    """How an operand is brought to the dtype that the kernel works in; None: as it is."""
    if spec is None:
        return None
    if isinstance(spec, Weak):
        if compute is not None and compute.category in (BOOL, INTEGER):
            return partial(_wrapped_int, dtype=compute.numpy)
        return None
    wanted = spec.dtype if compute is None else compute
    if wanted.half and not exact:
        wanted = float32
    return None if wanted is spec.dtype else partial(_astype, dtype=wanted.numpy)


def _astype(array: Any, dtype: np.dtype) -> Any:
    return array.astype(dtype)


def _wrapped_int(value: Any, dtype: np.dtype) -> Any:
    """A Python int in an integer dtype, wrapping around as torch does."""
    if dtype.kind == "b":
        return bool(value)
    bits = dtype.itemsize * 8
    value = int(value) & ((1 << bits) - 1)
    if dtype.kind == "i" and value >> (bits - 1):
        value -= 1 << bits
    return dtype.type(value)


def _run_cast(base: Callable[..., Any], casts: list[Any], *arrays: Any) -> Any:
    return base(*[a if cast is None else cast(a) for a, cast in zip(arrays, casts, strict=True)])


def _phantoms(call: Call) -> Callable[..., Any]:
    if call.op.data_dependent:
        raise error(
            "data_dependent_shape",
            f"{call.op.name}: the result's shape depends on data, which is not known here",
        )
    found = tuple(map(phantom_of, call.outputs))
    fallible = call.op.fallible
    if callable(fallible):
        fallible = fallible(call.inputs)
    kept = call.single and call.op.family == "elementwise" and len(call.outputs[0].shape) > 1

    def give(*arrays: Any) -> Any:
        if fallible:
            local.state.fallible = True
        if kept and not all(a.flags.c_contiguous for a in arrays if hasattr(a, "flags")):
            return phantom_like(call.outputs[0], arrays)
        return found[0] if call.single else found

    return give


class Finisher:
    """Runs a kernel and brings its results to the specs inferred: arrays, dtype, row-major.

    A kernel whose first result needed nothing is called directly from then on: for the same specs
    the array library gives the same dtype again.
    """

    __slots__ = ("base", "call", "dtypes", "xp")

    def __init__(self, call: Call, base: Callable[..., Any], xp: Any) -> None:
        self.call, self.base, self.xp = call, base, xp
        self.dtypes = [spec.dtype.numpy for spec in call.outputs]

    def __call__(self, *arrays: Any) -> Any:
        result = self.base(*arrays)
        call = self.call
        if not call.single:
            return tuple(map(self._finish, result, self.dtypes))
        finished = self._finish(result, self.dtypes[0])
        if finished is result and call.outputs[0].shape:
            call.run = self.base if call.op.family == "elementwise" else self._checked
        return finished

    def _checked(self, *arrays: Any) -> Any:
        """The same once a result was well: only its order in memory may still differ."""
        result = self.base(*arrays)
        return result if result.flags.c_contiguous else self._finish(result, self.dtypes[0])

    def _finish(self, result: Any, dtype: np.dtype) -> Any:
        if getattr(result, "dtype", None) != dtype or not hasattr(result, "flags"):
            result = self.xp.asarray(result).astype(dtype)
        if not result.shape:
            return self.xp.asarray(result)
        if self.call.op.family != "elementwise" and not result.flags.c_contiguous:
            return self.xp.ascontiguousarray(result)
        return result
