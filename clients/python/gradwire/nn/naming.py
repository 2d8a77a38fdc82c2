"""Names of parameters and buffers at the host: the dotted names that their module gives them.

A module that takes a part is noted. Its root, found by links from parts to what took them first,
has its parts named when it is called, or given to an optimizer: then it is whole, as a rule. If it
becomes a part of a larger one later, its parts are named once more, by the longer path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

if TYPE_CHECKING:
    from gradwire.nn.module import Module
    from gradwire.session import Session
    from gradwire.tensor import Tensor

_parents: WeakKeyDictionary[Module, ref[Module]] = WeakKeyDictionary()
_changed: list[ref[Module]] = []
"""Modules that took a part since parts were named, in order."""
_ODD = re.compile(r"[^A-Za-z0-9_.]")
_LONGEST = 128


def took(module: Module, part: Module | None = None) -> None:
    """Note that a module took a parameter or buffer, or this module as a part."""
    if not _changed or _changed[-1]() is not module:
        _changed.append(ref(module))
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
    """Name the parts of all modules that changed."""
    changed = [reference() for reference in _changed]
    _changed.clear()
    roots = {id(r): r for r in (root_of(m) for m in changed if m is not None)}
    for root in roots.values():
        for session, parts in by_session(root):
            if not session.left:
                session.rename(_to_rename(parts, called(session, root, parts)), parts=True)


def by_session(root: Module) -> Iterator[tuple[Session, list[tuple[str, Tensor]]]]:
    """The parts of a module by the sessions in which they live; those of traces are left out."""
    found: dict[int, tuple[Any, list[tuple[str, Tensor]]]] = {}
    for path, tensor in (*root.named_parameters(), *root.named_buffers()):
        session: Any = tensor.session
        if hasattr(session, "rename"):
            found.setdefault(id(session), (session, []))[1].append((path, tensor))
    return iter(found.values())


def _to_rename(
    parts: Iterable[tuple[str, Tensor]], names: Iterable[str]
) -> list[tuple[Tensor, str]]:
    pairs = [(tensor, name) for (_, tensor), name in zip(parts, names, strict=True)]
    return [(tensor, name) for tensor, name in pairs if tensor._name != name]


def called(
    session: Session, root: Module, parts: list[tuple[str, Tensor]], *, again: bool = False
) -> list[str]:
    """The names of a module's parts: their paths; where others have them, behind its class's name.

    again: whether names that the host had before are to be taken over.
    """
    own = {id(tensor) for _, tensor in parts}
    kind = type(root).__name__
    prefixes = ["", f"{kind}.", *(f"{kind}_{number}." for number in range(2, 1000))]
    for prefix in prefixes:
        names = _fitting([prefix + path for path, _ in parts])
        if names and all(_is_free(session, name, own, again) for name in names):
            return names
    return [tensor._name for _, tensor in parts]


def _is_free(session: Session, name: str, own: set[int], again: bool) -> bool:
    known = session.named.get(name)
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


__all__ = ["by_session", "called", "name_parts", "pending", "root_of", "took"]
