"""The user's Python as a program: a function is called once, and what it does is written down.

While it runs, a Trace stands where the session stands. Ops on its tensors become the program's
steps; tensors from outside that meet them become inputs of the program beside the arguments. What
else the function does happens then, once. A value that it wants to look at isn't there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gradwire import in_force, origins
from gradwire.host_names import HostName
from gradwire.later import looks_at_values
from gradwire.leaf import leaf
from gradwire.pending import Pending, Recording, users_line
from gradwire.tensor import Tensor
from gradwire_engine.arrays import phantom
from gradwire_engine.catalogue import find, inplace_twin
from gradwire_engine.journal import Journal
from gradwire_engine.layout import mirrored_as
from gradwire_engine.locks import rlock
from gradwire_engine.mode import local
from gradwire_engine.tape import Edge, target
from gradwire_engine.tensor import Tensor as Meta

if TYPE_CHECKING:
    from gradwire.session import Session
    from gradwire.transport import Step
    from gradwire_engine.spec import Spec


class Trace:
    """A function that is being written down; to its tensors it is their session."""

    transforms: tuple[str, ...] = ()
    """What torch.func does with it: the kinds that `autograd.transformable` names."""
    in_backward = False
    """Whether a backward is written down, whose tensors require grad in case of create_graph."""

    def __init__(self, outer: Any, called: str) -> None:
        self.outer: Session = outer
        self.called = called
        self.device, self.transport = outer.device, outer.transport
        self.id = f"the trace of {called}"
        self.steps: list[Step] = []
        self.lines: dict[int, str] = {}  # of the user's Python, by the id of the step
        self.inputs: list[tuple[str, Tensor]] = []
        self.held: list[Tensor] = []  # placeholders: alive as long as the trace
        self.journal = Journal()
        self.asked_to_record = 0  # blocks of enable_grad around what is done now
        self.may_be_refused = False  # under vmap: a step writes, or draws random numbers
        self.fallible = False  # a step may fail on elements
        self._wrote = False  # when the placeholders were let go
        self._captured: dict[int, Tensor] = {}
        self._constants: list[Tensor] = []
        self._names = count(1)
        self._lock = rlock()

    # as a session

    def new_name(self) -> str:
        """A name that no other tensor of the trace has."""
        return f"t{next(self._names)}"

    def give_name(self, thing: Any, spec: Spec) -> HostName:
        """A new name for a tensor; such names end with the program's run."""
        return HostName.of(thing, None, self.new_name(), spec)

    holds = None
    left = False
    """As a session may be, in a forked child."""
    runs_here = takes_calls = is_up_to_date = False
    runs_on = "meta"
    generator = known_walks = None
    """As a session on a host."""

    def recording(self, about: Any = None) -> Recording:
        """A block that changes mirrors and records one step: undone together if it raises."""
        return Recording(self)

    def _prepare(self) -> None:
        """Nothing: the session around has its default dtype already."""

    _pending = Pending()
    """Nothing waits to be sent."""

    def _undo(self, mark: int, *_: object) -> None:
        """Undo what a block changed in the mirrors; who raises in a function ends its trace."""
        self.journal.rollback(mark)

    def record(
        self,
        step: Step,
        made: Sequence[Tensor | None] = (),
        arrays: dict[str, np.ndarray] | None = None,
        *,
        mark: int | None = None,
        grad_mode: str | None = None,
    ) -> None:
        """Write a step down, in the grad mode that is in force; elements become an input."""
        if arrays:
            self._take_leaf(step, made, arrays)
            return
        if "detach" in step:  # in a program an op like any
            step = {"op": "detach", "args": [step["detach"]], "out": step["out"]}
        state = local.state
        self.fallible |= state.fallible
        if _writes_or_draws(step.get("op", "")):
            self.may_be_refused = True
            self._copy_written_constants()
        mode = grad_mode or ("inference_mode" if state.inference else None)
        on = "enable_grad" if self.asked_to_record else None
        mode = mode or (on if state.grad else "no_grad")
        written = step if mode is None else {**step, "grad_mode": mode}
        self.steps.append(written)
        self.lines[id(written)] = users_line()

    @property
    def wrote(self) -> bool:
        """Whether anything was written to that came from outside."""
        own = (t for t in self.held if t.session is self)  # type: ignore[comparison-overlap]
        return self._wrote or any(t._meta.version for t in own)

    def _take_leaf(
        self, step: Step, made: Sequence[Tensor | None], arrays: dict[str, np.ndarray]
    ) -> None:
        """A tensor of numbers is made outside, and handed in."""
        (inside,) = made
        assert inside is not None
        (array,) = arrays.values()
        self.inputs.append((inside._name, leaf(self.outer, array)))
        self._constants.append(inside)
        if step.get("requires_grad"):
            self.steps.append({"requires_grad": inside._name, "value": True})

    def _copy_written_constants(self) -> None:
        """What is written must be made anew in each run, where it was made outside once."""
        written = [t for t in self._constants if t._meta.storage.version]
        for inside in written:
            place = next(i for i, (name, _) in enumerate(self.inputs) if name == inside._name)
            outside = self.new_name()
            self.inputs[place] = (outside, self.inputs[place][1])
            self.steps.insert(0, {"op": "clone", "args": [outside], "out": inside._name})
        self._constants = [t for t in self._constants if not t._meta.storage.version]

    def flush(self, returns: Sequence[str] = (), *, data: bool = True) -> dict[str, Any]:
        """Nothing is sent; nor can anything be read."""
        if returns:
            self._refuse()
        return {}

    def read(self, name: str) -> np.ndarray:
        """The elements of a tensor: they are not there."""
        self._refuse()

    def release(self) -> None:
        """Let go of the placeholders, which lead back here: what was written down is done with."""
        self._wrote = self.wrote
        self.held.clear()
        self._captured.clear()
        self._constants.clear()

    def _refuse(self) -> NoReturn:
        raise looks_at_values(self.called)

    @contextmanager
    def here(self) -> Iterator[Trace]:
        """In force for a block: what is made inside belongs to the program."""
        in_force.enter(self, sys._getframe(2))  # type: ignore[arg-type]
        try:
            yield self
        finally:
            in_force.leave(self)  # type: ignore[arg-type]

    def settle(self) -> None:
        """Nothing: what changed in the mirrors ends with the trace."""

    @contextmanager
    def walking(self) -> Iterator[None]:
        """A walk is a step like any."""
        yield

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program that the host is told of."""
        key = self.outer.program(body)
        origins.note(
            key, self.called, [self.lines.get(id(step), "") for step in body.get("ops", ())]
        )
        return key

    # what comes in

    def placeholder(self, tensor: Tensor) -> Tensor:
        """What stands inside for a tensor from outside, which becomes an input."""
        found = self._captured.get(id(tensor))
        if found is None:
            found = self._captured[id(tensor)] = self.enter_as_it_lies(tensor)
        return found

    def enter(
        self, tensor: Tensor, shape: Sequence[int], requires_grad: bool | None = None
    ) -> Tensor:
        """A new input of this shape for a tensor from outside; row-major inside."""
        return self._input(tensor, _phantom(tensor, shape), requires_grad)

    def enter_as_it_lies(self, tensor: Tensor, requires_grad: bool | None = None) -> Tensor:
        """A new input for a tensor from outside, in memory as that is."""
        meta = mirrored_as(_phantom(tensor, tensor.shape), tensor._meta.array)
        return self._input(tensor, meta, requires_grad)

    def _input(self, tensor: Tensor, meta: Meta, requires_grad: bool | None) -> Tensor:
        wanted = tensor.requires_grad if requires_grad is None else requires_grad
        if wanted and tensor.dtype.differentiable:
            meta.requires_grad_()
        made = Tensor(self, meta)  # type: ignore[arg-type]
        self.held += [made, tensor]
        self.inputs.append((made._name, tensor))
        return made

    def lifted(self, value: Any) -> Any:
        """An argument as it is inside, tensors in lists and tuples too."""
        if isinstance(value, Tensor):
            session: Any = value.session
            return value if session is self else self.placeholder(self.outer.lifted(value))
        if isinstance(value, list | tuple):
            items = [self.lifted(item) for item in value]
            return rebuilt(value, items)
        return value


def _phantom(tensor: Tensor, shape: Sequence[int]) -> Meta:
    return Meta.of(phantom(tuple(shape), tensor.dtype.numpy), device="meta")


@cache
def _writes_or_draws(name: str) -> bool:
    if name == "__setitem__" or inplace_twin(name) is not None:
        return True
    op = find(name)
    return op is not None and any(overload.random for overload in op.overloads)


def leaves(edge: Edge | None) -> Iterator[Any]:
    """The leaves that an edge leads to."""
    stack, seen = [] if edge is None else [target(edge)], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if not node.edges:
            yield node
        stack.extend(target(e) for e in node.edges if e is not None)


def innermost() -> Trace | None:
    """The trace that is under way on this thread."""
    found: Any = in_force.innermost()
    return found if isinstance(found, Trace) else None


class Traced:
    """A function written down. args: what it was given and what it took, in order of its inputs."""

    def __init__(self, trace: Trace, outputs: list[Tensor], structure: Any) -> None:
        self.trace, self.outputs, self.structure = trace, outputs, structure
        self.args = [tensor for _, tensor in trace.inputs]

    def __del__(self) -> None:
        self.trace.release()

    @property
    def inside(self) -> dict[str, Tensor]:
        """The placeholders by their names."""
        return {t._name: t for t in self.trace.held[::2]}

    def lying_of(self, output: Tensor) -> Any:
        """A phantom that lies as an output does, if that is a view of an argument; else None."""
        storage = output._meta.storage
        seen = any(storage is inside._meta.storage for inside in self.inside.values())
        return output._meta.array if seen else None

    def arguments_of(self, output: Tensor) -> frozenset[int] | None:
        """The places of the arguments that an output leads back to; None if that isn't clear."""
        return self.below([output._meta.edge])

    def below(self, edges: Sequence[Edge | None]) -> frozenset[int] | None:
        """The same for edges of the graph inside."""
        if self.trace.may_be_refused:  # what is written leads elsewhere than where it came from
            return None
        starts = {}
        known = self.inside
        for place, (name, _) in enumerate(self.trace.inputs):
            inside = known.get(name)
            edge = None if inside is None else inside._meta.edge
            if edge is not None:
                starts[target(edge)] = place
        found = [leaf for edge in edges for leaf in leaves(edge)]
        return frozenset(starts[leaf] for leaf in found if leaf in starts)

    @property
    def written(self) -> dict[int, Tensor]:
        """What stands inside for those arguments that the function writes to, by their places."""
        inside = self.inside
        found = {place: inside.get(name) for place, (name, _) in enumerate(self.trace.inputs)}
        return {place: t for place, t in found.items() if t is not None and t._meta.version}

    @property
    def writes_to_shared(self) -> bool:
        """Whether anything else that goes in or comes out has elements of what it writes to."""
        written = self.written
        outside = [tensor._meta.storage for _, tensor in self.trace.inputs]
        if any(outside.count(outside[place]) > 1 for place in written):
            return True
        own = [t._meta.storage for t in written.values()]
        views = [o for o in self.outputs if not any(o is t for t in written.values())]
        return any(o._meta.storage in own for o in views)

    def write_to_copies(self) -> dict[str, int]:
        """Have the program copy what it writes to, and give that last; by name their places."""
        found: dict[str, int] = {}
        ends: list[Tensor] = []
        for place, inside in self.written.items():
            outside = self.trace.new_name()
            self.trace.inputs[place] = (outside, self.trace.inputs[place][1])
            copy = {"op": "clone", "args": [outside], "out": inside._name}
            self.trace.steps.insert(0, copy)
            found[inside._name] = place
            ends.append(inside)
        self.outputs = [o for o in self.outputs if o._name not in found] + ends
        return found

    @property
    def body(self) -> dict[str, Any]:
        """The program, as the contract has it."""
        return {
            "inputs": [name for name, _ in self.trace.inputs],
            "ops": self.trace.steps,
            "outputs": [output._name for output in self.outputs],
        }

    @property
    def id(self) -> str:
        """The program's id, once the host knows it."""
        return self.trace.program(self.body)

    def restored(self, parts: Sequence[Any]) -> Any:
        """Results in the place of the outputs, in what the function gave them in."""
        return restored(self.structure, iter(parts))


Enter = Callable[["Trace", Tensor], Tensor]
"""How an argument is entered."""


def trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    outer: Any,
    enter: Enter = lambda found, tensor: found.lifted(tensor),
    transforms: tuple[str, ...] = (),
) -> Traced:
    """Call a function with placeholders for its tensors, and write down what it does."""
    found = Trace(outer, name_of(function))
    found.transforms = transforms
    outputs: list[Tensor] = []
    try:
        given = [_entered(found, arg, enter) for arg in args]
        with found.here():
            result = function(*given)
            structure = taken_apart(result, lambda t: outputs.append(found.lifted(t)))
    except BaseException:
        found.release()
        raise
    return Traced(found, outputs, structure)


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called: a partial one by what it is a part of, a module by its class."""
    if isinstance(function, partial) and not hasattr(function, "__name__"):
        return name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)


def _entered(found: Trace, arg: Any, enter: Enter) -> Any:
    """An argument inside, tensors in lists and dictionaries too."""
    tensors: list[Tensor] = []
    structure = taken_apart(arg, tensors.append)
    return restored(structure, iter([enter(found, t) for t in tensors]))


class Place:
    """Stands for a tensor in a structure."""


_PLACE = Place()


def taken_apart(value: Any, take: Callable[[Tensor], None]) -> Any:
    """The structure around the tensors of a value, each of which is taken, in order."""
    if isinstance(value, Tensor):
        take(value)
        return _PLACE
    if isinstance(value, dict):
        return {key: taken_apart(item, take) for key, item in value.items()}
    if isinstance(value, list | tuple):
        parts = [taken_apart(item, take) for item in value]
        return rebuilt(value, parts)
    return value


def rebuilt(like: list[Any] | tuple[Any, ...], items: list[Any]) -> Any:
    """Items in a sequence of the same kind; a named tuple takes them one by one."""
    make: Callable[[list[Any]], Any] = getattr(like, "_make", type(like))
    return make(items)


def restored(structure: Any, parts: Iterator[Any]) -> Any:
    """The opposite of `taken_apart`."""
    if structure is _PLACE:
        return next(parts)
    if isinstance(structure, dict):
        return {key: restored(item, parts) for key, item in structure.items()}
    if isinstance(structure, list | tuple):
        return rebuilt(structure, [restored(item, parts) for item in structure])
    return structure


__all__ = ["Trace", "Traced", "innermost", "leaves", "name_of", "restored", "taken_apart", "trace"]
