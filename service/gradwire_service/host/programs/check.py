"""What can be said of a program before it runs: every name is made, every op and call fits.

Shapes are open, so ops are not run here. A placeholder stands for every tensor, which is enough to
bind arguments to an op's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from gradwire_engine.arrays import phantom_of
from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.op import Primitive
from gradwire_engine.spec import Spec, float32
from gradwire_engine.tensor import Tensor
from gradwire_service.host import control
from gradwire_service.host.calls import check_count
from gradwire_service.host.elements import WORDS
from gradwire_service.host.limits import Limits
from gradwire_service.host.programs.frame import Frame, unknown
from gradwire_service.host.protocol.calls import CallPart, CallStep, TransformStep, VmapStep
from gradwire_service.host.protocol.control import CondStep, ControlStep
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.steps import BindStep, GradStep, OpStep, RequiresGradStep
from gradwire_service.host.steps import Steps, check_names, named, works_in_place

_SPEC = Spec((), float32, "meta")
_NONE: Mapping[str, Any] = MappingProxyType({})


class _Known(Frame):
    """Names that are known to stand for something, each a placeholder."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__({}, _NONE)
        self.placeholder = Tensor(phantom_of(_SPEC), _SPEC, None)
        self.several: set[str] = set()  # names of calls that may have several results
        for name in names:
            self.add(name)

    __slots__ = ("placeholder", "several")

    def add(self, name: str) -> None:
        """From here on the name stands for a tensor."""
        self.tensors[name] = self.placeholder

    def find(self, name: str) -> Any:
        """The placeholder, where the name is known or may be one of a call's results."""
        found = self.tensors.get(name)
        if found is None:
            call, _, number = name.rpartition(".")
            if call not in self.several or not number.isdigit():
                raise unknown(name, self.tensors)
            return self.placeholder
        return found


class Check:
    """Goes through the steps of a program; then `calls`, `leaves`, `size` and `depth` are known."""

    def __init__(self, inputs: Sequence[str], find: Callable[[str], Any], limits: Limits) -> None:
        self._known = _Known(inputs)
        self._steps = Steps(self._known, {})
        self._find, self._limits = find, limits
        self._inputs = set(inputs)
        self.calls: dict[str, Any] = {}
        self.leaves: set[str] = set()
        self.size, self.depth = 0, 1

    def all(self, steps: Sequence[StepPart], lines: Sequence[int], outputs: Sequence[str]) -> None:
        """Check every step, and that the outputs are made."""
        for index, step in enumerate(steps):
            try:
                self._check(step)
            except GradwireError as problem:
                named(problem, index, step, lines)
                raise
        for name in outputs:
            if name.startswith("%"):
                raise unknown(name)
            self._known.find(name)

    def _check(self, step: StepPart) -> None:
        self.size += 1
        if isinstance(step, OpStep):
            self._op(step)
        elif isinstance(step, BindStep):
            self._known.find(step.bind)
            self._name(step.out, 1)
        elif isinstance(step, RequiresGradStep):
            self._known.find(step.requires_grad)
        elif isinstance(step, GradStep):
            self._grad(step)
        elif isinstance(step, CallStep | VmapStep):
            key = step.call if isinstance(step, CallStep) else step.vmap
            self._name(step.out, len(self._call(step, key).outputs), key)
            if isinstance(step, CallStep) and step.backward is not None:
                self._use(step.backward)
        elif isinstance(step, TransformStep):
            self._transform(step)
        elif isinstance(step, ControlStep):
            self._control(step)

    def _op(self, step: OpStep) -> None:
        name = step.op
        if step.generator is not None:
            raise error(
                "invalid_request",
                f"{name}: a program draws from the random state of the session that runs it",
                "leave generator away, or make the tensor outside and hand it in",
            )
        if name[-1] == "_" and works_in_place(name):
            self._steps.bind_in_place(step)
            return
        op = resolve(name)
        if any(type(a) is str and a[:1] == "%" and a in self._known.several for a in step.args):
            self._name(step.out, None)  # how many tensors stand there only the run can say
            return
        overload, _ = self._steps.reader.bind(op, step.args, step.kwargs)
        fixed = isinstance(overload, Primitive) and not overload.many
        self._name(step.out, len(overload.outputs) if fixed else None, name)

    def _name(self, out: Any, count: int | None, asked: str = "") -> None:
        """The names of results, `count` of them; None: that is not known yet."""
        if type(out) is str:
            self._known.several.discard(out)
            if count is None or count > 1:
                self._known.several.add(out)
            if count in (None, 1):
                self._known.add(out)
            for place in range(count or 0 if count != 1 else 0):
                self._known.add(f"{out}.{place}")
        elif out is not None:
            if count is not None:
                check_names(asked, out, count)
            for name in out:
                if name is not None:
                    self._known.several.discard(name)
                    self._known.add(name)

    def _grad(self, step: GradStep) -> None:
        asked = step.grad
        for name in (*asked.outputs, *asked.inputs):
            self._known.find(name)
        for value in asked.grad_outputs or ():
            self._operand(value)
        self.leaves.update(self._inputs.intersection(asked.inputs))
        if step.out is not None:
            self._name(step.out, len(asked.inputs), "grad")

    def _operand(self, value: Any) -> None:
        if type(value) is str and value not in WORDS:
            self._known.find(value)

    def _call(self, step: CallPart, key: str) -> Any:
        """The program that a step calls, once its arguments are seen to fit."""
        program = self.calls.get(key) or self._find(key)
        check_count("program", program, step.args)
        for value in step.args:
            self._operand(value)
        return self._use(key)

    def _use(self, key: str) -> Any:
        """Note a program that a step runs, or that runs on the way back."""
        program = self.calls.get(key) or self._find(key)
        self.calls[key] = program
        self.size += program.size
        self.depth = max(self.depth, program.depth + 1)
        return program

    def _control(self, step: ControlStep) -> None:
        programs = [self._use(key) for key in control.programs_of(step).values()]
        count = control.check(step, programs)
        if isinstance(step, CondStep):
            self._operand(step.cond)
        for value in control.given_to(step):
            self._operand(value)
        self._name(step.out, count, step.word)

    def _transform(self, step: TransformStep) -> None:
        program = self._call(step, step.call)
        for given in (step.cotangents, step.tangents, step.vector):
            for value in (given or {}).values():
                self._operand(value)
        self._name(step.out, None)
        if step.values is not None:
            self._name(list(step.values), len(program.outputs), step.call)
