"""A walk with hooks: each is called while the mirrors are walked, and written down as a program.

The programs are registered at the host for this walk only. What a hook kept of what it saw or made
becomes a tensor of the session once the host has it. What a hook of a leaf records, whose gradient
was added, is done after the walk. Where the host is in this process, a hook may look at values: the
walk is tried on a copy of the session. Elsewhere such a hook is called after the walk, with the
gradient, and may replace nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from threading import local as thread_local
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradwire.later import Later, at_hand
from gradwire.pending import Pending
from gradwire.tensor import Tensor
from gradwire.trace import Trace
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.mode import using

if TYPE_CHECKING:
    import numpy as np

    from gradwire.session import Session
    from gradwire.transport import Step, Values

_numbers = count(1)


class Registered:
    """A hook as the mirrors hold it. edges: how many gradients of operands a node's hook gets.

    place: the name at the host of where it hangs. reads: whether it was seen to look at values.
    """

    def __init__(
        self, kind: str, function: Callable[..., Any], owner: ref[Tensor], edges: int = 0
    ) -> None:
        self.id = getattr(function, "__name__", type(function).__name__)
        self.kind, self.function, self.owner, self.edges = kind, function, owner, edges
        self.place = ""
        self.reads = False

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The walk over mirrors has come here."""
        walk = _under_way.walk
        return () if walk is None else walk.arrived(self, values)

    def call(self, given: Sequence[Any]) -> Any:
        """Call the user's function as torch does."""
        if self.kind == "post_accumulate":
            return self._of_leaf(given[0])
        if self.kind == "node":
            return self.function(tuple(given[: self.edges]), tuple(given[self.edges :]))
        return self.function(tuple(given) if self.kind == "node_before" else given[0])

    def _of_leaf(self, leaf: Any) -> None:
        if self.function(leaf) is not None:
            raise error(
                "invalid_argument",
                "Tensor post accumulate grad hooks should return None.",
                "end it without a return",
                raised=RuntimeError,
            )


class _UnderWay(thread_local):
    walk: Walk | None = None


_under_way = _UnderWay()


class _Inside(Trace):
    """A hook under way: its tensors have the mirrors that they will have in the session."""

    def __init__(self, session: Session, called: str, look: Look) -> None:
        super().__init__(session, called)
        self.journal = session.journal
        self.made: list[ref[Tensor]] = []
        self._look = look

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
        if returns and not at_hand(self.outer):
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


class _Run:
    """One call of a hook. names: of the program's inputs for what came; outputs: what replaces it.

    placeholders: what was given, held until it is known who else holds it.
    """

    def __init__(self, hook: Registered, walk: Walk, values: Sequence[Any]) -> None:
        self.hook, self.session = hook, walk.session
        self.id = f"w{next(_numbers)}"
        look = lambda names: walk.look(self, names)  # noqa: E731
        self.trace = _Inside(walk.session, f"the hook {hook.id}", look)
        self.placeholders: list[Any] = [
            None if value is None else self.trace.given(value) for value in values
        ]
        self.names = [self.trace.new_name() if p is None else p._name for p in self.placeholders]
        self.outputs: list[str] | None = None

    def replaced(self, found: Any) -> tuple[Any, ...]:
        """What the function gave, as the mirrored walk goes on with it."""
        if found is None:
            return ()
        several = self.hook.kind != "tensor" and isinstance(found, tuple | list)
        parts = list(found) if several else [found]
        lifted = [self.trace.lifted(p) if isinstance(p, Tensor) else p for p in parts]
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

    @property
    def writes(self) -> bool:
        """Whether it wrote to something in place."""
        ops = [str(step.get("op", "")) for step in self.trace.steps]
        return any(op == "__setitem__" or (op[-1:] == "_" and op[:2] != "__") for op in ops)

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
                tensor._name, tensor.session = name, self.session
        return keep

    def step(self, keep: dict[str, str]) -> Step | None:
        """The hook as a step; None where it leaves no trace. keep: names for its tensors."""
        if self.outputs is None and not keep and not self.writes:
            return None
        captured = self.trace.inputs
        body = {
            "inputs": [*self.names, *[name for name, _ in captured]],
            "ops": self.trace.steps,
            "outputs": self.outputs or self.names[:1],
        }
        return {
            "hook": self.hook.place,
            "kind": self.hook.kind,
            "program": self.session.program(body),
            "args": [tensor._name for _, tensor in captured],
            "observes": self.outputs is None,
            "keep": keep,
            "id": self.id,
        }


class Walk:
    """A walk of the SDK, and the hooks that it comes to."""

    def __init__(self, session: Session, create_graph: bool, step: Step) -> None:
        self.session, self.step = session, step
        self._create_graph = create_graph
        self._runs: list[_Run] = []
        self._kept: dict[str, dict[str, str]] = {}
        self._ids: list[str] = []
        self._later: list[Pending] = []
        self._after: list[Callable[[], None]] = []

    def arrived(self, hook: Registered, values: Sequence[Any]) -> tuple[Any, ...]:
        """Call a hook, or note that it is to be called after the walk."""
        if hook.kind == "post_accumulate":
            self._accumulated(hook)
            return ()
        if not hook.reads:
            run = _Run(hook, self, values)
            mark = len(self.session.journal.entries)
            try:
                with run.trace.here():
                    found = run.replaced(hook.call(run.placeholders))
            except GradwireError as problem:
                if problem.code != "untraceable":
                    raise
                self.session.journal.rollback(mark)
                hook.reads = True
            else:
                self._runs.append(run)
                return found
        self._observe(hook, values)
        return ()

    def _observe(self, hook: Registered, values: Sequence[Any]) -> None:
        """Keep what came, and show it when it is there."""
        run = _Run(hook, self, values)
        given = list(run.placeholders)
        self._runs.append(run)

        def look() -> None:
            found = hook.call(given)
            parts = found if isinstance(found, tuple | list) else (found,)
            if any(p is not None and all(p is not g for g in given) for p in parts):
                raise error(
                    "untraceable",
                    f"hook {hook.id!r} looks at values and gives a gradient back; it was called "
                    "after the walk, and can't replace anything there",
                    "write it in ops alone (torch.where, clamp, …), or return nothing",
                )

        self._after.append(look)

    def _accumulated(self, hook: Registered) -> None:
        """Call the hook of a leaf; what it records is done after the walk."""
        leaf = hook.owner()
        if leaf is None:
            return
        session: Any = self.session
        if isinstance(session, Trace):
            self._after.append(lambda: hook.call([leaf]))
            return
        self._adopt()
        later = Later(self.session, f"the hook {hook.id}", self._before)
        mark = len(self.session.journal.entries)
        try:
            if not hook.reads:
                with self.session.putting_off(later), using(grad=self._create_graph):
                    hook.call([leaf])
                self._later.append(later.pending)
        except GradwireError as problem:
            if problem.code != "untraceable":
                raise
            self.session.journal.rollback(mark)
            hook.reads = True
        if hook.reads:
            self._after.append(lambda: hook.call([leaf]))

    def _adopt(self) -> None:
        """What hooks before kept is from now on of the session."""
        for run in self._runs:
            self._kept[run.id] = self._kept.get(run.id, {}) | run.adopt()

    def _before(self) -> list[Step]:
        """The walk as a copy of the session does it, and what is done after it."""
        steps = [run.step(self._kept.get(run.id, {})) for run in self._runs]
        later = [step for pending in self._later for step in pending.steps]
        return [*filter(None, steps), self.step, *later]

    def look(self, run: _Run, names: Sequence[str]) -> Values:
        """Values that a hook under way looks at: seen in a walk of a copy of the session."""
        keep = {name: self.session.new_name() for name in dict.fromkeys(names)}
        *before, walk = [run.step(self._kept.get(run.id, {})) for run in self._runs] + [self.step]
        outputs, run.outputs = run.outputs, None
        steps = [*filter(None, [*before, run.step(keep), walk])]
        run.outputs = outputs
        found = self.session.imagined(steps, {}, list(keep.values()))
        return {name: found[keep[name]] for name in names}

    @contextmanager
    def here(self) -> Iterator[Walk]:
        """Hooks that the mirrors come to in this block are of this walk."""
        before, _under_way.walk = _under_way.walk, self
        try:
            with self.session.walking():
                yield self
        finally:
            _under_way.walk = before

    def register(self, mark: int) -> None:
        """Record the steps that go before the walk's own."""
        self._adopt()
        for run in self._runs:
            step = run.step(self._kept[run.id])
            if step is not None:
                self._ids.append(run.id)
                self.session.record(step, mark=mark)

    def unregister(self, mark: int) -> None:
        """Record the steps that go after it."""
        for key in self._ids:
            self.session.record({"unhook": key}, mark=mark)
        for pending in self._later:
            self.session.take_up(pending)

    def failed(self) -> None:
        """The request failed: what it left registered is taken away."""
        for key in self._ids:
            with suppress(GradwireError):
                self.session.record({"unhook": key})
                self.session.flush()

    def finish(self) -> None:
        """Call what waited for the walk."""
        with using(grad=self._create_graph):
            for call in self._after:
                call()


__all__ = ["Registered", "Walk"]
