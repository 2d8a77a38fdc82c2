"""A custom function's forward and backward, called once and written down as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradwire.autograd.context import FunctionCtx
from gradwire.faults import Fault
from gradwire.tensor import Tensor
from gradwire.trace import Trace
from gradwire.wire import tensors_in
from gradwire.within import within
from gradwire_engine.arrays import phantom
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

    outputs: what it gave, tensors and whatever else; single: whether not in a tuple.
    """

    def __init__(self, session: Any, used: Used, args: tuple[Any, ...]) -> None:
        self.used = used
        self.given = [session.lifted(a) if isinstance(a, Tensor) else a for a in args]
        self.trace = Trace(session, f"{used.name}.forward")
        enter = self.trace.enter
        inside = [enter(a, a.shape) if isinstance(a, Tensor) else a for a in self.given]
        needs = tuple([isinstance(a, Tensor) and a.requires_grad for a in self.given])
        self.ctx = FunctionCtx(needs)
        found = self._called(inside)
        self.single = not isinstance(found, tuple)
        self._finish([found] if self.single else list(found))

    def __del__(self) -> None:
        self.trace.release()

    def _called(self, args: Sequence[Any]) -> Any:
        with self.trace.here(), within(grad=False):
            found = self.used.run(self.ctx, args)
            self.ctx.check_saved()
        return found

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

    fault: what it raised, which is raised where a walk comes to it.
    """

    def __init__(self, forward: Forward) -> None:
        self.forward = forward
        self.fault: Fault | None = None
        self.found: tuple[Any, ...] = ()
        self.trace = _Inside(forward)
        self.gradients = [
            _gradient(self.trace, o) if isinstance(o, Tensor) else None for o in forward.outputs
        ]
        try:
            self.found = self._called()
        except Exception as problem:  # whatever the user's Python raises
            self.fault = Fault(f"{forward.used.name}.backward", problem)

    def __del__(self) -> None:
        self.trace.release()

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
        several = sum(map(self._flows, self.forward.outputs)) > 1
        return self.forward.ctx.materialize_grads or several

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
