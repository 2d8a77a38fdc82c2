"""What an op is: one declaration with signature, kernel, inference and derivative rules.

`Op` is a public name of the catalogue; it has one or more overloads, tried in order. An overload is
a `Primitive` (a kernel on arrays with rules of its own) or a `Composite` (a function written in
ops). Calling either on raw arrays runs it at once; on a value (Tensor, and later Batched, Symbol,
Dual) it is the value's type that says how the op applies: see `APPLY`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NoReturn

import numpy as np

from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.laid import ITERATED, Lies
from gradwire_engine.mode import local
from gradwire_engine.rule import Rules
from gradwire_engine.signature import LEAST, MOST, Mismatch, Signature, read_signature
from gradwire_engine.spec import DType, Spec
from gradwire_engine.unrecorded import refuse_complex, refuse_settled

APPLY: dict[type, Callable[[Primitive, tuple[Any, ...]], Any]] = {}
"""How an op applies to each type of value; a value type enters itself here, Tensor first.

A value has a `level`: 0 a tensor, above it what a transform wraps around others, by its depth of
nesting. Where operands are mixed, the one of the highest level decides.
"""

PRIMITIVES: dict[str, list[Primitive]] = {}
"""Every primitive by its name, also those that only rules use and the catalogue lacks."""


@cache
def _results(name: str, fields: tuple[str, ...]) -> Any:
    """The class of an op's results, which pickles find by its name and fields."""
    made = namedtuple(name, fields)  # type: ignore[misc]
    reduce = lambda self: (_again, (name, fields, tuple(self)))  # noqa: E731
    return type(name, (made,), {"__slots__": (), "__reduce__": reduce, "__module__": __name__})


def _again(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Results that a pickle tells of."""
    return _results(name, fields)._make(values)


class Inferred:
    """What inference says of a call.

    outputs: a Spec, or a tuple of them. compute: the dtype that operands are cast to (None: they
    stay as they are), but for those named in `kept`.
    """

    __slots__ = ("compute", "kept", "outputs")

    def __init__(
        self,
        outputs: Spec | tuple[Spec, ...],
        compute: DType | None = None,
        kept: tuple[str, ...] = (),
    ) -> None:
        self.outputs = outputs
        self.compute = compute
        self.kept = kept


Infer = Callable[[dict[str, Any]], Inferred]
"""From operands' specs and attributes, by parameter name, to what the call will give."""


class Overload:
    """What primitives and composites share: name, signature, documentation.

    alone: whether numbers may be all that it is applied to, as in torch.add(1, 2); see `lifted`.
    real_gradients: complex results that require grad are refused: unrecorded.py.
    """

    real_gradients = False

    def __init__(self, name: str, function: Callable[..., Any], *, skip: int) -> None:
        self.name = name
        self.function = function
        self.signature: Signature = read_signature(name, function, skip=skip)
        self.positional = self.signature.positional
        self.keywords = tuple(self.signature.by_name)[self.positional :]
        self.alone = False
        self.doc = (function.__doc__ or "").strip()
        self.__doc__ = self.doc
        self.__name__ = function.__name__
        if not self.doc:
            raise TypeError(f"op {name}: a sentence of documentation is missing")

    def __repr__(self) -> str:
        return f"<op {self.name}{self.signature}>"


class Primitive(Overload):
    """An op with a kernel and derivative rules of its own.

    kernel: `(xp, *operands, **attributes) -> array or tuple of arrays`.
    infer: the spec rule. rules: see `rule.Rules`. outputs: names of the results ("out" if one).
    exact: moves or compares elements, so halves need no detour over float32.
    view: the result shares the input's memory. fuses: elementwise, may join a fused region.
    takes: categories of dtypes, for elementwise ops. domain: the real interval in which the op is
    smooth, for tests of its derivative.
    fallible: elements can make it fail (an index out of range, a singular matrix); or a function
    that says so for some operands (Specs and Weaks).
    random: the kernel takes the generator after xp. many: results without names, in a tuple.
    linear: True, where the op is linear in all operands that have rules, taken together (cat); or
    the operands in each of which it is linear with the others fixed (a product). symmetric: the
    derivative is its own transpose. Both are for forward mode, which works without: tangents.py.
    holomorphic: of an elementwise op, false where a complex operand is conjugated on the way.
    by_strides: what a view shows depends on how the tensor lies in memory.
    batch: the rule for operands with a batch axis, where the family's does not fit: batch/rules.py.
    looks_back: torch writes it in differentiable ops, so a view that may not be used is refused.
    keeps: operands and results that are saved beside what rules ask for, as torch saves them: to
    write to one before backward is refused. keeps_result: on which operands the result is, though
    only another operand's rule has it.
    apart: operands of which torch records other ops, and how that is done here.
    itself: of operands, or their specs, whether torch's op takes each itself and not through a view
    that it makes: that of an inference tensor would require no grad, that of a leaf keeps the
    history which the leaf had.
    lies: how results lie in memory where not row-major: see laid.py.
    sheds: results in whole numbers leave the graph, where elsewhere they are refused.
    fills_in: rules get zeros for a result to which no gradient came; else None.
    any_axis_of_none: of a tensor without elements any axis may be named, there or not.
    first: looks at a call before its axes are found, and raises.
    """

    def __init__(
        self,
        name: str,
        kernel: Callable[..., Any],
        infer: Infer,
        rules: dict[str, Callable[..., Any]] | None = None,
        *,
        family: str,
        outputs: tuple[str, ...] = ("out",),
        grad_name: str | Callable[[dict[str, Any]], str] | None = None,
        formula: str | None = None,
        exact: bool = False,
        view: bool = False,
        fuses: bool = False,
        random: bool = False,
        data_dependent: bool = False,
        fallible: bool | Callable[[tuple[Any, ...]], bool] = False,
        many: bool = False,
        takes: tuple[int, ...] = (),
        domain: tuple[float, float] = (-3.0, 3.0),
        linear: bool | tuple[str, ...] = False,
        symmetric: bool = False,
        holomorphic: bool = True,
        by_strides: bool = False,
        batch: Callable[[Any], Any] | None = None,
        keeps: tuple[str, ...] = (),
        keeps_result: Callable[[tuple[Any, ...]], bool] | None = None,
        looks_back: bool = False,
        apart: tuple[Callable[..., bool], Callable[..., Any]] | None = None,
        itself: Callable[..., tuple[bool, ...]] | None = None,
        lies: Lies | None = None,
        fills_in: bool = True,
        real_gradients: bool = False,
        sheds: bool = False,
        any_axis_of_none: bool = False,
        first: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        super().__init__(name, kernel, skip=2 if random else 1)
        self.fills_in = fills_in
        self.real_gradients = real_gradients
        self.sheds = sheds
        self.kernel = kernel
        self.infer = infer
        self.family = family
        self.outputs = outputs
        self.rules = Rules(name, rules or {}, self.signature, outputs, keeps)
        self.formula = formula or getattr(rules, "formula", None)
        self.refused: bool = getattr(rules, "refused", False)  # a walk that comes to it ends
        self.exact, self.view, self.fuses = exact, view, fuses
        self.random, self.data_dependent = random, data_dependent
        self.fallible = fallible
        self.many, self.takes, self.domain = many, takes, domain
        self.linear, self.symmetric, self.by_strides = linear, symmetric, by_strides
        self.holomorphic = holomorphic
        self.batch = batch
        self.keeps_result = keeps_result
        self.looks_back = looks_back
        self.apart, self.itself = apart, itself
        self.lies = ITERATED if lies is None and family == "elementwise" else lies
        self._grad_name = grad_name or grad_fn_name(name)
        self.calls: dict[Any, Any] = {}
        self.places = self.signature.operand_places
        self.kinds = tuple(p.kind for p in self.signature.parameters)
        self.device_place = self.signature.by_name.get("device")
        self.short: tuple[int, Callable[..., Any]] | None = None  # see quick.py
        self.middle: Callable[[tuple[Any, ...]], Any] | None = None  # see quick_any.py
        self.any_axis_of_none, self.first = any_axis_of_none, first
        PRIMITIVES.setdefault(name, []).append(self)

    def grad_name(self, attributes: dict[str, Any]) -> str:
        """The name of the node this op leaves in the graph, as in torch: PowBackward0."""
        return self._grad_name if isinstance(self._grad_name, str) else self._grad_name(attributes)

    @cached_property
    def result(self) -> Callable[[Sequence[Any]], Any]:
        """What several results come in: a named tuple, or a plain one where torch has no names.

        Rules have to name such results all the same: one is then called "out", alone or numbered.
        """
        if any(name.startswith("out") for name in self.outputs):
            return tuple
        make: Callable[[Sequence[Any]], Any]
        make = _results(self.name.rpartition(".")[2], tuple(self.outputs))._make
        return make

    @property
    def differentiable(self) -> bool:
        return bool(self.rules)

    @property
    def saves(self) -> tuple[str, ...]:
        """Operands and outputs that the backward keeps."""
        return self.rules.saved_names

    def takes_itself(self, operands: Sequence[Any], place: int) -> bool:
        """Whether torch's op takes this one of the operands itself, and not a view of it."""
        return self.itself is None or self.itself(*operands)[place]

    def goes_apart(self, args: Sequence[Any]) -> bool:
        """Whether other ops are recorded for these arguments: the short ways don't know of that."""
        tensor = next(iter(APPLY))
        operands = [args[place] for place in self.places]
        if self.apart is None or not all(type(x) is tensor for x in operands):
            return False
        return self.apart[0](*operands)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.short is not None and not kwargs and len(args) == self.short[0]:
            return self.short[1](*args)
        if self.middle is None or not args or type(args[0]) not in APPLY:
            return self.dispatch(args, kwargs)
        if kwargs or len(args) != self.signature.arity:
            args = self.signature.complete(args, kwargs)
        return self.middle(args)

    def dispatch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Apply to values as their type says, or run the kernel on raw arrays.

        An op without operands makes a value of the plainest type.
        """
        if kwargs or len(args) != self.signature.arity:
            args = self.signature.complete(args, kwargs)
        if self.apart is not None and self.goes_apart(args):
            return self.apart[1](*args)
        xp = _numpy(self.places, args)
        if xp is None or self.random:
            apply = value_apply(args, self.places) if self.places else next(iter(APPLY.values()))
            if self.random and local.state.vmap is not None:
                return local.state.vmap.draw(self, args)
            if apply is not None:
                return apply(self, args)
            xp = _namespace(self, args)
        if xp is None:  # numbers alone, as in a rule's log(2): a number again
            return self.function(NAMESPACE_OF[np.ndarray], *map(np.asarray, args)).item()
        if self.keywords:
            named = dict(zip(self.keywords, args[self.positional :], strict=True))
            return self.kernel(xp, *args[: self.positional], **named)
        return self.kernel(xp, *args)


class Composite(Overload):
    """An op written in other ops: no kernel and no rules, every derivative comes with its parts.

    grad_name: what the last node is called where torch has one node for the whole.
    settled: operands that may not require grad, as torch has no derivative by them.
    """

    settled: tuple[str, ...] = ()

    def __init__(
        self, name: str, function: Callable[..., Any], *, grad_name: str | None = None
    ) -> None:
        super().__init__(name, function, skip=0)
        self.grad_name = grad_name
        self.differentiable = True
        self.saves: tuple[str, ...] = ()
        self.formula: str | None = None
        self.fuses = self.data_dependent = self.view = self.random = self.by_place = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) > self.positional:  # all in order, as `bind` gives them
            kwargs |= zip(self.keywords, args[self.positional :], strict=False)
            args = args[: self.positional]
        if self.settled:
            given = dict(zip(self.signature.by_name, args, strict=False)) | kwargs
            refuse_settled(self.name, self.settled, given)
        try:
            result = self.function(*args, **kwargs)
        except GradwireError as problem:
            problem.within(self.name)
            raise
        except IndexError as problem:  # of a tensor's shape: no kernel runs here
            raise self._too_few_axes((*args, *kwargs.values())) from problem
        except (AttributeError, TypeError) as problem:
            refused = self._number_for_tensor(args)
            if refused is None:
                raise
            try:
                raise refused from problem
            finally:
                del refused  # which leads to this frame
        if self.real_gradients and type(result) in APPLY:
            refuse_complex(self.name, (result,))
        named = self.grad_name is not None and type(result) in APPLY
        if named and not any(result is arg for arg in args):
            result.rename_node(self.grad_name)
        return result

    def _too_few_axes(self, args: Sequence[Any]) -> GradwireError:
        """The error that an operand lacks an axis which this op looks at."""
        each = (item for arg in args for item in (arg if type(arg) is tuple else (arg,)))
        shown = ", ".join(str(item.spec) for item in each if type(item) in APPLY)
        return error(
            "shape_mismatch",
            f"{self.name}: an operand has too few axes; they are {shown}",
            "give it the axes that the op works along",
            raised=IndexError,
        )

    def _number_for_tensor(self, args: Sequence[Any]) -> GradwireError | None:
        """The error that a Python number stands where this op needs a tensor, if one does."""
        slots = zip(self.signature.parameters, args, strict=False)
        wrong = [
            parameter.name
            for parameter, arg in slots
            if parameter.kind in ("tensor", "tensors")
            and any(type(item) in _NUMBERS for item in (arg if type(arg) is tuple else (arg,)))
        ]
        return needs_tensor(self.name, wrong) if wrong else None


_NUMBERS = (bool, int, float, complex)


def needs_tensor(name: str, operands: Sequence[str]) -> GradwireError:
    """What is said to a number in the place of a tensor."""
    return error(
        "invalid_argument",
        f"{name}: {', '.join(operands)} must be a tensor, it is a Python number",
        "make a tensor of it",
        raised=TypeError,
    )


_WITH_HOLES = "indices"
"""The list of tensors in which None has a meaning: an axis that is kept whole."""


def explain(problem: Exception, overload: Overload, values: Sequence[Any]) -> NoReturn:
    """Raise what a caller is told: a refusal by the op's name, for a fault what was misplaced."""
    try:
        if isinstance(problem, GradwireError):
            problem.within(overload.name)
            raise problem
        refusal = misplaced(overload, values)
        if refusal is None:
            raise problem
        raise refusal from problem
    finally:  # an exception leads to the frames that it passed, which must not lead back to it
        problem = refusal = None  # type: ignore[assignment]


def misplaced(overload: Overload, values: Sequence[Any]) -> GradwireError | None:
    """What is said after a fault if a number, or None in a list, stands in a tensor's place."""
    given = list(zip(overload.signature.parameters, values, strict=True))
    numbers = [p.name for p, v in given if p.kind == "tensor" and type(v) in _NUMBERS]
    if numbers:
        return needs_tensor(overload.name, numbers)
    lists = [(p.name, v) for p, v in given if p.kind == "tensors" and p.name != _WITH_HOLES]
    holes = [name for name, v in lists if any(item is None for item in v or ())]
    if not holes:
        return None
    return error(
        "invalid_argument",
        f"{overload.name}: {', '.join(holes)} has None among its elements",
        "leave it out, or put something in its place",
        raised=TypeError,
    )


def value_apply(
    args: Sequence[Any], places: tuple[int, ...]
) -> Callable[[Primitive, tuple[Any, ...]], Any] | None:
    """How these operands want an op applied; None when all are raw arrays and numbers."""
    chosen: Any = None
    for place in places:
        arg = args[place]
        for item in arg if type(arg) in (list, tuple) else (arg,):
            if type(item) in APPLY and (chosen is None or item.level > chosen.level):
                chosen = item
    return None if chosen is None else APPLY[type(chosen)]


def value_level(args: Sequence[Any], places: tuple[int, ...]) -> int:
    """The highest level among operands; 0 where no transform wraps any."""
    highest = 0
    for place in places:
        arg = args[place]
        for item in arg if type(arg) in (list, tuple) else (arg,):
            if type(item) in APPLY and item.level > highest:
                highest = item.level
    return highest


HOST = np.ndarray
"""What a tensor in this machine's memory has for an array."""
RAW = frozenset({HOST, bool, int, float, complex, type(None)})
"""Types of operands that NumPy's kernels take as they are."""


def _numpy(places: tuple[int, ...], args: Sequence[Any]) -> Any:
    """NumPy's namespace where the operands are its arrays, the first one too, or numbers."""
    if not places or type(args[places[0]]) is not HOST:
        return None
    for place in places:
        if type(args[place]) not in RAW:
            return None
    return NAMESPACE_OF[np.ndarray]


def _namespace(op: Primitive, args: Sequence[Any]) -> Any:
    for place in op.places:
        arg = args[place]
        for item in arg if type(arg) in (list, tuple) else (arg,):
            found = NAMESPACE_OF.get(type(item))
            if found is not None:
                return found
    if len(op.places) == len(args) and all(isinstance(a, int | float | complex) for a in args):
        return None
    raise error(
        "invalid_argument",
        f"{op.name}: there is no tensor among the operands",
        "give at least one",
        raised=ValueError if op.name == "cat" else RuntimeError,  # as torch has it
    )


def grad_fn_name(name: str) -> str:
    """torch's node name for an op's name: log_softmax: LogSoftmaxBackward0, log1p: Log1P…"""
    last = name.removeprefix("nn.functional.").replace(".", "_")
    return last.title().replace("_", "") + "Backward0"


def numbers_alone(overload: Overload, values: Sequence[Any]) -> bool:
    """Whether all operands are numbers, of which a tensor can't be told to come."""
    places = overload.signature.operand_places
    return bool(places) and all(type(values[place]) in _NUMBERS for place in places)


def lifted(overload: Overload, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with scalar tensors for their numbers, where torch makes them too."""
    if not overload.alone:
        raise error(
            "invalid_argument",
            f"{overload.name}: there is no tensor among the operands, only numbers",
            "make a tensor of at least one",
            raised=TypeError,
        )
    state, tensor = local.state, next(iter(APPLY))
    found = list(values)
    for place in overload.signature.operand_places:
        dtype = state.weak[type(values[place])].dtype.numpy
        found[place] = tensor.of(np.asarray(values[place], dtype), device=state.device)  # type: ignore[attr-defined]
    return tuple(found)


class Op:
    """A public op: its name, aliases, overloads, and what the catalogue says of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.aliases: list[str] = []
        self.overloads: list[Primitive | Composite] = []
        self.inplace = False
        self.general: Callable[..., Any] = lambda *args, **kwargs: self.bound(args, kwargs)
        """How any arguments are taken: see prepared.py."""
        self.way = self.general
        """The op itself, or `general` where there is no short way to try first."""
        self.operands, self.quick, self.numbers = -1, self.general, False
        """How many tensors the first overload's short way takes; that way; and whether the second
        of them may be a number."""
        self.kind: type = type(None)
        """The type of these tensors."""
        self.of_one: Callable[[Any], Any] | None = None
        """The op on one tensor and nothing else; None where `way` has to be taken."""
        self.of_two: Callable[[Any, Any], Any] | None = None
        """The op on two tensors, or a tensor and a float; None where `way` has to be taken."""

    @property
    def doc(self) -> str:
        return self.overloads[0].doc

    @property
    def signatures(self) -> list[Signature]:
        return [overload.signature for overload in self.overloads]

    @property
    def formula(self) -> str | None:
        """The derivative as a formula; None where the op is made of others or has none."""
        return next((o.formula for o in self.overloads if o.formula), None)

    @property
    def saves(self) -> tuple[str, ...]:
        return self.overloads[0].saves

    @property
    def fuses(self) -> bool:
        return all(o.fuses for o in self.overloads)

    @property
    def data_dependent(self) -> bool:
        """Whether the result's shape depends on data."""
        return any(o.data_dependent for o in self.overloads)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """The first overload that these arguments fit, and the arguments in its order."""
        reasons = []
        for overload in self.overloads:
            try:
                return overload, overload.signature.bind(args, kwargs)
            except Mismatch as mismatch:
                reasons.append(str(mismatch))
        wanted = " or ".join(f"{self.name}{o.signature}" for o in self.overloads)
        raise error(
            "invalid_argument",
            f"{self.name}: {'; '.join(dict.fromkeys(reasons))}",
            f"the signature is {wanted}",
            raised=TypeError,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kind = self.kind
        if len(args) == self.operands and type(args[0]) is kind and not kwargs:
            quick = self.quick
            try:
                if self.operands == 1:
                    return quick(args[0])
                first, second = args
                other = type(second)
                if other is kind or (
                    self.numbers and (other is float or (other is int and LEAST <= second <= MOST))
                ):
                    return quick(first, second)
            except GradwireError as problem:
                overload = self.overloads[0]
                explain(problem, overload, overload.signature.complete(args, {}))
        return self.general(*args, **kwargs)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Bind the arguments and apply the overload that they fit."""
        return self.apply(*self.bind(args, kwargs))

    def apply(self, overload: Any, values: tuple[Any, ...]) -> Any:
        """Apply an overload to arguments that are bound to it."""
        if numbers_alone(overload, values):
            values = lifted(overload, values)
        try:
            return overload(*values)
        except (GradwireError, AttributeError, TypeError) as problem:
            explain(problem, overload, values)

    def __repr__(self) -> str:
        return f"<op {self.name}, {len(self.overloads)} overload(s)>"
