"""What tensors and optimizers of Python are called at their host, and whether they stay there.

What Python made is freed when Python forgets it. What it found there, or named by hand, stays. So
do the parts of modules in a session that outlives the program, until another module has parts of
these names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal
from weakref import ref

from gradwire.forgotten import Forgotten
from gradwire_engine.journal import drop

if TYPE_CHECKING:
    from gradwire.tensor import Tensor
    from gradwire_engine.spec import Spec

Kind = Literal["made", "part", "kept"]
"""Whether Python made it, as a part of a module or not, or it stays at the host in any case."""


class HostName(ref[Any]):
    """The name of something at a session's host, which outlives it.

    Its callback is a function of C that puts it into a queue. So nothing of Python runs when a
    tensor goes, as `__del__` would: an interrupt that came there would lose the name for good,
    since Python swallows what `__del__` raises.

    spec: of a tensor. params: of an optimizer the names of its parameters.
    """

    __slots__ = ("kind", "params", "spec", "text")
    text: str
    kind: Kind
    spec: Spec | None
    params: Sequence[HostName] | None

    @classmethod
    def of(
        cls,
        thing: Any,
        note: Callable[[HostName], None] | None,
        text: str,
        spec: Spec | None = None,
        params: Sequence[HostName] | None = None,
    ) -> HostName:
        """A name for something that Python made. note: is given it when the thing is gone."""
        name = cls(thing, note)
        name.text, name.kind, name.spec, name.params = text, "made", spec, params
        return name


class HostNames:
    """The names that Python uses of one session. gone: those of what Python forgot since.

    forgotten: those that the host is to free. outlives: whether the session stays when the program
    ends.
    """

    __slots__ = ("_alive", "_left", "_note", "forgotten", "gone", "outlives")

    def __init__(self) -> None:
        self.gone: deque[HostName] = deque()
        self.outlives = False
        self._note = self.gone.append
        self.forgotten = Forgotten()
        self._alive: dict[int, HostName] = {}  # a weak reference has to live to be called
        self._left: dict[str, tuple[str, ...]] = {}  # kept though forgotten, with their parameters

    def give(
        self,
        thing: Any,
        text: str,
        spec: Spec | None = None,
        params: Sequence[HostName] | None = None,
    ) -> HostName:
        """Give a tensor or an optimizer a name, which it has until it is gone."""
        name = HostName(thing, self._note)
        name.text, name.kind = text, "made"  # four at once would take a tuple, and time
        name.spec, name.params = spec, params
        self._alive[id(name)] = name
        return name

    def __iter__(self) -> Iterator[HostName]:
        """The names in use."""
        return iter(self._alive.copy().values())

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that Python has, by their names."""
        found = {name.text: name() for name in self if name.spec is not None and name.text}
        return {text: tensor for text, tensor in found.items() if tensor is not None}

    def tensor(self, text: str) -> Tensor | None:
        """The tensor that Python has of a name, if it has one."""
        found = (name() for name in self if name.text == text and name.spec is not None)
        return next((tensor for tensor in found if tensor is not None), None)

    def forget(self, name: HostName) -> None:
        """Have the host free what had a name, unless it stays there."""
        if id(name) not in self._alive:
            return
        if self.outlives and name.params is not None:
            self._left[name.text] = tuple([param.text for param in name.params])
        elif self.outlives and name.kind == "part":
            self._left[name.text] = ()
        elif name.text and name.kind != "kept":
            self.forgotten.add(name.text, 0 if name.spec is None else name.spec.nbytes)
        self._alive.pop(id(name), None)

    def forget_gone(self) -> None:
        """Forget the names of what Python forgot; each is crossed out when that is done."""
        gone, forget = self.gone, self.forget
        while gone:
            forget(gone[0])
            gone.popleft()

    def take_left(self, texts: Set[str]) -> list[str]:
        """Take out the parts of these names that a module before had, and their optimizers.

        They are for the host to free.
        """
        found = [
            left
            for left, params in self._left.items()
            if left in texts or not texts.isdisjoint(params)
        ]
        for left in found:
            drop(self._left, left)
        return found


__all__ = ["HostName", "HostNames", "Kind"]
