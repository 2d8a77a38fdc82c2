"""Names of parameters and buffers at the host: the dotted names that their module gives them.

A module that takes a part is noted. Its root, found by links from parts to what took them first,
has its parts named when it is called, or given to an optimizer or to `resume`: then it is whole, as
a rule. If it becomes a part of a larger one later, its parts are named once more, by the longer
path. Where two modules would give a name, the one that was built first has it: so a program that
builds the same modules gives the same names, whichever it calls first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from gradwire_engine.journal import drop

if TYPE_CHECKING:
    from gradwire.nn.module import Module
    from gradwire.session import Session
    from gradwire.tensor import Tensor

_parents: WeakKeyDictionary[Module, ref[Module]] = WeakKeyDictionary()
_changed: dict[int, ref[Module]] = {}
"""Modules that took a part since parts were named, by their ids."""
_built: WeakKeyDictionary[Module, int] = WeakKeyDictionary()
"""When a module took its first part: a number that rises."""
_numbers = count()
_ODD = re.compile(r"[^A-Za-z0-9_.]")
_LONGEST = 128
_MOST = 1000
"""Modules of one class whose parts have names of one kind."""


def took(module: Module, part: Module | None = None) -> None:
    """Note that a module took a parameter or buffer, or this module as a part."""
    if module not in _built:
        _built[module] = next(_numbers)
    key = id(module)
    if key not in _changed:
        _changed[key] = ref(module, partial(_changed.pop, key))
    if part is not None and root_of(part) is part and part is not module:
        _parents[part] = ref(module)


def root_of(module: Module) -> Module:
    """The module that a module is a part of, or a part of a part of, …; itself if of none."""
    seen = {id(module)}
    while True:
        link = _parents.get(module)
        above = None if link is None else link()
        if above is None or id(above) in seen or module not in above._modules.values():
            return module
        seen.add(id(above))
        module = above


def pending() -> bool:
    """Whether there are parts to be named."""
    return bool(_changed)


def name_parts() -> None:
    """Name the parts of all modules that changed, in the sessions that this program made.

    In a session that it attached to, `resume` says which names are meant. Where the naming is
    undone, with its transaction or because a request fails, the modules are named anew.
    """
    modules = _modules()
    sessions = {id(s): s for root in _roots() for s in _sessions(root)}.values()
    own = [one for one in sessions if one.is_usable and not one.attached]
    for session, pairs in [(one, to_rename(planned(one))) for one in own]:
        if pairs:
            with session.recording():
                session.rename(pairs, "part")
                for module in modules:
                    if session in _sessions(root_of(module)):
                        drop(_changed, id(module))
    for module in modules:
        _changed.pop(id(module), None)


def planned(
    session: Session, modules: Sequence[Module] = (), *, again: bool = False
) -> list[tuple[Tensor, str]]:
    """The parts of modules in a session with names for them: of those that changed, and of these.

    again: whether names that the host had before are to be taken over; then modules that were built
    in another session have names too.
    """
    found: list[tuple[Tensor, str]] = []
    taken: set[str] = set()
    given = {id(root_of(module)) for module in modules} if again else set()
    for root in _roots(modules):
        moved = id(root) in given
        parts = [(path, t) for path, t in _parts(root) if moved or t.session is session]
        names = _names(session, root, parts, taken, again)
        taken.update(names)
        found += zip([tensor for _, tensor in parts], names, strict=True)
    return found


def leave_out(modules: Iterable[Module]) -> None:
    """Give the parts of these modules no names: they are not what a session has names for."""
    roots = {id(root_of(module)) for module in modules}
    for module in _modules():
        if id(root_of(module)) in roots:
            _changed.pop(id(module), None)


def to_rename(pairs: Iterable[tuple[Tensor, str]]) -> list[tuple[Tensor, str]]:
    """Those that are called otherwise."""
    return [(tensor, name) for tensor, name in pairs if tensor._name != name]


def _modules() -> list[Module]:
    """The modules that changed."""
    found = [(key, reference()) for key, reference in list(_changed.items())]
    for key, module in found:
        if module is None:
            _changed.pop(key, None)
    return [module for _, module in found if module is not None]


def _roots(modules: Iterable[Module] = ()) -> list[Module]:
    """The roots of these modules and of those that changed, in the order of building."""
    found = {id(r): r for r in (root_of(m) for m in (*_modules(), *modules))}
    return sorted(found.values(), key=lambda r: min(_built.get(m, 0) for m in r.modules()))


def _parts(root: Module) -> list[tuple[str, Tensor]]:
    return [*root.named_parameters(), *root.named_buffers()]


def _sessions(root: Module) -> list[Session]:
    """The sessions in which the parts of a module live; those of traces are left out."""
    found: list[Any] = [tensor.session for _, tensor in _parts(root)]
    return [session for session in found if hasattr(session, "rename")]


def _names(
    session: Session, root: Module, parts: list[tuple[str, Tensor]], taken: set[str], again: bool
) -> list[str]:
    """The names of a module's parts: their paths, where others have these behind its class."""
    held, own = session.names.tensors(), {id(tensor) for _, tensor in parts}
    kind = type(root).__name__
    numbered = (f"{kind}_{number}." for number in range(2, _MOST))  # long names lose their prefix
    for prefix in chain(["", f"{kind}."], numbered):
        names = _fitting([prefix + path for path, _ in parts])
        free = (_is_free(session, held, name, own, again) for name in names)
        fit = taken.isdisjoint(names) and all(free)
        if fit and len(names) == len(parts):
            return names
    return [tensor._name for _, tensor in parts]


def _is_free(
    session: Session, held: dict[str, Tensor], name: str, own: set[int], again: bool
) -> bool:
    known = held.get(name)
    if known is not None:
        return id(known) in own
    return again or session.holds is None or name not in session.holds.metas


def _fitting(paths: list[str]) -> list[str]:
    """Paths as names; none where one begins as no name does, and wants something before it."""
    from gradwire_service.host.protocol.names import may_be_written  # it comes with the host

    if any(not re.match("[A-Za-z_]", path) for path in paths):
        return []
    found: list[str] = []
    for path in paths:
        name = _ODD.sub("_", path)
        name = name if len(name) <= _LONGEST else f"_{name[1 - _LONGEST :]}"
        while name in found or not may_be_written(name):
            name = f"{name[: _LONGEST - 1]}_"
        found.append(name)
    return found


__all__ = ["leave_out", "name_parts", "pending", "planned", "root_of", "to_rename", "took"]
