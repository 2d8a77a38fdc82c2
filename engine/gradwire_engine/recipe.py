"""What a node keeps of a call: which operands and results to save, and which rules to run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gradwire_engine.rule import Rule
from gradwire_engine.signature import parameter_names
from gradwire_engine.spec import Spec

if TYPE_CHECKING:
    from gradwire_engine.call import Call


class Span:
    """Where an operand stands among the flat operands of a call."""

    __slots__ = ("many", "name", "start", "stop")

    def __init__(self, name: str, start: int, stop: int, many: bool) -> None:
        self.name, self.start, self.stop, self.many = name, start, stop, many


class Recipe:
    """How a node of this call is made and walked.

    It keeps what the rules to run need, and as torch what several of its rules do, whether they
    run or not: also where nothing needs one, yet a node is there (of a view made in no_grad).

    saved: flat operand positions to save, outputs as ~index; rules: `Step`s to run. fault: makes
    the exception that one of them is known to raise, whatever comes.
    """

    fault: Callable[[], Exception] | None = None

    __slots__ = (
        "call",
        "gradient_bytes",
        "gradient_flops",
        "half",
        "needs",
        "plain",
        "saved",
        "simple",
        "steps",
    )

    def __init__(self, call: Call, needs: tuple[bool, ...]) -> None:
        self.call, self.needs = call, needs
        rules = call.op.rules
        by_name = {span.name: span for span in call.spans}
        wanted = [
            rule
            for rule in rules.all()
            if rule is rules.joint
            or call.op.refused  # a walk ends there, wherever it was to go on to
            or any(needs[by_name[rule.operand].start : by_name[rule.operand].stop])
        ]
        places: dict[str, list[int]] = {}
        names = [n for rule in wanted for n in rule.saved] + list(rules.common)
        for name in names:
            if name in by_name:
                places[name] = list(range(by_name[name].start, by_name[name].stop))
            else:
                places[name] = [~call.op.outputs.index(name)]
        if call.op.keeps_result is not None and call.op.keeps_result(call.inputs):
            places.setdefault("out", [~0])
        self.saved: tuple[int, ...] = tuple(p for found in places.values() for p in found)
        index = {place: i for i, place in enumerate(self.saved)}
        self.steps = tuple(
            self._step(rule, by_name, places, index) for rule in wanted if self._gives(rule)
        )
        specs = [s for s in call.inputs if isinstance(s, Spec)]
        self.gradient_bytes = sum(
            spec.nbytes
            for spec, needed in zip(call.inputs, needs, strict=True)
            if needed and isinstance(spec, Spec)
        )
        # each gradient about as much as the op: so it is for products, and for what has elements
        self.gradient_flops = call.flops * sum(needs)
        self.half = not call.op.exact and any(s.dtype.half for s in (*specs, *call.outputs))
        self.plain = call.single and not self.half and all(s.plain for s in self.steps)
        self.simple = self.plain and len(self.steps) == 1 and len(self.saved) <= 1
        self.simple = self.simple and len(self.saved) == len(self.steps[0].arguments)

    def _gives(self, rule: Rule) -> bool:
        """Whether anything comes of a rule in this call; what it saves is kept all the same."""
        if rule.nothing is None:
            return True
        named = {name: self.call.static(name, self.needs) for name in parameter_names(rule.nothing)}
        return not rule.nothing(**named)

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
