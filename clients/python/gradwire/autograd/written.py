"""A custom function's forward and backward, called once and written down as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradwire.autograd.context import FunctionCtx
from gradwire.faults import Fault
from gradwire.tensor import Tensor
from gradwire.trace import Trace, taken_apart
from gradwire.wire import tensors_in
from gradwire.within import within
from gradwire_engine.arrays import phantom
from gradwire_engine.errors import GradwireError
from gradwire_engine.ops.cast import clone
from gradwire_engine.tensor import Tensor as Meta


class Used(NamedTuple):
    """A subclass of Function, as it is used. setup: its setup_context, if it has one."""

    name: str
    forward: Callable[..., Any]
    setup: Callable[..., Any] | None
    backward: Callable[..., Any]
    once_differentiable: bool

    def run(self, ctx: FunctionCtx, args: Sequence[Any]) -> Any:
        """What forward gives, with all on ctx that backward needs."""
        if self.setup is None:
            found = self.forward(ctx, *args)
        else:
            found = self.forward(*args)
            self.setup(ctx, tuple(args), found)
        return found

    def check(self, outputs: Sequence[Any]) -> None:
        """Tensors are given by themselves, and not in anything."""
        for output in outputs:
            if not isinstance(output, Tensor) and [*tensors_in([output])]:
                raise TypeError(
                    f"{self.name}.forward has to give a tensor or a tuple with tensors, not "
                    f"tensors in a {type(output).__name__}"
                )


class Forward:
    """The forward, written down. given: the arguments; inside: as the program has them.

    outputs: what it gave, tensors and whatever else; single: whether not in a tuple. One that looks
    at values can't be written down: embedded it runs there and then, and the program takes what it
    made.
    """

    def __init__(self, session: Any, used: Used, args: tuple[Any, ...]) -> None:
        self.used, self.session = used, session
        self.given = [_of(session, arg) for arg in args]
        self._begin()
        try:
            found = self._called(self.trace, self.inside)
        except GradwireError as problem:
            if problem.code != "untraceable" or not runs_as_python(session):
                raise
            self.trace.release()
            self._begin()
            found = self._called(session, self.given)
            self._take_over(found)
        self.single = not isinstance(found, tuple)
        self._finish([found] if self.single else list(found))

    def __del__(self) -> None:
        self.trace.release()

    def _begin(self) -> None:
        self.trace = Trace(self.session, f"{self.used.name}.forward")
        enter = self.trace.enter
        self.inside = [enter(a, a.shape) if isinstance(a, Tensor) else a for a in self.given]
        needs = tuple([isinstance(a, Tensor) and a.requires_grad for a in self.given])
        self.ctx = FunctionCtx(needs)

    def _called(self, where: Any, args: Sequence[Any]) -> Any:
        with where.here(), within(grad=False):
            found = self.used.run(self.ctx, args)
            self.ctx.check_saved()
        return found

    def _take_over(self, found: Any) -> None:
        """What ran already comes into the program: arguments as they are, results as copies."""
        for arg, inside in zip(self.given, self.inside, strict=True):
            if isinstance(arg, Tensor):
                self.trace.stand_in(arg, inside)
        with self.trace.here(), within(grad=False):
            for output in found if isinstance(found, tuple) else (found,):
                if isinstance(output, Tensor) and all(output is not arg for arg in self.given):
                    self.trace.stand_in(output, self.trace.placeholder(output).clone())

    def _finish(self, outputs: Sequence[Any]) -> None:
        self.used.check(outputs)
        ctx, lifted = self.ctx, self.trace.lifted
        self.outputs = [lifted(o) if isinstance(o, Tensor) else o for o in outputs]
        ctx.dirty_tensors = tuple(lifted(ctx.dirty_tensors))
        ctx.non_differentiable = tuple(lifted(ctx.non_differentiable))

    @property
    def tensors(self) -> list[Tensor]:
        """The outputs that are tensors."""
        return [o for o in self.outputs if isinstance(o, Tensor)]

    def body(self, outputs: Sequence[str]) -> dict[str, Any]:
        """The program."""
        inputs = [name for name, _ in self.trace.inputs]
        return {"inputs": inputs, "ops": self.trace.steps, "outputs": list(outputs)}


def runs_as_python(session: Any) -> bool:
    """Whether a function that can't be written down may run: where the host is this process."""
    return not isinstance(session, Trace) and session.transport.url == "embedded"


def _of(session: Any, arg: Any) -> Any:
    """An argument where the function is used, which may be inside of another one."""
    inside = isinstance(session, Trace) and isinstance(arg, Tensor)
    return session.lifted(arg) if inside else arg


class _Inside(Trace):
    """A backward under way: outputs of the forward that it meets are in the graph."""

    in_backward = True

    def __init__(self, forward: Forward) -> None:
        super().__init__(forward.trace, f"{forward.used.name}.backward")
        constant = [id(t) for t in forward.ctx.non_differentiable]
        self.results = {id(t) for t in forward.tensors} - set(constant)

    def placeholder(self, tensor: Tensor) -> Tensor:
        found = self._captured.get(id(tensor))
        if found is None:
            wanted = tensor.requires_grad or id(tensor) in self.results
            found = self._captured[id(tensor)] = self.enter(tensor, tensor.shape, wanted)
        return found


class Backward:
    """The backward, written down. found: the gradients that it gave, as it gave them.

    fault: what it raised, which is raised where a walk comes to it. as_python: whether it looks at
    values, and runs in the walk.
    """

    def __init__(self, forward: Forward) -> None:
        self.forward = forward
        self.fault: Fault | None = None
        self.found: tuple[Any, ...] = ()
        self.as_python = False
        self.kept_alive: Any = None  # until the graph holds it
        self._begin()
        try:
            self.found = self._called()
        except Exception as problem:  # whatever the user's Python raises
            code = problem.code if isinstance(problem, GradwireError) else ""
            if code == "untraceable" and runs_as_python(forward.session):
                self._leave_to_python()
            else:
                self.fault = Fault(f"{forward.used.name}.backward", problem)

    def __del__(self) -> None:
        self.trace.release()

    def _begin(self) -> None:
        self.trace = _Inside(self.forward)
        self.gradients = [
            _gradient(self.trace, o) if isinstance(o, Tensor) else None
            for o in self.forward.outputs
        ]

    def _leave_to_python(self) -> None:
        """It will run in the walk: all on ctx is kept; of what it gives only specs are known."""
        self.as_python = True
        self.forward.ctx.unpack(())
        self.trace.release()
        self._begin()
        for value in list(vars(self.forward.ctx).values()):
            taken_apart(value, self.trace.lifted)
        self.found = tuple([self._unknown(arg) for arg in self.forward.given])

    def _unknown(self, arg: Any) -> Tensor | None:
        if not isinstance(arg, Tensor) or not arg.requires_grad:
            return None
        meta = Meta.of(phantom(tuple(arg.shape), arg.dtype.numpy), device="meta")
        return Tensor(self.trace, meta)  # type: ignore[arg-type]

    def _called(self) -> tuple[Any, ...]:
        ctx = self.forward.ctx
        with self.trace.here(), within(grad=True, inference=False):
            ctx.unpack([None if t is None else self.trace.lifted(t) for t in ctx.to_save])
            found = self.forward.used.backward(ctx, *self._handed())
            several = found if isinstance(found, tuple) else (found,)
            return tuple([self.trace.lifted(g) if isinstance(g, Tensor) else g for g in several])

    def _handed(self) -> list[Tensor | None]:
        """The gradients as the user gets them: outputs that never have one show so if asked for."""
        if self.forward.ctx.materialize_grads:
            return self.gradients
        results = zip(self.forward.outputs, self.gradients, strict=True)
        return [g if self._flows(output) else None for output, g in results]

    def _flows(self, output: Any) -> bool:
        constant = self.forward.ctx.non_differentiable
        differentiable = isinstance(output, Tensor) and output.dtype.differentiable
        return differentiable and all(output is not t for t in constant)

    @property
    def fills_in(self) -> bool:
        """Whether zeros stand for gradients that are absent.

        What is written down holds for one set of gradients, so that of several outputs those
        without one count as zeros also where forward asked for None.
        """
        if self.forward.ctx.materialize_grads:
            return True
        return not self.as_python and sum(map(self._flows, self.forward.outputs)) > 1

    @property
    def inputs(self) -> list[Tensor | None]:
        """The placeholders: of what is saved, None for constants, then of the gradients."""
        inside = {t._name: t for t in self.trace.held if belongs(t, self.trace)}
        saved = [inside.get(name) for name, _ in self.trace.inputs]
        return [*saved, *[g for g in self.gradients if g is not None]]

    @property
    def kept(self) -> dict[str, Tensor]:
        """What the forward keeps, in order, by the forward's names.

        Nothing where it raised before it asked for that: it never sees whether that was written.
        """
        if self.fault is not None and not self.forward.ctx.asked:
            return {}
        return {tensor._name: tensor for _, tensor in self.trace.inputs}

    def of_tensors(self) -> list[Any]:
        """The gradients of those arguments that are tensors."""
        pairs = zip(self.forward.given, self.found, strict=False)
        return [g for arg, g in pairs if isinstance(arg, Tensor)]

    def body(self, outputs: Sequence[Tensor]) -> dict[str, Any]:
        """The program."""
        names = distinct(self.trace, outputs)
        inputs = [name for name, _ in self.trace.inputs]
        inputs += [g._name for g in self.gradients if g is not None]
        return {"inputs": inputs, "ops": self.trace.steps, "outputs": names}


def _gradient(trace: Trace, output: Tensor) -> Tensor:
    """What stands for the gradient of an output: no leaf, so that it may be written in place."""
    meta = Meta.of(phantom(tuple(output.shape), output.dtype.numpy), device="meta")
    if output.dtype.differentiable:
        meta = clone(meta.requires_grad_())
    made = Tensor(trace, meta)  # type: ignore[arg-type]
    trace.held.append(made)
    return made


def belongs(tensor: Tensor, trace: Trace) -> bool:
    """Whether a tensor is one of this trace's own."""
    session: Any = tensor.session
    return session is trace


def distinct(trace: Trace, tensors: Sequence[Tensor]) -> list[str]:
    """Names of results, each once: a second one is given the same tensor under another name."""
    names: list[str] = []
    for tensor in tensors:
        name = tensor._name
        if name in names:
            name = trace.new_name()
            trace.steps.append({"op": "positive", "args": [tensor._name], "out": name})
        names.append(name)
    return names


__all__ = ["Backward", "Forward", "Used", "belongs", "distinct"]
