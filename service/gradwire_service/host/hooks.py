"""Hooks of a session: programs, or names for what arrives, at tensors and nodes of its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire_engine import hooks as engine
from gradwire_engine.errors import error
from gradwire_engine.journal import drop, put
from gradwire_engine.tape import Bound, Handle, Program
from gradwire_engine.tensor import Tensor
from gradwire_service.host.inside import Inside
from gradwire_service.host.protocol.hooks import EdgeStep, HookStep, UnhookStep
from gradwire_service.host.running import session_of_this_thread
from gradwire_service.host.scope import Callee

if TYPE_CHECKING:
    from gradwire_service.host.steps import Steps


class Hook(NamedTuple):
    """What hangs in the graph. A fork has it too: the session that runs is asked for when it does.

    takes: which of the values that come the name `out` is for. keep: names of the program, and what
    they are called in the session. late: places of the program's inputs, each with the name of what
    a hook that runs before this one sees or keeps.
    """

    id: str
    program: Callee | None
    observes: bool
    out: str | None
    takes: int
    keep: tuple[tuple[str, str], ...] = ()
    late: tuple[tuple[int, str], ...] = ()

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        if self.takes == LEAF:  # a leaf, which had to wait for its gradient
            values = (values[0], values[0].grad, *values[1:])
        if self.out is not None:
            _bind(self.out, values[{LEAF: 1, BEFORE: 0}.get(self.takes, self.takes)])
        absent = values[0] is None if self.takes == 0 else self.takes == LEAF and values[1] is None
        if self.program is None or absent:
            return ()
        given = list(values)
        for place, name in self.late:
            given.insert(place, session_of_this_thread().find(name))
        found = Inside(self.program.also([name for name, _ in self.keep]))(*given)
        count = len(self.program.outputs)
        for (_, name), value in zip(self.keep, found[count:], strict=True):
            _bind(name, value)
        return () if self.observes else found[:count]


def _bind(name: str, value: Any) -> None:
    """Give what a walk saw a name in the session that runs."""
    session = session_of_this_thread()
    if value is None:
        session.unbind(name)
        return
    if type(value) is not Tensor:
        raise error(
            "untraceable",
            f"hook: {name!r} would be a gradient of a batched walk, which differs from row to row",
            "take the hook away for this walk, or walk for each row by itself",
            raised=RuntimeError,
        )
    session.bind(name, value if value.requires_grad else value.detach())


LEAF = -1
"""In place of a number: the hook is of a leaf, and what comes is the leaf itself."""
BEFORE = -2
"""The same: the hook is before a node, some of whose results may have no gradient."""
_REGISTER: dict[str, Callable[[Tensor, Program], Handle]] = {
    "tensor": engine.register_hook,
    "post_accumulate": engine.register_post_accumulate_grad_hook,
    "node": lambda tensor, program: _node(tensor).register_hook(program),
    "node_before": lambda tensor, program: _node(tensor).register_prehook(program),
}


def _node(tensor: Tensor) -> Any:
    return engine.get_gradient_edge(tensor).node


def hook(steps: Steps, step: HookStep) -> None:
    """Register a hook; its id must be free."""
    session: Any = steps.session
    tensor = session.find(step.hook)
    if step.id is not None and step.id in session.hooks:
        raise error(
            "invalid_argument",
            f"hook: there is a hook {step.id!r} already",
            "unhook it first, or choose another id",
        )
    program = None if step.program is None else session.program(step.program)
    takes = _takes(step, tensor)
    if program is not None:
        _check_inputs(step, program, tensor)
    late = _late(session, step, program)
    own = tuple([steps.reader.operand(v) for i, v in enumerate(step.args) if i not in late])
    made: Program = Hook(
        step.id or step.program or step.out or "",
        program,
        step.observes,
        step.out,
        takes,
        tuple(step.keep.items()),
        tuple(late.values()),
    )
    if own:
        made = Bound(made, own)
    _make_room(session)
    key = step.id or f"#{len(session.hooks)}"
    while key in session.hooks:
        key += "#"
    put(session.hooks, key, _REGISTER[step.kind](tensor, made))


def _late(session: Any, step: HookStep, program: Callee | None) -> dict[int, tuple[int, str]]:
    """Which arguments are what another hook will see: each with its place in the program."""
    if program is None:
        return {}
    seen = {name for handle in session.hooks.values() for name in _names_of(handle)}
    first = len(program.inputs) - len(step.args)
    return {
        place: (first + place, value)
        for place, value in enumerate(step.args)
        if type(value) is str and value in seen and value not in session.tensors
    }


def _names_of(handle: Handle) -> Iterator[str]:
    """The names that a hook gives in a walk."""
    what: Any = handle.attachment.what
    found = what.program if type(what) is Bound else what
    if type(found) is Hook:
        yield from [name for _, name in found.keep]
        if found.out is not None:
            yield found.out


def _takes(step: HookStep, tensor: Tensor) -> int:
    if step.kind == "post_accumulate":
        return LEAF
    if step.kind == "node_before":
        return BEFORE
    return len(_node(tensor).next_functions) if step.kind == "node" and tensor.requires_grad else 0


def _check_inputs(step: HookStep, program: Callee, tensor: Tensor) -> None:
    """Refuse a program that can't take what it will be given."""
    wanted = _wanted(step, tensor) + len(step.args)
    if len(program.inputs) != wanted:
        raise error(
            "invalid_argument",
            f"hook: a {step.kind} hook here gives its program {wanted} inputs, "
            f"{program.id} takes {len(program.inputs)} ({', '.join(program.inputs)})",
            "write the program for these gradients",
        )


def _wanted(step: HookStep, tensor: Tensor) -> int:
    if step.kind in ("tensor", "post_accumulate"):
        return 1 if step.kind == "tensor" else 2
    node = _node(tensor)
    results = len(node.recipe.call.tracked) if hasattr(node, "recipe") else 1
    return results + (len(node.next_functions) if step.kind == "node" else 0)


def _make_room(session: Any) -> None:
    """Forget hooks whose graph is gone; past the limit of names there is no room for more."""
    limit = session.limits.names
    if len(session.hooks) >= limit:
        for key, handle in list(session.hooks.items()):
            if handle.extra() is None:
                drop(session.hooks, key)
    if len(session.hooks) >= limit:
        raise error(
            "limit_exceeded",
            f"the session has {len(session.hooks)} hooks, and the limit is {limit}",
            "unhook those that are no longer needed",
        )


def edge(steps: Steps, step: EdgeStep) -> None:
    """Give the present history of a tensor a name of its own, for hooks that come and go."""
    tensor = steps.session.find(step.edge)
    place = engine.get_gradient_edge(tensor)
    if step.hooks:
        place.node.annotate().listed = True
    steps.bind(step.out, tensor.alias(place.edge))


def unhook(steps: Steps, step: UnhookStep) -> None:
    """Take a hook away by its id."""
    session: Any = steps.session
    handle = session.hooks.get(step.unhook)
    if handle is None:
        known = [key for key in session.hooks if key[0] != "#"]
        raise error(
            "not_found",
            f"unhook: there is no hook {step.unhook!r}",
            f"there are {', '.join(known[:10])}" if known else "give a hook an id where it is made",
        )
    handle.remove()
    drop(session.hooks, step.unhook)


def held(handles: Iterable[Handle]) -> Iterator[Tensor]:
    """The tensors that programs of hooks use, as long as what they hang at is there."""
    for handle in handles:
        what = handle.attachment.what
        if type(what) is Bound and handle.extra() is not None:
            yield from what.values
