"""One call of a hook: its tensors are those of the mirrored walk, what it does is written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradwire.autograd.registered import Registered
from gradwire.faults import ending, text_of
from gradwire.pending import Lost
from gradwire.tensor import Tensor
from gradwire.trace import Trace
from gradwire_engine.errors import GradwireError, error

if TYPE_CHECKING:
    import numpy as np

    from gradwire.autograd.hooked import Walk
    from gradwire.session import Session
    from gradwire.transport import Step, Values

_numbers = count(1)


class Inside(Trace):
    """A hook under way: its tensors have the mirrors that they will have in the session.

    after: a block in which what is recorded is done after the walk.
    """

    def __init__(self, session: Session, called: str, look: Look, after: After) -> None:
        super().__init__(session, called)
        self.journal = session.journal
        self.made: list[ref[Tensor]] = []
        self._look, self.after = look, after

    def given(self, meta: Any) -> Tensor:
        """A gradient that came."""
        made = Tensor(self, meta)  # type: ignore[arg-type]
        self.made.append(ref(made))
        return made

    def enter(
        self, tensor: Tensor, shape: Sequence[int], requires_grad: bool | None = None
    ) -> Tensor:
        """A tensor from outside, as it is there."""
        made = Tensor(self, tensor._meta)  # type: ignore[arg-type]
        self.held += [made, tensor]
        self.inputs.append((made._name, tensor))
        return made

    def enter_as_it_lies(self, tensor: Tensor, requires_grad: bool | None = None) -> Tensor:
        """The same: its mirror lies as it does."""
        return self.enter(tensor, tensor.shape, requires_grad)

    def record(
        self,
        step: Step,
        made: Sequence[Tensor | None] = (),
        arrays: dict[str, np.ndarray] | None = None,
        *,
        mark: int | None = None,
        grad_mode: str | None = None,
    ) -> None:
        """Write a step down, and note what it makes."""
        super().record(step, made, arrays, mark=mark, grad_mode=grad_mode)
        self.made += [ref(t) for t in made if t is not None]

    def flush(self, returns: Sequence[str] = (), *, data: bool = True) -> Values:
        """Nothing is sent; tensors can be read where the walk can be tried."""
        outer: Any = self.outer
        if returns and isinstance(outer, Trace):
            self._refuse()
        return self._look(returns) if returns else {}

    def read(self, name: str) -> np.ndarray:
        """The elements of a tensor."""
        found = self.flush([name])[name]
        assert found is not None
        assert found.array is not None
        return found.array


Look = Callable[[Sequence[str]], "Values"]
"""How a hook under way sees the values of its tensors."""
After = Callable[[], AbstractContextManager[None]]


class Run:
    """One call of a hook. names: of the program's inputs for what came; outputs: what replaces it.

    placeholders: what was given, held until it is known who else holds it. fails: text of the step
    with which it ends, where it raised.
    """

    def __init__(self, hook: Registered, walk: Walk, values: Sequence[Any]) -> None:
        self.hook, self.session = hook, walk.session
        self.id = f"w{next(_numbers)}"
        self.trace = _inside(ref(self), ref(walk), hook)
        self.placeholders: list[Any] = [
            None if value is None else self.trace.given(value) for value in values
        ]
        self._came = [value is not None for value in values]
        self.names = [self.trace.new_name() if p is None else p._name for p in self.placeholders]
        self.outputs: list[str] | None = None
        self.looked = False
        self.fails: str | None = None
        self._adopted: list[ref[Tensor]] = []

    def __del__(self) -> None:
        self.trace.release()

    def replaced(self, found: Any) -> tuple[Any, ...]:
        """What the function gave, as the mirrored walk goes on with it."""
        if found is None:
            return ()
        several = self.hook.kind != "tensor" and isinstance(found, tuple | list)
        parts = list(found) if several else [found]
        lifted = [self.trace.lifted(p) if isinstance(p, Tensor) else p for p in parts]
        if any(p is not None and not isinstance(p, Tensor) for p in lifted):
            self.fail(TypeError())  # so does the engine, to which it is given
            return tuple([p._meta if isinstance(p, Tensor) else p for p in lifted])
        self.outputs = []
        for place, part in enumerate(lifted):
            self.outputs.append(self._name_of(part, place))
        return tuple([p._meta if isinstance(p, Tensor) else p for p in lifted])

    def _name_of(self, part: Any, place: int) -> str:
        if isinstance(part, Tensor):
            name = part._name
            if name in (self.outputs or ()):
                name = self.trace.new_name()
                step = {"op": "positive", "args": [part._name], "out": name}
                self.trace.steps.append(step)
            return name
        if part is None and place < len(self.names) and self.placeholders[place] is not None:
            raise error(
                "invalid_argument",
                f"hook {self.hook.id!r}: it gave None in place of gradient {place}",
                "give zeros, or the gradient that came; or return nothing",
            )
        return self.names[place] if place < len(self.names) else ""

    def fail(self, problem: Exception) -> None:
        """It raised this: so does its program, after what was written down until then."""
        if self.fails is not None:
            return
        self.fails, self.outputs = text_of(self.trace.called, problem), None
        given = next((n for n, came in zip(self.names, self._came, strict=True) if came), None)
        if given is None:  # what it ends with needs an operand, and nothing came
            given = self.trace.new_name()
            self.trace.steps.append({"op": "zeros", "args": [1], "out": given})
        self.trace.steps.append(ending(self.fails, given, self.trace.new_name()))

    @property
    def is_passed_over(self) -> bool:
        """Whether the host does not ask it: a tensor's hook, though no gradient came."""
        return self.hook.kind == "tensor" and not self._came[0]

    def tells(self, found: GradwireError) -> bool:
        """Whether an error of the host is of what this hook raised, or gave."""
        failed = self.fails is not None and repr(self.fails) in found.detail
        return failed or f"hook {self.id!r}" in found.detail

    @property
    def writes(self) -> bool:
        """Whether it wrote to something in place."""
        ops = [str(step.get("op", "")) for step in self.trace.steps]
        return any(op == "__setitem__" or (op[-1:] == "_" and op[:2] != "__") for op in ops)

    def let_go(self, problem: GradwireError) -> None:
        """What is still held of it can't be used any more."""
        self.placeholders.clear()
        made, self.trace.made = self.trace.made, []
        for reference in made:
            tensor = reference()
            if tensor is not None:
                tensor._lose(Lost(problem, ""))

    def adopt(self) -> dict[str, str]:
        """Make tensors of the session of all that somebody still holds; their names there."""
        self.placeholders.clear()
        keep: dict[str, str] = {}
        made, self.trace.made = self.trace.made, []
        for reference in made:
            tensor = reference()
            if tensor is not None:
                name = self.session.new_name()
                keep[tensor._name] = name
                tensor._move(self.session, name)
                self._adopted.append(reference)
        self.session.put_aside(keep.values())
        return keep

    def kept(self) -> list[Tensor | None]:
        """What became a tensor of the session and is still held."""
        return [reference() for reference in self._adopted]

    def step(self, keep: dict[str, str]) -> Step | None:
        """The hook as a step; None where it leaves no trace. keep: names for its tensors."""
        if self.outputs is None and not (keep or self.writes or self.fails):
            return None
        captured, kind = self.trace.inputs, self.hook.kind
        body = {
            "inputs": [*self.names, *[name for name, _ in captured]],
            "ops": self.trace.steps,
            "outputs": self.outputs or self.names[:1],
        }
        return {
            "hook": self.hook.at_host,
            # that of a leaf is sent only if it raised: it ends the walk where the gradient arrives
            "kind": "tensor" if kind == "post_accumulate" else kind,
            "program": self.session.program(body),
            "args": [tensor._name for _, tensor in captured],
            "observes": self.outputs is None,
            "keep": keep,
            "id": self.id,
        }


def _inside(run: ref[Run], walk: ref[Walk], hook: Registered) -> Inside:
    """The trace of a hook under way. It does not hold the run and the walk, which hold it."""

    def under_way() -> Walk:
        found = walk()
        assert found is not None
        return found

    def look(names: Sequence[str]) -> Values:
        found = run()
        assert found is not None
        return under_way().look(found, names)

    session = under_way().session
    return Inside(session, f"the hook {hook.id}", look, lambda: under_way().after(hook))


__all__ = ["Inside", "Run"]
