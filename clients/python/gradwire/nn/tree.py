"""A module's parts, found by walking down: parameters, buffers and modules, each once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from gradwire.nn.parameter import Parameter
from gradwire.tensor import Tensor

if TYPE_CHECKING:
    from gradwire.nn.hooks import Hooks
    from gradwire.nn.module import Module


class Tree:
    """What stands below a module, by name."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _not_saved: set[str]
    _hooks: Hooks

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below, with their dotted names."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, cast("Module", self)
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(seen, _join(prefix, name), remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below, with their names."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules right below."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their dotted names."""
        found = self._members("_parameters", prefix, recurse, remove_duplicate)
        return cast("Iterator[tuple[str, Parameter]]", found)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters of this module and, if recurse, of those below."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their dotted names."""
        return self._members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers of this module and, if recurse, of those below."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _members(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Tensor]]:
        here = [(prefix, cast("Module", self))]
        holders = self.named_modules(None, prefix, remove_duplicate) if recurse else here
        seen: set[Tensor] = set()
        for path, module in holders:
            for name, tensor in getattr(module, kind).items():
                if tensor is None or tensor in seen:
                    continue
                if remove_duplicate:
                    seen.add(tensor)
                yield _join(path, name), tensor

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; "" is this one."""
        found = cast("Module", self)
        for name in target.split(".") if target else ():
            below = getattr(found, name, None)
            if below is None or not isinstance(below, Tree):
                raise AttributeError(f"{type(found).__name__} has no module `{name}`")
            found = cast("Module", below)
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name."""
        return cast(Parameter, self._part("_parameters", "parameter", target))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name."""
        return self._part("_buffers", "buffer", target)

    def _part(self, kind: str, called: str, target: str) -> Tensor:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found: Tensor | None = getattr(module, kind).get(name)
        if found is None:
            raise AttributeError(f"{type(module).__name__} has no {called} `{name}`")
        return found


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


__all__ = ["Tree"]
