"""What each kind of step does to a session; a model has checked each step before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from gradwire_engine import backward as reverse
from gradwire_engine.catalogue import inplace_twin, resolve
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.inplace import run
from gradwire_engine.mode import local, using
from gradwire_engine.op import explain
from gradwire_engine.random import Generator
from gradwire_engine.spec import DTYPES
from gradwire_engine.tensor import Tensor
from gradwire_engine.zero_grad import zero_grad
from gradwire_service.host import calls, control, hooks, optimizers, source
from gradwire_service.host.arguments import Reader
from gradwire_service.host.elements import WORDS, Array
from gradwire_service.host.literals import placed
from gradwire_service.host.posted import Posted
from gradwire_service.host.protocol import from_source
from gradwire_service.host.protocol.calls import CallStep, TransformStep, VmapStep
from gradwire_service.host.protocol.control import CondStep, ScanStep, WhileStep
from gradwire_service.host.protocol.hooks import EdgeStep, HookStep, UnhookStep
from gradwire_service.host.protocol.optimizers import AdvanceStep, ClipStep, OptimizerStep
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.steps import (
    BackwardStep,
    BindStep,
    DetachStep,
    FreeStep,
    GradStep,
    OpStep,
    RenameStep,
    RequiresGradStep,
    RetainGradStep,
    SeedStep,
    SetGradStep,
    TensorStep,
    ZeroGradStep,
)
from gradwire_service.host.protocol.walks import BackwardFields, GradFields
from gradwire_service.host.scope import Callee, Scope
from gradwire_service.host.several import spread

_LONGEST = 128
_NO_TENSORS = (bool, int, float, complex, type(None))


_WORTH_KEEPING, _FEW = 4096, 64
"""Characters of source text, and names beside it, up to which its steps are kept for next time."""


def _read(
    text: str, max_length: int, max_steps: int, names: Collection[str]
) -> tuple[Sequence[StepPart], Sequence[int]]:
    parsed = source.read(text, max_length=max_length, max_steps=max_steps, names=names)
    return Posted(from_source(parsed.steps)), parsed.lines


_read_before = lru_cache(maxsize=1024)(_read)
"""The same for a text that may come again and again; steps are never written to."""


class Steps:
    """Does the steps of one request in one session, or of one run of a program."""

    __slots__ = (
        "absent", "index", "lines", "profile", "reader", "session", "several", "spent",
        "temporaries",
    )  # fmt: skip

    def __init__(self, session: Scope, arrays: Mapping[str, Array]) -> None:
        self.session = session
        self.reader = Reader(session, arrays)
        self.lines: Sequence[int] = ()
        self.temporaries: list[str] = []
        self.several: dict[str, list[str]] = {}
        self.absent: set[str] = set()
        self.index = 0
        self.spent = 0  # steps of programs that were called
        self.profile = local.state.profile

    def written(self, text: str, max_steps: int) -> Sequence[StepPart]:
        """The steps that source text stands for; `lines` then has the line of each."""
        length, names = self.session.limits.source_length, self.session.tensors
        if len(text) > _WORTH_KEEPING or len(names) > _FEW:
            steps, self.lines = _read(text, length, max_steps, names)
        else:
            steps, self.lines = _read_before(text, length, max_steps, frozenset(names))
        return steps

    def do(self, index: int, step: StepPart) -> None:
        """Do one step; `index` is its number in the request."""
        self.index = index
        self.session.meter.tick()
        if self.profile is None:
            DO[type(step)](self, step)
        else:
            kind, name = ("op", step.op) if isinstance(step, OpStep) else ("step", step.word)
            self.profile.timed(kind, name, DO[type(step)], self, step)

    def spend(self, program: Callee) -> None:
        """Bound what a short request can grow to: nodes take memory that nobody counts."""
        self.spent += program.size
        limit = self.session.limits.request_size
        if self.spent > limit:
            raise error(
                "limit_exceeded",
                f"the programs called in this request come to {self.spent} steps, and the limit "
                f"is {limit}",
                "call them in several requests",
            )

    def bind(self, name: str, tensor: Tensor) -> None:
        """Give a result its name."""
        if name[0] == "%":
            self.temporaries.append(name)
        if self.absent:
            self.absent.discard(name)
        self.session.bind(name, tensor)

    def tensor(self, step: TensorStep) -> None:
        dtype = None if step.dtype is None else DTYPES[step.dtype]
        try:
            made = self.reader.literal(
                step.value, dtype=dtype, prefer_default=step.requires_grad,
                requires_grad=step.requires_grad,
            )  # fmt: skip
        except GradwireError as problem:
            raise placed(problem, step.tensor) from problem.__cause__
        self.bind(step.tensor, made)

    def op(self, step: OpStep) -> None:
        if step.generator is None:
            self._apply(step)
        else:
            _check_draws(step)
            given = step.generator
            with using(generator=Generator(given.seed, given.draws)):
                self._apply(step)

    def _apply(self, step: OpStep) -> None:
        if self.several:
            meant = spread(step, self.several)
            if isinstance(meant, BindStep):
                self.another_name(meant)
                return
            step = meant
        name = step.op
        if name[-1] == "_" and works_in_place(name):
            run(name, *self.bind_in_place(step))
            return
        self.session.origins.mark(self.index, step.out)
        overload, values = self.reader.bind(resolve(name), step.args, step.kwargs)
        try:
            result = overload(*values)
        except (GradwireError, AttributeError, TypeError) as problem:
            explain(problem, overload, values)
        self.name_results(name, step.out, result)

    def bind_in_place(self, step: OpStep) -> tuple[Any, tuple[Any, ...]]:
        """The overload of an in-place op, and its arguments, the tensor that is written first."""
        if step.out is not None:
            raise error(
                "invalid_request",
                f"{step.op}: it writes to its first tensor, and out is {step.out!r}",
                "leave out away, or use the op without the underscore",
            )
        written = step.args[0] if step.args else None
        self.session.origins.mark(self.index, written)
        op = inplace_twin(step.op)
        if op is None:
            resolve(step.op.removesuffix("_"))
            raise error(
                "op_not_found", f"{step.op}: this op has no in-place form", "name its result by out"
            )
        overload, values = self.reader.bind(op, step.args, step.kwargs)
        if type(written) is not str or type(values[0]) in _NO_TENSORS:
            raise error(
                "invalid_argument",
                f"{step.op}: the first argument has to name the tensor that is written",
                "name a tensor",
                raised=TypeError,
            )
        return overload, values

    def name_results(self, asked: str, out: str | list[str | None] | None, result: Any) -> None:
        """Bind a result, or each of several, to what `out` says; `asked` is for error texts."""
        several = type(result) is not Tensor and isinstance(result, tuple | list)
        if type(out) is str:
            if not several:
                self.bind(out, result)
            else:
                names = [f"{out}.{i}" for i in range(len(result))]
                self._bind_all(names, result)
                if out[0] == "%":
                    self.several[out] = names
        elif out is not None:
            results = result if several else (result,)
            check_names(asked, out, len(results))
            self._bind_all(cast(Sequence[str | None], out), results)

    def _bind_all(self, names: Sequence[str | None], results: Sequence[Tensor | None]) -> None:
        """Give results their names; the name of one that is absent stands for nothing."""
        for name, result in zip(names, results, strict=True):
            if name is None:
                continue
            if len(name) > _LONGEST:
                raise error(
                    "invalid_request",
                    f"out: {name[:20]}… gets longer than {_LONGEST} characters",
                    "use a shorter name",
                )
            if result is None:
                self.session.unbind(name)
                self.absent.add(name)
            else:
                self.bind(name, result)

    def grad(self, step: GradStep) -> None:
        gradients = self.gradients(step.grad)
        if step.out is not None:
            self.name_gradients(step.out, gradients)

    def name_gradients(
        self, names: Sequence[str | None], gradients: Sequence[Tensor | None]
    ) -> None:
        """Bind gradients to names; a name whose gradient is absent then stands for nothing."""
        if len(names) != len(gradients):
            raise error(
                "invalid_request",
                f"out: {len(names)} names for {len(gradients)} inputs",
                "give a name or null for each input",
            )
        self._bind_all(names, gradients)

    def gradients(self, asked: GradFields) -> list[Tensor | None]:
        """What a grad step, or a request of its own, asks for; in the order of inputs."""
        find = self.session.find
        if asked.create_graph:
            self.session.origins.mark(self.index, None)
        outputs = [find(name) for name in asked.outputs]
        inputs = [find(name) for name in asked.inputs]
        return reverse.grad(
            outputs,
            inputs,
            self._cotangents("grad_outputs", asked.grad_outputs, outputs),
            asked.retain_graph,
            asked.create_graph,
            asked.allow_unused,
            asked.materialize_grads,
            names=asked.inputs,
            is_grads_batched=asked.is_grads_batched,
            output_names=asked.outputs,
        )

    def run_backward(self, asked: BackwardFields) -> None:
        """Accumulate gradients, for a step or a request of its own."""
        find = self.session.find
        if asked.create_graph:
            self.session.origins.mark(self.index, None)
        tensors = [find(name) for name in asked.tensors]
        reverse.backward(
            tensors,
            self._cotangents("grad_tensors", asked.grad_tensors, tensors),
            asked.retain_graph,
            asked.create_graph,
            None if asked.inputs is None else [find(name) for name in asked.inputs],
            names=asked.inputs,
            output_names=asked.tensors,
        )

    def _cotangents(
        self, field: str, given: list[Any] | None, outputs: list[Tensor]
    ) -> list[Tensor | None] | None:
        if given is None:
            return None
        if len(given) != len(outputs):
            raise error(
                "invalid_argument",
                f"{field}: {len(given)} for {len(outputs)} outputs",
                "give one for each output, null standing for 1 at a scalar",
            )
        found = []
        for index, (g, x) in enumerate(zip(given, outputs, strict=True)):
            try:
                found.append(self.reader.cotangent(g, x))
            except GradwireError as problem:
                raise placed(problem, f"{field}[{index}]") from problem.__cause__
        return found

    def zero_grad(self, step: ZeroGradStep) -> None:
        tensors = self.session.tensors
        names = list(tensors) if step.zero_grad == "all" else step.zero_grad
        for name in names:
            tensor = tensors.get(name)
            if tensor is None:
                raise self.session.missing(name)
            zero_grad(tensor, step.set_to_none)

    def set_grad(self, step: SetGradStep) -> None:
        owner = self.session.find(step.set_grad)
        value = step.value
        if value is None:
            owner.set_grad(None)
        elif type(value) is str and value not in WORDS:
            owner.set_grad(self.session.find(value))
        else:
            dtype = owner.dtype
            default = dtype if dtype.is_floating_point else None
            try:
                made = self.reader.literal(value, default=default, prefer_default=True)
            except GradwireError as problem:
                raise placed(problem, f"{step.set_grad}.grad") from problem.__cause__
            owner.set_grad(made)

    def free(self, step: FreeStep) -> None:
        for name in step.free:
            if name not in self.session.tensors and not optimizers.forget(self, name):
                raise self.session.missing(name)
            self.session.unbind(name)

    def rename(self, step: RenameStep) -> None:
        tensors, found = self.session.tensors, {}
        for old, new in step.rename.items():
            if new in found or (new in tensors and new not in step.rename):
                raise error(
                    "invalid_argument",
                    f"rename: {old!r} would be called {new!r}, as another tensor is",
                    "choose another name, or free that one or rename it in the same step",
                )
            if old not in tensors:
                raise self.session.missing(old)
            found[new] = tensors[old]
        for old in step.rename:
            self.session.unbind(old)
        for new, tensor in found.items():
            self.session.bind(new, tensor)

    def another_name(self, step: BindStep) -> None:
        self.bind(step.out, self.session.find(step.bind))

    def drop_temporaries(self) -> None:
        """Forget what nested expressions of source text were called."""
        for name in self.temporaries:
            self.session.unbind(name)
        self.temporaries.clear()
        self.several.clear()


def check_names(asked: str, out: Sequence[Any], count: int) -> None:
    """Refuse an `out` that names more or fewer results than there are."""
    if len(out) != count:
        raise error(
            "invalid_argument",
            f"{asked}: it gives {count} results, out names {len(out)}",
            "give one name or null for each, or one name p for p.0, p.1, …",
        )


def named(
    problem: GradwireError, index: int, step: StepPart, lines: Sequence[int]
) -> GradwireError:
    """The error of a step, which says which one it was."""
    if lines:
        source.name_line(problem, lines[index])
    problem.step = index
    problem.op = step.op if isinstance(step, OpStep) else None
    return problem


def _check_draws(step: OpStep) -> None:
    """Refuse a random state for an op that draws nothing."""
    op = inplace_twin(step.op) or resolve(step.op)
    if not any(overload.random for overload in op.overloads):
        raise error(
            "invalid_argument",
            f"{step.op}: it draws no random numbers, and generator is given",
            "leave generator away",
        )


def works_in_place(name: str) -> bool:
    """Whether a name that ends in _ is an in-place op's, and not one like __and__."""
    return name[-2:] != "__" or inplace_twin(name) is not None


DO: dict[type[StepPart], Callable[[Steps, Any], None]] = {
    TensorStep: Steps.tensor,
    OpStep: Steps.op,
    GradStep: Steps.grad,
    BackwardStep: lambda steps, step: steps.run_backward(step.backward),
    ZeroGradStep: Steps.zero_grad,
    SetGradStep: Steps.set_grad,
    RequiresGradStep: lambda steps, step: steps.session.require_grad(
        step.requires_grad, step.value
    ),
    RetainGradStep: lambda steps, step: steps.session.find(step.retain_grad).retain_grad(),
    DetachStep: lambda steps, step: steps.bind(step.out, steps.session.find(step.detach).detach()),
    SeedStep: lambda steps, step: steps.session.generator.restart(step.seed, step.draws),
    FreeStep: Steps.free,
    RenameStep: Steps.rename,
    BindStep: Steps.another_name,
    CallStep: calls.call,
    OptimizerStep: optimizers.optimizer,
    AdvanceStep: optimizers.advance,
    ClipStep: optimizers.clip,
    TransformStep: calls.transform,
    VmapStep: calls.over_batch,
    CondStep: control.run,
    ScanStep: control.run,
    WhileStep: control.run,
    HookStep: hooks.hook,
    UnhookStep: hooks.unhook,
    EdgeStep: hooks.edge,
}
"""What does a step, by its kind."""
