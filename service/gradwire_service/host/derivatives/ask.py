"""What is asked of a program's derivative, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine.errors import error
from gradwire_engine.tensor import Tensor
from gradwire_service.host.scope import Callee


class Wanted(NamedTuple):
    """What a request or a step says of a derivative, each None where it says nothing."""

    wrt: Sequence[str] | None = None
    cotangents: Mapping[str, Any] | None = None
    tangents: Mapping[str, Any] | None = None
    vector: Mapping[str, Any] | None = None
    batched: bool = False
    strategy: str | None = None

    @classmethod
    def of(cls, said: object) -> Wanted:
        """The fields that a request or a step has."""
        found = {name: getattr(said, name) for name in cls._fields if hasattr(said, name)}
        if hasattr(said, "grad_outputs"):
            found["cotangents"] = said.grad_outputs
        return cls(**found)


class Ask(NamedTuple):
    """A program, its inputs, and what is asked of them.

    read: makes a tensor of a literal or a name, with the dtype of the tensor that it goes with.
    """

    program: Callee
    inputs: Sequence[Tensor]
    wanted: Wanted
    read: Callable[[Any, Tensor], Tensor | None]
    create_graph: bool = False

    def places(self, names: Iterable[str], field: str) -> list[int]:
        """Where inputs stand that a field names."""
        known = {name: place for place, name in enumerate(self.program.inputs)}
        found = []
        for name in names:
            if name not in known:
                raise error(
                    "invalid_request",
                    f"{field}: {name[:64]!r} is no input of the program",
                    f"its inputs are {listed(known)}",
                )
            found.append(known[name])
        return found

    @property
    def wrt(self) -> tuple[int, ...]:
        """Where the inputs stand that are differentiated by."""
        if self.wanted.wrt is None:
            return tuple(i for i, x in enumerate(self.inputs) if x.dtype.differentiable)
        places = self.places(self.wanted.wrt, "wrt")
        for place in places:
            self._check_differentiable(place, "wrt")
        return tuple(dict.fromkeys(places))

    def directions(self, field: str) -> dict[int, Any]:
        """Tangents or vectors by the place of their input; at least one."""
        given = getattr(self.wanted, field) or {}
        places = self.places(given, field)
        for place in places:
            self._check_differentiable(place, field)
        found = {
            place: self.read(value, self.inputs[place])
            for place, value in zip(places, given.values(), strict=True)
        }
        found = {place: made for place, made in found.items() if made is not None}
        if not found:
            raise error(
                "invalid_request",
                f"{field}: none is given",
                f"give one for at least one input; the inputs are {listed(self.program.inputs)}",
            )
        return found

    def _check_differentiable(self, place: int, field: str) -> None:
        dtype = self.inputs[place].dtype
        if not dtype.differentiable:
            raise error(
                "dtype_mismatch",
                f"{field}: {self.program.inputs[place]} is {dtype.name}",
                "derivatives are by floating and complex inputs; send it as one",
            )

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The inputs, with their history only where the result shall have one."""
        if self.create_graph:
            return tuple(self.inputs)
        return tuple(x.detach() for x in self.inputs)

    def named(self, wrt: Sequence[int], parts: Sequence[Any]) -> dict[str, Any]:
        """Parts by the names of inputs."""
        return {self.program.inputs[place]: part for place, part in zip(wrt, parts, strict=True)}


class Found(NamedTuple):
    """What a transform found. parts: by name, or by two names."""

    outputs: Sequence[Tensor]
    parts: Mapping[str, Any]

    def flat(self) -> list[Tensor | None]:
        """The parts in order, one after the other."""
        return [
            part
            for entry in self.parts.values()
            for part in (entry.values() if isinstance(entry, Mapping) else (entry,))
        ]


def listed(names: Iterable[str]) -> str:
    """Names in words."""
    return ", ".join(name[:64] for name in names) or "none"
