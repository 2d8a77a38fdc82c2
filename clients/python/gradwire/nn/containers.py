"""Modules that hold modules or parameters: in a row, in a list, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, islice
from operator import index as as_index
from typing import Any, Generic, TypeVar

from gradwire.nn.module import Module
from gradwire.nn.parameter import Parameter
from gradwire.tensor import Tensor

T = TypeVar("T")


class _Row(Module):
    """Modules by number."""

    def _number(self, at: int) -> str:
        at, size = as_index(at), len(self)
        if not -size <= at < size:
            raise IndexError(f"index {at} is out of range")
        return str(at % size)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return type(self)._of(list(self)[at])
        return self._modules[self._number(at)]

    def __setitem__(self, at: int, module: Module) -> None:
        setattr(self, self._number(at), module)

    def __delitem__(self, at: int | slice) -> None:
        kept = list(self)
        del kept[at]
        self._modules.clear()
        self.extend(kept)

    @classmethod
    def _of(cls, modules: Iterable[Module]) -> Any:
        made = cls()
        made.extend(modules)
        return made

    def __add__(self, others: Iterable[Module]) -> Any:
        return type(self)._of([*self, *others])

    def append(self, module: Module) -> Any:
        """Put a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Put modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put a module before the one of this number."""
        kept = list(self)
        kept.insert(index, module)
        self._modules.clear()
        return self.extend(kept)

    def pop(self, key: int | slice) -> Any:
        """Take a module out."""
        found = self[key]
        del self[key]
        return found


class Sequential(_Row):
    """Modules one behind the other: each gets what the one before gave."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], Mapping)
        for name, module in args[0].items() if named else enumerate(args):
            self.add_module(str(name), module)

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return type(self)(dict(list(self._modules.items())[at]))
        return super().__getitem__(at)

    def _number(self, at: int) -> str:
        place = int(super()._number(at))
        return next(islice(self._modules, place, None))

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleList(_Row):
    """Modules by number; what is done with them is said elsewhere."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        self.extend(modules)
        return self

    def __repr__(self) -> str:
        """Equal modules in a row as one line: "(0-3): 4 x Linear(…)"."""
        if not len(self):
            return f"{self._get_name()}()"
        lines, first = [], 0
        for text, run in groupby(map(repr, self)):
            size = len(list(run))
            many = f"({first}-{first + size - 1}): {size} x " if size > 1 else f"({first}): "
            lines.append("  " + many + text.replace("\n", "\n  "))
            first += size
        return f"{self._get_name()}(\n" + "\n".join(lines) + "\n)"


class _ByName(Module, Generic[T]):
    """Parts by name. _kind: which of the module's dicts has them."""

    _kind: str

    @property
    def _own(self) -> dict[str, T]:
        found: dict[str, T] = vars(self)[self._kind]
        return found

    def __getitem__(self, key: str) -> T:
        return self._own[key]

    def __delitem__(self, key: str) -> None:
        del self._own[key]

    def __len__(self) -> int:
        return len(self._own)

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __contains__(self, key: str) -> bool:
        return key in self._own

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._own.keys()

    def items(self) -> Iterable[tuple[str, T]]:
        """Names and parts."""
        return self._own.items()

    def values(self) -> Iterable[T]:
        """The parts."""
        return self._own.values()


class ModuleDict(_ByName[Module | None]):
    """Modules by name."""

    _kind = "_modules"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def update(self, modules: Any) -> None:
        """Take the modules of a mapping, or of pairs."""
        for key, module in dict(modules).items():
            self[key] = module

    def clear(self) -> None:
        """Let all modules go."""
        self._modules.clear()

    def pop(self, key: str) -> Module | None:
        """Take a module out."""
        return self._modules.pop(key)


def _shown(owner: Module, kind: Callable[[Any], str]) -> str:
    """A line for each parameter: what it is, and its sizes."""
    lines = [
        f"  ({name}): Parameter containing: [{kind(p)} of size {'x'.join(map(str, p.shape))}]"
        for name, p in owner._parameters.items()
        if p is not None
    ]
    return "\n".join(lines)


class ParameterList(Module):
    """Parameters by number; plain tensors become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def __len__(self) -> int:
        return self._size

    def extra_repr(self) -> str:
        return _shown(self, lambda t: str(t.dtype))

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return ParameterList(list(self)[at])
        return getattr(self, str(range(self._size)[at]))

    def __setitem__(self, at: int, value: Any) -> None:
        setattr(self, str(range(self._size)[at]), _parameter(value))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))

    def append(self, value: Any) -> ParameterList:
        """Put a parameter at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Put parameters at the end."""
        for value in values:
            self.append(value)
        return self


class ParameterDict(_ByName[Any]):
    """Parameters by name; plain tensors become parameters."""

    _kind = "_parameters"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def extra_repr(self) -> str:
        return _shown(self, lambda t: t.type())

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, _parameter(value))

    def update(self, parameters: Any) -> None:
        """Take the parameters of a mapping, or of pairs."""
        for key, value in dict(parameters).items():
            self[key] = value


def _parameter(value: Any) -> Any:
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if plain else value


__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
