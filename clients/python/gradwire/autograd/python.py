"""A backward that looks at values, as the host in this process runs it: the user's Python itself.

What comes from the walk is handed to it in a session of its own, so that nothing enters the one
that is at work. What it gives is arrays, without history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from gradwire.autograd.context import FunctionCtx
from gradwire.autograd.written import Backward
from gradwire.faults import Fault
from gradwire.leaf import leaf
from gradwire.session import Session
from gradwire.tensor import Tensor
from gradwire.trace import restored, taken_apart
from gradwire_engine.arrays import backend
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import State, local
from gradwire_engine.reading import zeros
from gradwire_engine.spec import Spec
from gradwire_engine.tensor import Tensor as Value

_numbers = count(1)


class PythonBackward:
    """A program to the host. wanted: for each argument of the forward whether it has a gradient."""

    size = 1

    def __init__(self, backward: Backward) -> None:
        forward = backward.forward
        self.id = f"python_{next(_numbers)}"
        self.name, self._function = forward.used.name, forward.used.backward
        self._outer = forward.session
        self._wanted = [None if g is None else g._meta.spec for g in backward.found]
        self._gradients = [g is not None for g in backward.gradients]
        self.outputs = [f"g{i}" for i, wanted in enumerate(self._wanted) if wanted is not None]
        self._ctx = forward.ctx
        places = {name: place for place, (name, _) in enumerate(backward.trace.inputs)}
        self._attributes: dict[str, tuple[Any, list[int]]] = {}
        for name, value in vars(forward.ctx).items():
            found: list[Tensor] = []
            structure = taken_apart(value, found.append)
            inside = [places[backward.trace.lifted(t)._name] for t in found]
            self._attributes[name] = (structure, inside)
        self.inputs = [*places, *[f"g{i}" for i in range(sum(self._gradients))]]

    def also(self, names: Sequence[str]) -> PythonBackward:
        """It has no names of its own."""
        return self

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The gradients, from what was saved and the gradients of the results."""
        if local.state.grad and any(v is not None and v.requires_grad for v in values):
            raise error(
                "untraceable",
                f"{self.name}.backward looks at values: it can't be recorded for create_graph",
                "write it in ops alone (torch.where, clamp, …)",
            )
        with _apart(self._outer) as session:
            given = [None if v is None else leaf(session, v.numpy()) for v in values]
            found = self._called(given)
            listed = found if isinstance(found, tuple) else (found,)
            return tuple(self._own(listed))

    def _called(self, given: Sequence[Any]) -> Any:
        ctx = FunctionCtx(self._ctx.needs_input_grad)
        for name, (structure, places) in self._attributes.items():
            setattr(ctx, name, restored(structure, iter([given[place] for place in places])))
        ctx.unpack(ctx.to_save)
        gradients = iter(given[len(given) - sum(self._gradients) :])
        try:
            return self._function(ctx, *[next(gradients) if g else None for g in self._gradients])
        except GradwireError:
            raise
        except Exception as problem:
            self._fault = Fault(f"{self.name}.backward", problem)
            raise error("invalid_gradient", repr(self._fault.text)) from problem

    def _own(self, found: Sequence[Any]) -> list[Any]:
        """The gradients of the arguments that have one."""
        count = len(self._wanted)
        if len(found) < count or any(g is not None for g in found[count:]):
            raise error(
                "invalid_gradient",
                f"function {self.name}Backward returned an incorrect number of gradients "
                f"(expected {count}, got {len(found)})",
                "give one, or None, for each argument of the forward",
            )
        pairs = zip(found, self._wanted, strict=False)
        return [self._value(g, wanted) for g, wanted in pairs if wanted is not None]

    def _value(self, found: Any, wanted: Spec) -> Any:
        """A gradient for the host; zeros for None, since the client has counted on a gradient."""
        device = self._outer.device
        if found is None:
            return zeros(Spec(wanted.shape, wanted.dtype, device))
        if not isinstance(found, Tensor):
            return found
        return Value.of(backend(device).from_numpy(found._read()), device=device)


@contextmanager
def _apart(outer: Any) -> Iterator[Session]:
    """A session beside the one that is at work, in modes of its own."""
    before, local.state = local.state, State()
    try:
        local.state.grad = False
        session = Session.make(outer.transport, device=outer.device)
        try:
            with session.here():
                yield session
        finally:
            session.close()
    finally:
        local.state = before


__all__ = ["PythonBackward"]
