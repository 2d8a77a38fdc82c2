"""Hooks around a module's forward and its way back, and the handles that remove them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire.nn.backward_hooks import Around

if TYPE_CHECKING:
    from gradwire.nn.module import Module

_numbers = count()

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class _Hook(NamedTuple):
    when: str
    call: Callable[..., Any]
    with_kwargs: bool


class RemovableHandle(AbstractContextManager["RemovableHandle"]):
    """Takes a hook away again: by remove(), or at the end of a with block."""

    def __init__(self, hooks: Hooks, number: int) -> None:
        self._hooks, self.id = hooks, number

    def remove(self) -> None:
        """Take the hook away; once it is gone, this does nothing."""
        self._hooks.found.pop(self.id, None)

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one module, in their order."""

    def __init__(self) -> None:
        self.found: dict[int, _Hook] = {}

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(
        self, when: str, call: Callable[..., Any], prepend: bool, with_kwargs: bool
    ) -> RemovableHandle:
        """Put a hook at the end, or in front of all others."""
        number = next(_numbers)
        made = {number: _Hook(when, call, with_kwargs)}
        self.found = made | self.found if prepend else self.found | made
        return RemovableHandle(self, number)

    def before(self, module: Module, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """The arguments as the hooks before forward leave them."""
        for hook in [h for h in self.found.values() if h.when == "before"]:
            if hook.with_kwargs:
                found = hook.call(module, args, kwargs)
                if found is not None:
                    args, kwargs = found
            else:
                found = hook.call(module, args)
                if found is not None:
                    args = found if isinstance(found, tuple) else (found,)
        return args, kwargs

    def around(self, module: Module) -> Around | None:
        """What takes the hooks on the way back along with a call; None if there are none."""
        on_way_back = [h for h in self.found.values() if h.when.startswith("backward")]
        if not on_way_back:
            return None
        before = [h.call for h in on_way_back if h.when == "backward_before"]
        return Around(module, before, [h.call for h in on_way_back if h.when == "backward"])

    def after(self, module: Module, args: Args, kwargs: Kwargs, output: Any) -> Any:
        """The output as the hooks after forward leave it."""
        for hook in [h for h in self.found.values() if h.when == "after"]:
            given = (args, kwargs) if hook.with_kwargs else (args,)
            found = hook.call(module, *given, output)
            output = output if found is None else found
        return output


__all__ = ["Hooks", "RemovableHandle"]
