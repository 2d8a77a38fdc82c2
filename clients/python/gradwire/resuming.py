"""Modules and optimizers that take up what a session on a host has of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.grad_fn import note_leaf
from gradwire.nn import naming
from gradwire.nn.module import Module
from gradwire.optim.optimizer import Hosted
from gradwire_engine.errors import GradwireError, error

if TYPE_CHECKING:
    from gradwire.held import Held
    from gradwire.session import Session
    from gradwire.tensor import Tensor

Parts = list[tuple[str, "Tensor"]]


def resume(session: Session, things: tuple[Any, ...]) -> bool:
    """Have modules and optimizers go on from what the session has; whether it has any of it."""
    modules = [thing for thing in things if isinstance(thing, Module)]
    optimizers = [thing for thing in things if isinstance(thing, Hosted)]
    if len(modules) + len(optimizers) != len(things):
        wrong = next(t for t in things if not isinstance(t, Module | Hosted))
        raise TypeError(f"resume() takes modules and optimizers, not a {type(wrong).__name__}")
    with session._lock:
        held = session.holds
        names = naming.planned(session, modules, again=True)
        wanted = [] if held is None else _wanted(session, modules, names)
        if held is None or not any(name in held.metas for name, _ in wanted):
            session.rename(naming.to_rename(naming.planned(session, modules)), "part")
            return False
        try:
            _check(session, held, wanted)
        finally:
            naming.leave_out(modules)
        for name, part in wanted:
            _take(session, held, name, part)
        for optimizer in optimizers:
            _take_optimizer(session, held, optimizer)
        random, session.random_before = session.random_before, None
        if random is not None:  # as if nothing had been drawn to build the modules
            with session.recording() as mark:
                session.record(dict(random), mark=mark)
        return True


def _wanted(session: Session, modules: list[Module], names: list[tuple[Tensor, str]]) -> Parts:
    """The parts of modules with the names that they have in the session.

    A module that was built in another session has the names that it would have in this one.
    """
    by_part = {id(tensor): name for tensor, name in names}
    found: Parts = []
    for module in modules:
        root = naming.root_of(module)
        for path, part in (*root.named_parameters(), *root.named_buffers()):
            found.append((by_part.get(id(part), path), part))
    own = {id(part) for m in modules for part in (*m.parameters(), *m.buffers())}
    return [(name, part) for name, part in found if id(part) in own]


def _check(session: Session, held: Held, wanted: Parts) -> None:
    missing = [name for name, _ in wanted if name not in held.metas]
    unlike = [
        f"{name} is {held.metas[name].spec} there and {part._meta.spec} here"
        for name, part in wanted
        if name in held.metas and held.metas[name].spec[:2] != part._meta.spec[:2]
    ]
    if missing or unlike:
        raise _different(session, missing, unlike)


def _different(session: Session, missing: list[str], unlike: list[str]) -> GradwireError:
    said = [f"it has no {', '.join(missing)}"] if missing else []
    return error(
        "invalid_argument",
        f"resume: session {session.id} is of another module: {'; '.join(said + unlike)}",
        "build the module as the program did that the session is of; list(session.tensors) has "
        "the names",
    )


def _take(session: Session, held: Held, name: str, part: Tensor) -> None:
    """Have a parameter be the session's tensor of a name, and its own one go."""
    part.session.names.forget(part._host_name)
    part._meta = held.metas[name]
    part._move(session, name)
    part._host_name.kind = "kept"
    part._elements = part._grad = None
    part._went_well = (-1, set())
    if part.requires_grad:
        note_leaf(part)


def _take_optimizer(session: Session, held: Held, optimizer: Hosted) -> None:
    """Have an optimizer be the session's of the same kind over the same parameters, if it has one.

    Of several it is the one that was made last. If it has none, the optimizer begins anew with the
    parameters that it has now.
    """
    params = [[p._meta for p in group["params"]] for group in optimizer.param_groups]
    for name, mirror in reversed(held.optimizers.items()):
        groups = [list(group.params) for group in mirror.groups]
        if mirror.kind.name == optimizer.kind and _same(groups, params):
            optimizer.take_over(session, name, mirror)
            return
    optimizer.begin_again()


def _same(one: list[list[Any]], other: list[list[Any]]) -> bool:
    return [[id(p) for p in group] for group in one] == [[id(p) for p in group] for group in other]


__all__ = ["resume"]
